#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

TEST_CASE("volumes: lists of volumes and plugins are empty, and nothing is said of other types") {
  ApiFixture fixture;

  for (const std::string path : {"/v1/volumes", "/v1/plugins"}) {
    CHECK(fixture.get(path).body == "[]");
    CHECK(fixture.get(path + "?type=csi").body == "[]");
    CHECK(fixture.get(path + "?type=host").status == 200);
    CHECK(fixture.get(path + "?type=host").body.empty());
  }
}
