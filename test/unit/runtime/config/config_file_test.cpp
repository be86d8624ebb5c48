// Configuration files as trees.
#include "runtime/config/config_file.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/config/agent_config.hpp"

using namespace nomad;
using namespace nomad::config;

TEST_CASE("config file: in HCL1, blocks of one name are one object") {
  const auto read = parse_config_text(
      "agent.hcl", "a { \"x.y\" = 1 }\na { c = 2, d = 3 }\n\"server\" \"join\" { e = [1,] }");
  REQUIRE(read.has_value());
  CHECK(boost::json::serialize(read->tree)
        == R"({"a":{"x.y":1,"c":2,"d":3},"server":{"join":{"e":[1]}}})");
  CHECK(read->lines.at("a.c") == 2);
  CHECK(read->lines.at("server.join.e") == 3);
}

TEST_CASE("config file: an agent's file may be HCL1, and its mistakes are HCL2's") {
  const auto config = with_file_text({}, "agent.hcl", R"(
data_dir = "/tmp/x" bind_addr = "127.0.0.1"
client { enabled = true
  options { "driver.allowlist" = "raw_exec" } }
)");
  REQUIRE(config.has_value());
  CHECK(config->data_dir == "/tmp/x");
  CHECK(config->client.enabled);
  CHECK(config->client.options.at("driver.allowlist") == "raw_exec");
  CHECK(with_file_text({}, "agent.hcl", "client { enabled = }").has_error());
}
