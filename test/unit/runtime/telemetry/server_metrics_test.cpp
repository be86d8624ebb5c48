#include "runtime/telemetry/server_metrics.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad::telemetry;
using namespace std::chrono_literals;

TEST_CASE("meter: gauges are what each owner said last, times are milliseconds") {
  constexpr std::int64_t start = 1'795'000'000'000'000'000;
  constexpr std::int64_t later = start + 1'000'000'000;
  const auto registry = std::make_shared<Registry>(Options{});
  registry->advance(start);
  auto meter = ServerMetrics::make(registry);
  meter->show("broker", {{"broker.total_ready", 3}, {"broker.gone", 1}});
  meter->show("applier", {{"plan.queue_depth", 7}});
  meter->show("broker", {{"broker.total_ready", 4}});
  meter->measure("plan.apply", 1500us);
  meter->count_rejected("node");
  const auto text = registry->prometheus(later);
  CHECK(text.find("nomad_nomad_broker_total_ready 4") != std::string::npos);
  CHECK(text.find("nomad_nomad_plan_queue_depth 7") != std::string::npos);
  CHECK(text.find("broker_gone") == std::string::npos);
  CHECK(text.find("nomad_nomad_plan_apply_sum 1.5") != std::string::npos);
  CHECK(text.find("nomad_nomad_plan_node_rejected") != std::string::npos);
  meter.reset();
  CHECK(registry->prometheus(later).find("queue_depth") == std::string::npos);
}

TEST_CASE("meter: without a registry nothing happens") {
  const auto meter = ServerMetrics::make(nullptr);
  meter->show("broker", {{"broker.total_ready", 3}});
  meter->measure("plan.apply", 1ms);
  meter->count_rejected("node");
}
