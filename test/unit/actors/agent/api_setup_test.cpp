#include "actors/agent/api_setup.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace std::chrono_literals;

TEST_CASE("api setup: the audit log of a configuration without a sink is beside the data") {
  config::AgentConfig config;
  config.data_dir = "/data";

  const auto options = agent::audit_options(config, "10.0.0.1:4646");

  CHECK(options.node_ip == "10.0.0.1:4646");
  CHECK(options.filters.empty());
  REQUIRE(options.sinks.size() == 1);
  CHECK(options.sinks[0].is_enforced);
  CHECK(options.sinks[0].file.path == "/data/audit/audit.log");
  CHECK(options.sinks[0].file.mode == 0600);
  CHECK(options.sinks[0].file.rotation.age == 24h);
}

TEST_CASE("api setup: sinks and filters of the audit log are as configured") {
  config::AgentConfig config;
  config.data_dir = "/data";
  config.audit.sinks["best"] = {.delivery_guarantee = "best-effort",
                                .path = "/log/audit",
                                .mode = "0640",
                                .rotate_bytes = 7,
                                .rotate_duration = 1h,
                                .rotate_max_files = 3};
  config.audit.filters["quiet"]
      = {.endpoints = {"/v1/metrics"}, .stages = {"*"}, .operations = {"GET"}};

  const auto options = agent::audit_options(config, "");

  REQUIRE(options.sinks.size() == 1);
  const auto& sink = options.sinks[0];
  CHECK_FALSE(sink.is_enforced);
  CHECK(sink.file.path == "/log/audit");
  CHECK(sink.file.mode == 0640);
  CHECK(sink.file.rotation.bytes == 7);
  CHECK(sink.file.rotation.age == 1h);
  CHECK(sink.file.rotation.max_files == 3);
  REQUIRE(options.filters.size() == 1);
  CHECK(options.filters[0].endpoints == std::vector<std::string>{"/v1/metrics"});
  CHECK(options.filters[0].stages == std::vector<std::string>{"*"});
  CHECK(options.filters[0].operations == std::vector<std::string>{"GET"});
}

TEST_CASE("api setup: meters name callers where tokens are checked, unless they are told not to") {
  config::AgentConfig config;
  CHECK_FALSE(agent::names_callers(config));
  config.acl.enabled = true;
  CHECK(agent::names_callers(config));
  config.telemetry.disable_rpc_rate_metrics_labels = true;
  CHECK_FALSE(agent::names_callers(config));
}

TEST_CASE("api setup: rates are limits, which a permissive agent only counts") {
  config::AgentConfig config;
  config.limits.rpc_rate = {.read_rate = 10, .read_burst = 20, .write_rate = 1, .write_burst = 2};

  const auto enforcing = agent::meter_options(config);
  CHECK(enforcing.refuses);
  CHECK(enforcing.reads.per_second == 10);
  CHECK(enforcing.reads.burst == 20);
  CHECK(enforcing.writes.per_second == 1);
  CHECK(enforcing.writes.burst == 2);

  config.limits.rpc_rate.mode = "permissive";
  CHECK_FALSE(agent::meter_options(config).refuses);
}
