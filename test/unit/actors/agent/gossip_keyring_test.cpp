#include "actors/agent/gossip_keyring.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::agent;

namespace {

const std::string begun_by = "QUFBQUFBQUFBQUFBQUFBQQ==";
const std::string taken_up = "QUFBQUFBQUFBQUFBQUFBQg==";

struct KeyringFile {
  test::TempDir dir;
  std::string path = dir.file("serf.keyring");

  std::vector<std::string> opened(const std::string& encrypt) const {
    return open_gossip_keyring(path, encrypt).value().keys();
  }
};

}  // namespace

TEST_CASE("gossip keyring: encrypt begins the file, which then counts alone") {
  const KeyringFile file;
  CHECK(file.opened("").empty());
  CHECK_FALSE(std::filesystem::exists(file.path));

  CHECK(file.opened(begun_by) == std::vector{begun_by});
  CHECK(std::filesystem::status(file.path).permissions() == std::filesystem::perms{0600});
  CHECK(file.opened(taken_up) == std::vector{begun_by});
  CHECK(file.opened("") == std::vector{begun_by});  // and not plain

  auto keyring = open_gossip_keyring(file.path, "").value();
  CHECK(keyring.install(taken_up));
  CHECK(keyring.use(taken_up));
  CHECK(keep_gossip_keyring(file.path, keyring.text()));
  CHECK(file.opened(begun_by) == std::vector{taken_up, begun_by});
}

TEST_CASE("gossip keyring: what can't be read or written stops the start") {
  const KeyringFile file;
  CHECK(open_gossip_keyring(file.path, "x").error().what.starts_with("\"encrypt\" must be"));
  CHECK_FALSE(std::filesystem::exists(file.path));
  CHECK_FALSE(open_gossip_keyring(file.dir.file("missing/serf.keyring"), begun_by));
  std::ofstream{file.path} << "{}";
  for (const auto& encrypt : {std::string{}, begun_by})
    CHECK(open_gossip_keyring(file.path, encrypt).error().what
          == "cannot read \"" + file.path + "\": the keyring is no list of keys");
}

TEST_CASE("gossip keyring: who has another encrypt is told what it still opens") {
  auto keyring = cluster::MemberKeyring::of(begun_by).value();
  const auto said = [&](const std::string& encrypt) {
    return remark_on_encrypt(keyring, "/d/serf.keyring", encrypt);
  };
  CHECK(said(begun_by).empty());
  CHECK(keyring.install(taken_up));
  CHECK(said(begun_by).empty());
  CHECK(keyring.use(taken_up));
  for (int i = 0; i < 2; ++i) {
    CHECK(said(begun_by)
          == "server.encrypt is not the primary key of the keyring in \"/d/serf.keyring\": root "
             "keys are still wrapped by it, so whoever has it and a snapshot can open them, also "
             "once it was removed from the keyring. Set encrypt to the primary key on all servers, "
             "restart them, and then run `nomadctl operator root keyring rotate -full`");
    CHECK(said(taken_up).empty());
    CHECK(said("").starts_with("server.encrypt is not set, and servers' membership is sealed by"));
    CHECK(keyring.remove(begun_by));  // and then the same
  }
  keyring = {};
  CHECK(remark_on_encrypt(keyring, "/d/serf.keyring", "").empty());
}
