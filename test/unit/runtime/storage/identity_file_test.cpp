#include "runtime/storage/identity_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::storage;

TEST_CASE("identity file: what is written is read, by its owner alone") {
  const test::TempDir dir;
  const auto path = dir.file("identity");
  CHECK_FALSE(read_identity_file(path).value().has_value());
  const NodeIdentityText identity{"an-id", "a-secret"};
  REQUIRE(write_identity_file(path, {"another", "one"}).has_value());
  REQUIRE(write_identity_file(path, identity).has_value());
  CHECK(read_identity_file(path).value() == identity);
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::all)
        == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("identity file: any flipped bit and any cut is seen") {
  const test::TempDir dir;
  const auto path = dir.file("identity");
  REQUIRE(write_identity_file(path, {"an-id", "a-secret"}).has_value());
  std::ifstream file{path, std::ios::binary};
  const std::string sound{std::istreambuf_iterator<char>{file}, {}};
  const auto code_of = [&](const std::string& text) {
    std::ofstream{path, std::ios::binary} << text;
    const auto read = read_identity_file(path);
    return read ? std::optional<Errc>{} : std::optional{read.error().code};
  };
  for (std::size_t at = 0; at < sound.size(); ++at) {
    auto damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    CHECK(code_of(damaged) == Errc::corrupt);
    CHECK(code_of(sound.substr(0, at)) == Errc::corrupt);
  }
  CHECK(code_of(sound + "x") == Errc::corrupt);
}
