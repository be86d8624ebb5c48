// Ids that are none: 400 in Nomad's words from every route, for 404 says that an object is gone.
#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct Asked {
  std::string method;
  std::string path;
  std::string body = {};
};

const std::string short_id = "index error: UUID must be 36 characters";

/// Each with its whole refusal but for the beginning that names what was looked up.
void check_refused(ApiFixture& fixture, const std::string& what, const std::vector<Asked>& all) {
  const auto begin = what.empty() ? std::string{} : what + " lookup failed: ";
  for (const auto& asked : all) {
    CAPTURE(asked.path);
    CHECK(fixture.refusal(asked.method, asked.path, asked.body) == "400 " + begin + short_id);
  }
}

}  // namespace

TEST_CASE("ids: what is no id of an allocation is refused as such by each of its routes") {
  ApiFixture fixture;
  std::vector<Asked> all{{"GET", "/v1/allocation/zzz"},
                         {"GET", "/v1/allocation/zzz/services"},
                         {"GET", "/v1/allocation/zzz/checks"},
                         {"PUT", "/v1/allocation/zzz/stop"},
                         {"GET", "/v1/client/allocation/zzz/snapshot"},
                         {"PUT", "/v1/client/allocation/zzz/signal", R"({"Signal":"SIGHUP"})"},
                         {"GET", "/v1/client/allocation/zzz/pause?task=t", ""}};
  for (const auto* action : {"stats", "checks", "identities", "restart", "gc"})
    all.push_back({"GET", std::string{"/v1/client/allocation/zzz/"} + action});
  for (const auto* action : {"ls", "stat", "cat", "readat", "stream", "logs"})
    all.push_back({"GET", std::string{"/v1/client/fs/"} + action
                              + "/zzz?path=x&offset=0&task=server&type=stdout"});
  check_refused(fixture, "alloc", all);
  CHECK(fixture.refusal("/v1/client/fs/ls/" + std::string(36, 'z'))
        == "400 alloc lookup failed: index error: Invalid UUID: encoding/hex: invalid byte: "
           "U+007A 'z'");
}

TEST_CASE("ids: of nodes, in paths, parameters and bodies") {
  ApiFixture fixture;
  check_refused(fixture, "node",
                {{"GET", "/v1/node/zzz"},
                 {"PUT", "/v1/node/zzz/evaluate"},
                 {"PUT", "/v1/node/zzz/purge"},
                 {"PUT", "/v1/node/zzz/eligibility", R"({"Eligibility":"eligible"})"},
                 {"PUT", "/v1/node/" + own_node + "/eligibility",
                  R"({"Eligibility":"eligible","NodeID":"zzz"})"},
                 {"GET", "/v1/client/stats?node_id=zzz"},
                 {"GET", "/v1/client/metadata?node_id=zzz"},
                 {"PUT", "/v1/client/metadata", R"({"NodeID":"zzz","Meta":{}})"},
                 {"GET", "/v1/client/gc?node_id=zzz"},
                 {"GET", "/v1/agent/monitor?node_id=zzz"},
                 {"GET", "/v1/agent/actors?node_id=zzz"}});
}

TEST_CASE("ids: of evaluations and deployments") {
  ApiFixture fixture;
  check_refused(fixture, "failed to lookup eval: eval", {{"GET", "/v1/evaluation/zzz"}});
  check_refused(
      fixture, "",
      {{"GET", "/v1/evaluation/zzz/allocations"}, {"GET", "/v1/deployment/allocations/zzz"}});
  const std::string named = R"({"DeploymentID":"zzz","All":true,"HealthyAllocationIDs":["a"]})";
  check_refused(fixture, "deployment",
                {{"GET", "/v1/deployment/zzz"},
                 {"PUT", "/v1/deployment/fail/zzz"},
                 {"PUT", "/v1/deployment/pause/zzz", named},
                 {"PUT", "/v1/deployment/promote/zzz", named},
                 {"PUT", "/v1/deployment/allocation-health/zzz", named}});
}
