#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

TEST_CASE("host: where nobody needs rights, nobody sees the machine unless the operator says so") {
  ApiFixture fixture;

  CHECK(fixture.refusal("/v1/agent/host") == "403 Permission denied");
}

TEST_CASE("host: the machine is shown, with the agent's id to who names it") {
  ApiFixture fixture{[](ApiOptions& options) { options.agent.enable_debug = true; }};

  const auto here = fixture.json("/v1/agent/host").as_object();
  CHECK(here.at("Environment").is_object());
  CHECK(here.at("Disk").is_object());
  CHECK_FALSE(here.at("Network").as_array().empty());
  CHECK_FALSE(here.contains("AgentID"));

  const auto node = fixture.json("/v1/agent/host?node_id=" + own_node).as_object();
  CHECK(node.at("AgentID").as_string() == std::string_view{own_node});
  CHECK(node.at("HostData").at("OS") == here.at("OS"));
  CHECK(fixture.json("/v1/agent/host?server_id=server-1").at("AgentID") == "server-1");
}
