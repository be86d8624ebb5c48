#include "runtime/security/key_files.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::security;
namespace fs = std::filesystem;

TEST_CASE("key files: the server's own is made once, for its owner only") {
  const test::TempDir home;
  const auto directory = home.file("keystore");

  const auto made = load_key_pairs(directory, system_random());
  const auto again = load_key_pairs(directory, system_random());

  REQUIRE(made.has_value());
  REQUIRE(again.has_value());
  REQUIRE(again->size() == 1);
  CHECK(made->front().public_key == again->front().public_key);

  struct stat status {};

  REQUIRE(stat((directory + "/holder.key").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(stat(directory.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("key files: those of other servers are read too, behind the own one") {
  const test::TempDir home, other;
  const auto lost = load_key_pairs(other.path(), system_random());
  const auto own = load_key_pairs(home.path(), system_random());
  fs::copy_file(other.file("holder.key"), home.file("a-lost-server.key"));

  const auto both = load_key_pairs(home.path(), system_random());

  REQUIRE(both.has_value());
  REQUIRE(both->size() == 2);
  CHECK((*both)[0].public_key == own->front().public_key);
  CHECK((*both)[1].public_key == lost->front().public_key);
}

TEST_CASE("key files: damaged and readable ones are refused by name") {
  const test::TempDir home;
  REQUIRE(load_key_pairs(home.path(), system_random()).has_value());

  fs::permissions(home.file("holder.key"), fs::perms::owner_read | fs::perms::others_read);
  const auto open_to_all = load_key_pairs(home.path(), system_random());
  REQUIRE(open_to_all.has_error());
  CHECK(open_to_all.error().code == Errc::permission_denied);
  CHECK(open_to_all.error().what.find("holder.key") != std::string::npos);

  fs::permissions(home.file("holder.key"), fs::perms::owner_read | fs::perms::owner_write);
  std::ifstream in{home.file("holder.key")};
  const std::string sound{std::istreambuf_iterator<char>{in}, {}};
  for (std::size_t bit = 0; bit < 8 * sound.size(); bit += 3) {
    auto flipped = sound;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    std::ofstream{home.file("holder.key")} << flipped;
    const auto refused = load_key_pairs(home.path(), system_random());
    CAPTURE(bit);
    // Of a letter the other case means the same.
    if (refused) CHECK((bit % 8 == 5 && bit / 8 < 2 * key_bytes));
    if (!refused) CHECK(refused.error().what.find("holder.key") != std::string::npos);
  }
  std::ofstream{home.file("holder.key")} << sound.substr(0, 2 * key_bytes);  // of earlier releases
  CHECK(load_key_pairs(home.path(), system_random()).has_value());
  std::ofstream{home.file("holder.key")} << "not a key";
  const auto damaged = load_key_pairs(home.path(), system_random());
  REQUIRE(damaged.has_error());
  CHECK(damaged.error().code == Errc::corrupt);
}
