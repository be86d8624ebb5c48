#include "actors/agent/wrapping_keys.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::agent;

namespace {

struct Blocks {
  test::TempDir dir;
  std::map<std::string, config::KeyringBlock> blocks;

  std::string file(const std::string& name, const std::string& content) {
    const auto path = dir.file(name);
    std::ofstream{path} << content;
    std::filesystem::permissions(path, std::filesystem::perms{0600});
    return path;
  }

  std::string refusal() const {
    const auto keys = wrapping_keys(blocks);
    return keys ? "" : keys.error().what;
  }
};

constexpr auto sound = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n";

}  // namespace

TEST_CASE("keyring blocks: without one, or with their own way, servers wrap for each other") {
  Blocks given;

  CHECK_FALSE(wrapping_keys(given.blocks)->active);
  given.blocks["aead"].active = true;
  CHECK_FALSE(wrapping_keys(given.blocks)->active);
}

TEST_CASE("keyring blocks: a file's key wraps, and older ones still unwrap") {
  Blocks given;
  const auto older = given.file("older", sound);
  given.blocks["file"] = {.active = true,
                          .settings = {{"path", given.dir.file("made")}},
                          .older = {older},
                          .create = true};

  const auto keys = wrapping_keys(given.blocks);

  REQUIRE(keys.has_value());
  REQUIRE(keys->others.size() == 1);
  CHECK(keys->active->name() != keys->others[0]->name());
  CHECK(wrapping_keys(given.blocks)->active->name() == keys->active->name());  // and not made anew
  given.blocks["file"].active = false;
  CHECK_FALSE(wrapping_keys(given.blocks)->active);
  CHECK(wrapping_keys(given.blocks)->others.size() == 2);
}

TEST_CASE("keyring blocks: what cannot be used is an error that names it") {
  Blocks given;
  const auto path = given.dir.file("key");
  given.blocks["awskms"].active = true;
  CHECK(given.refusal()
        == "keyring \"awskms\": no such provider; there are \"aead\", \"file\" and \"transit\"");
  given.blocks = {{"aead", {.settings = {{"path", "/key"}}}}};
  CHECK(given.refusal()
        == "keyring \"aead\": path: servers wrap for each other, and are told nothing");
  given.blocks = {{"file", {.settings = {{"path", path}, {"address", "https://vault:8200"}}}}};
  CHECK(given.refusal()
        == "keyring \"file\": address: this provider is told \"path\", \"older\" and \"create\"");
  given.blocks = {{"transit", {.create = true}}};
  CHECK(given.refusal().starts_with("keyring \"transit\": create: this provider is told \"addr"));
  given.blocks = {{"file", {.active = true}}};
  CHECK(given.refusal() == "keyring \"file\": path: expected the file of the wrapping key");
  given.blocks["file"].settings["path"] = "key";
  CHECK(given.refusal()
        == "keyring \"file\": path: expected an absolute path of a wrapping key's file");
  given.blocks["file"].settings["path"] = path;
  CHECK(given.refusal().starts_with("keyring \"file\": "));
  CHECK(given.refusal().find(path) != std::string::npos);
  given.file("key", "short");
  CHECK(given.refusal() == "keyring \"file\": " + path
                               + ": expected base64 of 32 bytes, as \"nomadctl operator keygen\" "
                                 "makes it");
  given.file("key", sound);
  std::filesystem::permissions(path, std::filesystem::perms{0640});
  CHECK(given.refusal()
        == "keyring \"file\": " + path
               + ": a wrapping key must be readable by its owner only (mode 0600)");
  std::filesystem::permissions(path, std::filesystem::perms{0600});
  given.blocks["aead"].active = true;
  CHECK(given.refusal() == "keyring \"file\": keyring \"aead\" is active, too; one of them can be");
  given.blocks.erase("aead");
  CHECK(given.refusal().empty());
}
