// The disk of an allocation, for the node that goes on with it.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "runtime/disk/disk_unpack.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::api;
namespace fs = std::filesystem;

namespace {

const std::string snapshot_path = "/v1/client/allocation/" + own_alloc + "/snapshot";

net::ClientResponse ask_for_disk(ApiFixture& fixture) {
  auto answer = fixture.client().send(
      {.target = snapshot_path, .headers = {{"X-Nomad-Token", migrate_token}}});
  REQUIRE(answer.has_value());
  return *answer;
}

}  // namespace

TEST_CASE("disk: whoever has the token gets the archive, and nobody else") {
  ApiFixture fixture;
  const auto data = fixture.played->alloc_dir + "/alloc/data";
  fs::create_directories(data);
  std::ofstream{data + "/db"} << "rows";

  CHECK(fixture.refusal(snapshot_path) == "403 Permission denied");
  const auto answer = ask_for_disk(fixture);
  REQUIRE(answer.status == 200);
  CHECK(answer.header("Content-Type") == "application/x-tar");

  const auto into = fixture.played->alloc_dir + "/unpacked";
  fs::create_directories(into);
  bool given = false;
  const auto unpacked = disk::unpack_disk(
      [&]() -> Result<std::string> {
        return std::exchange(given, true) ? std::string{} : answer.body;
      },
      into, own_alloc, {}, {.free_percent = 0});
  REQUIRE(unpacked.has_value());
  std::string rows;
  std::ifstream{into + "/alloc/data/db"} >> rows;
  CHECK(rows == "rows");
}

TEST_CASE("disk: of an allocation whose directory is gone there is none") {
  ApiFixture fixture;
  fixture.played->alloc_dir += "/gone";
  CHECK(ask_for_disk(fixture).status == 404);
}
