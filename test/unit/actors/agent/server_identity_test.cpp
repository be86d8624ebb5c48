#include "actors/agent/server_identity.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "runtime/base/ids.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using nomad::test::TempDir;
namespace fs = std::filesystem;

TEST_CASE("server identity: made once, and kept") {
  const TempDir dir;
  const auto first = agent::server_identity(dir.path());
  REQUIRE(first.has_value());
  CHECK(is_uuid(first->id));
  CHECK_FALSE(first->has_left);
  CHECK(agent::server_identity(dir.path())->id == first->id);
}

TEST_CASE("server identity: who has left comes back under a new id, without the old one's log") {
  const TempDir dir;
  const auto first = agent::server_identity(dir.path());
  REQUIRE(first.has_value());
  for (const char* content : {"first", "second"}) {
    fs::create_directory(dir.path() + "/raft");
    std::ofstream{dir.path() + "/raft/log"} << content;
    REQUIRE(agent::retire_identity(dir.path()).has_value());
    CHECK(fs::exists(dir.path() + "/raft"));

    const auto next = agent::server_identity(dir.path());

    REQUIRE(next.has_value());
    CHECK(next->id != first->id);
    CHECK(next->has_left);
    CHECK_FALSE(fs::exists(dir.path() + "/raft"));
    std::string kept;
    std::ifstream{dir.path() + "/raft.left/log"} >> kept;
    CHECK(kept == content);
  }
}

TEST_CASE("server identity: a file that holds no id is no reason to make another") {
  const TempDir dir;
  std::ofstream{dir.path() + "/node-id"} << "not an id";
  const auto read = agent::server_identity(dir.path());
  REQUIRE(read.has_error());
  CHECK(read.error().code == Errc::corrupt);
  CHECK(read.error().what.find("holds no server id") != std::string::npos);
}
