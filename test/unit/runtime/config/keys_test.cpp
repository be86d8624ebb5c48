// The table of keys is complete, and says each key once.
#include "runtime/config/keys.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace nomad::config;

namespace {

/// The row of a path, or of the block around it that is taken whole.
const Key* row_of(std::string path) {
  for (;;) {
    if (const Key* key = find_key(path)) return key;
    const auto dot = path.rfind('.');
    if (dot == path.npos) return nullptr;
    path.resize(dot);
  }
}

}  // namespace

TEST_CASE("keys: every key of Nomad's files has a row") {
  std::ifstream file{CONFIG_TEST_DATA "/nomad_keys.txt"};
  int count = 0;
  for (std::string path; std::getline(file, path); ++count) {
    CAPTURE(path);
    const Key* key = row_of(path);
    REQUIRE(key != nullptr);
    CHECK((key->path == path || key->kind == Kind::block || key->path.find('*') != path.npos));
  }
  CHECK(count > 300);
}

TEST_CASE("keys: no key has two rows, and who has no effect says why") {
  std::set<std::string> seen;
  for (const Key& key : keys()) {
    CAPTURE(key.path);
    CHECK(seen.insert(key.path).second);
    const bool has_note = !key.note.empty();
    if (key.state == KeyState::works) CHECK((has_note || key.member != nullptr));
    if (key.state == KeyState::partly) CHECK((has_note && key.member != nullptr));
    if (key.state == KeyState::unheeded || key.state == KeyState::refused)
      CHECK((has_note && key.member == nullptr));
  }
}

TEST_CASE("keys: paths are found by labels, and blocks by what is in them") {
  CHECK(find_key("server.enabled") != nullptr);
  CHECK(find_key("client.host_volume.data.path") == find_key("client.host_volume.*.path"));
  CHECK(find_key("server") == nullptr);
  CHECK(find_key("server.enabled.more") == nullptr);
  CHECK(find_key("serv") == nullptr);
  CHECK(names_in("ports") == std::vector<std::string_view>{"http", "rpc", "serf"});
  CHECK(names_in("client.host_volume") == std::vector<std::string_view>{"*"});
  CHECK(names_in("ports.http").empty());
  CHECK(names_in("nothing").empty());
}
