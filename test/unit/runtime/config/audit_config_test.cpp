#include <doctest/doctest.h>

#include "runtime/config/agent_config.hpp"

namespace nomad::config {
namespace {

AgentConfig with_hcl(const std::string& text) {
  const auto config = with_file_text(dev_defaults(), "agent.hcl", text);
  REQUIRE_MESSAGE(config.has_value(), config.error().what);
  return *config;
}

std::string mistake_in(const std::string& text) {
  return validate(with_hcl(text)).error().what;
}

}  // namespace

TEST_CASE("audit_config: sinks and filters are read as Nomad Enterprise has them") {
  const auto config = with_hcl(R"(
    audit {
      enabled = true
      sink "main" {
        type               = "file"
        delivery_guarantee = "best-effort"
        format             = "json"
        path               = "/var/log/audit.json"
        rotate_bytes       = 100
        rotate_duration    = "30s"
        rotate_max_files   = 10
        mode               = "0640"
      }
      filter "metrics" {
        type       = "HTTPEvent"
        endpoints  = ["/v1/metrics"]
        stages     = ["*"]
        operations = ["GET"]
      }
    })");

  CHECK(validate(config).has_value());
  CHECK(config.audit.enabled);
  REQUIRE(config.audit.sinks.contains("main"));
  const auto& sink = config.audit.sinks.at("main");
  CHECK(sink.delivery_guarantee == "best-effort");
  CHECK(sink.path == "/var/log/audit.json");
  CHECK(sink.mode == "0640");
  CHECK(sink.rotate_bytes == 100);
  CHECK(sink.rotate_duration == std::chrono::seconds{30});
  CHECK(sink.rotate_max_files == 10);
  CHECK(config.audit.filters.at("metrics").endpoints == std::vector<std::string>{"/v1/metrics"});
  CHECK(to_json(config).find(R"("DeliveryGuarantee":"best-effort")") != std::string::npos);
  CHECK(to_json(dev_defaults()).find(R"("Audit":{"Enabled":null)") != std::string::npos);
}

TEST_CASE("audit_config: what a sink or a filter cannot be is refused, with its name") {
  const auto of_sink
      = [](const std::string& line) { return mistake_in("audit { sink \"s\" { " + line + " } }"); };
  const auto of_filter = [](const std::string& text) {
    return mistake_in("audit {\n filter \"f\" {\n" + text + "\n}\n}");
  };

  CHECK(of_sink(R"(type = "socket")") == "audit.sink \"s\": type: expected file");
  CHECK(of_sink(R"(format = "text")").ends_with("format: expected json"));
  CHECK(of_sink(R"(delivery_guarantee = "maybe")")
            .ends_with("delivery_guarantee: expected enforced or best-effort"));
  CHECK(of_sink(R"(path = "audit.log")").ends_with("path: must be an absolute path"));
  for (const auto* mode : {"", "0888", "06000", "rw"})
    CHECK(of_sink("mode = \"" + std::string{mode} + '"')
              .ends_with("mode: expected an octal number such as 0600"));
  CHECK(of_sink("rotate_bytes = -1").ends_with("rotate_bytes: must be at least 0"));
  CHECK(of_sink(R"(rotate_duration = "-1s")").ends_with("rotate_duration: must be at least 0"));
  CHECK(of_sink("rotate_max_files = -1").ends_with("rotate_max_files: must be at least 0"));
  CHECK(of_filter("type = \"RPCEvent\"") == "audit.filter \"f\": type: expected HTTPEvent");
  CHECK(of_filter("stages = [\"*\"]\noperations = [\"*\"]")
            .ends_with("needs endpoints, stages and operations; [\"*\"] are all"));
  CHECK(of_filter("endpoints = [\"*\"]\nstages = [\"Received\"]\noperations = [\"*\"]")
            .ends_with("stages: expected OperationReceived, OperationComplete or *"));
  CHECK(mistake_in(
            "audit {\n sink \"a\" {\n mode = \"0600\"\n }\n sink \"b\" {\n mode = \"0600\"\n }\n}")
        == "audit.sink \"b\": writes the same file as sink \"a\"");
}

TEST_CASE("audit_config: rates of requests are read, and refused when they are none") {
  const auto config = with_hcl(
      "limits {\n rpc_rate {\n mode = \"permissive\"\n read_rate = 2.5\n write_burst = 4\n }\n}");
  CHECK(config.limits.rpc_rate.mode == "permissive");
  CHECK(config.limits.rpc_rate.read_rate == 2.5);
  CHECK(config.limits.rpc_rate.write_burst == 4);
  CHECK(validate(config).has_value());

  CHECK(mistake_in("limits {\n rpc_rate {\n mode = \"off\"\n }\n}")
        == "limits.rpc_rate.mode: expected enforcing or permissive");
  CHECK(mistake_in("limits {\n rpc_rate {\n write_rate = -1\n }\n}")
        == "limits.rpc_rate.write_rate: expected 0 to 1e9");
}

}  // namespace nomad::config
