#include "runtime/config/reload.hpp"

#include <doctest/doctest.h>

#include "runtime/config/keys.hpp"

using namespace nomad::config;
using Strings = std::vector<std::string>;

TEST_CASE("reload: tells what took effect, and what waits for a restart") {
  AgentConfig running;
  running.client.meta = {{"rack", "r1"}};
  running.client.host_volumes = {{"data", {"/data"}}, {"old", {"/old"}}};
  auto wanted = running;
  CHECK(reload(running, wanted).applied.empty());
  CHECK(reload(running, wanted).pending.empty());

  wanted.log_level = "DEBUG";
  wanted.ports.http = 5000;
  wanted.server.join.retry_join = {"10.0.0.1"};
  wanted.client.meta = {{"rack", "r2"}};
  wanted.client.reserved.cores = "0-1";
  wanted.client.state_dir = "/elsewhere";
  wanted.client.host_volumes = {{"data", {"/data", true}}, {"new", {"/new"}}};
  wanted.plugins["raw_exec"]["enabled"] = "true";
  const auto made = reload(running, wanted);
  CHECK(made.applied
        == Strings{"log_level", "client.meta", "client.reserved.cores", "client.host_volume.data",
                   "client.host_volume.new", "client.host_volume.old"});
  CHECK(made.pending
        == Strings{"ports.http", "server.retry_join", "client.state_dir", "plugin.raw_exec"});
  CHECK(made.config.client.meta == wanted.client.meta);
  CHECK(made.config.client.reserved.cores == "0-1");
  CHECK(made.config.client.host_volumes == wanted.client.host_volumes);
  CHECK(made.config.ports.http == running.ports.http);
  CHECK(made.config.plugins.empty());

  const auto again = reload(made.config, wanted);
  CHECK(again.applied.empty());
  CHECK_MESSAGE(again.pending == made.pending, "they are told of until the agent is restarted");
}

TEST_CASE("reload: blocks of plugins take effect where there is a plugin_dir") {
  AgentConfig running;
  running.plugin_blocks["stamp"].config = R"({"file":"a"})";
  running.plugin_blocks["stamp"].locations = {{"", "a.hcl:1"}};
  auto wanted = running;
  wanted.plugin_blocks["stamp"].locations = {{"", "a.hcl:9"}};
  CHECK(reload(running, wanted).pending.empty());

  wanted.plugin_blocks["stamp"].config = R"({"file":"b"})";
  wanted.plugin_blocks["other"].user = "nobody";
  CHECK(reload(running, wanted).pending == Strings{"plugin.other", "plugin.stamp"});
  running.plugin_dir = wanted.plugin_dir = "/plugins";
  const auto made = reload(running, wanted);
  CHECK(made.applied == Strings{"plugin.other", "plugin.stamp"});
  CHECK(made.config.plugin_blocks.at("other").user == "nobody");
}

TEST_CASE("reload: every key is one of the file's") {
  CHECK(is_reloadable("client.host_volume.data.path"));
  CHECK_FALSE(is_reloadable("client.metadata"));
  CHECK_FALSE(is_reloadable("client.reserved_ports"));
  int found = 0;
  for (const Key& key : keys())
    found += is_reloadable(key.path) ? 1 : 0;
  CHECK_MESSAGE(found == 33, "a key of the list is not in keys.def, or a block has grown");
}
