// GET /v1/job/<id>/explain: what it answers, and to whom.
#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

/// May read jobs of "default", and with "nodes" nodes, too.
access::RightsRef rights_of_reader(bool reads_nodes) {
  return access::Rights::by([reads_nodes](access::Capability needed, const access::Target& target) {
    if (access::is_namespaced(needed)) return target.ns == "default";
    return reads_nodes && needed == access::Capability::node_read;
  });
}

struct Explaining : ApiFixture {
  Explaining()
      : ApiFixture{[](ApiOptions& options) {
          options.authenticator
              = test::giving([](std::string_view token) -> Result<access::RightsRef> {
                  if (token == "jobs") return rights_of_reader(false);
                  if (token == "nodes") return rights_of_reader(true);
                  return access::Rights::everything();
                });
        }} {
    state().run([](auto command) {
      auto node = command.initNodeRegister().initNode();
      node.setId(text(own_node));
      node.setName("one");
      node.setDatacenter("dc1");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(4'000);
      resources.initMemory().setMemoryMb(4'000);
      resources.initDisk().setDiskMb(4'000);
    });
    REQUIRE(send("PUT", "/v1/jobs",
                 R"({"Job":{"ID":"web","Datacenters":["*"],"TaskGroups":[{"Name":"g","Tasks":[)"
                 R"({"Name":"t","Driver":"plan9","Config":{}}]}]}})")
                .status
            == 200);
  }

  net::ClientResponse as(const std::string& token, const std::string& target) {
    auto client = net::HttpClient::make(
        {.address = "http://" + address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.target = target});
    REQUIRE(response.has_value());
    return std::move(*response);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Explaining, "job explain: what is against the nodes, and what would help") {
  const auto answer = json("/v1/job/web/explain");
  const auto group = answer.at("Groups").at(0);
  CHECK(answer.at("JobID") == "web");
  CHECK(group.at("Nodes") == 1);
  CHECK(group.at("NodesFitting") == 0);
  CHECK(group.at("Refused").at(0).at("Reasons").at(0).at("Kind") == "driver");
  CHECK(group.at("Refused").at(0).at("Nodes").at(0).at("ID").as_string() == own_node);
  CHECK(group.at("Suggestions").at(0).at("Text") == "driver \"plan9\" on the node");
}

TEST_CASE_FIXTURE(Explaining, "job explain: one node, one group, and what is none") {
  const auto of_node = json("/v1/job/web/explain?group=g&node=" + own_node.substr(0, 6));
  CHECK(of_node.at("Groups").at(0).at("Node").at("NodeID").as_string() == own_node);
  CHECK(of_node.at("Groups").at(0).at("Node").at("Fits") == false);
  CHECK(refusal("/v1/job/none/explain") == "404 job not found");
  CHECK(refusal("/v1/job/web/explain?group=none") == "404 group \"none\" not found");
  CHECK(refusal("/v1/job/web/explain?node=none") == "404 node \"none\" not found");
  CHECK(refusal("/v1/job/web/explain?alloc=none") == "404 allocation \"none\" not found");
}

TEST_CASE_FIXTURE(Explaining, "job explain: nodes are shown to those who may read nodes") {
  const auto without = as("jobs", "/v1/job/web/explain");
  CHECK(without.status == 200);
  CHECK(without.body.find(own_node) == std::string::npos);
  CHECK(without.body.find("\"Fitting\"") == std::string::npos);
  CHECK(as("nodes", "/v1/job/web/explain").body.find(own_node) != std::string::npos);

  const auto node = "/v1/job/web/explain?node=" + own_node;
  CHECK(as("jobs", node).status == 403);
  CHECK(as("jobs", "/v1/job/web/explain?node=none").status == 403);
  CHECK(as("nodes", node).status == 200);
  CHECK(as("nodes", "/v1/job/web/explain?namespace=other").status == 403);
}

TEST_CASE_FIXTURE(Explaining,
                  "job capacity: how many more fit, and where for those who may read nodes") {
  REQUIRE(send("PUT", "/v1/jobs",
               R"({"Job":{"ID":"bare","Datacenters":["*"],"TaskGroups":[{"Name":"g","Tasks":[)"
               R"({"Name":"t","Driver":"raw_exec","Config":{"command":"x"}}]}]}})")
              .status
          == 200);
  const auto answer = json("/v1/job/bare/capacity");
  CHECK(answer.at("Groups").at(0).at("NodesLookedAt") == 1);
  CHECK(answer.at("Groups").at(0).at("InQuota").is_null());
  CHECK(as("jobs", "/v1/job/bare/capacity").body.find("Largest") == std::string::npos);
  CHECK(as("jobs", "/v1/job/bare/capacity?namespace=other").status == 403);
  CHECK(refusal("/v1/job/bare/capacity?group=x") == "404 group \"x\" not found");
}
