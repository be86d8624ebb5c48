// Reports: what a plugin tells of itself: lines of its log, metrics. Bounded in number. Part of the
// PluginLink, called in its turns.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "actors/plugin/plugin_states.hpp"
#include "runtime/base/log.hpp"
#include "runtime/plugin/allowance.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::plugin {

class Reports {
public:
  static constexpr unsigned most_metrics = 64;

  Reports(std::string plugin,
          std::shared_ptr<PluginStates> states,
          std::shared_ptr<telemetry::Registry> metrics)
      : plugin_{std::move(plugin)}, states_{std::move(states)}, metrics_{std::move(metrics)} {}

  void line(log::Level level, std::string_view text, std::chrono::nanoseconds now);
  void line(schema::plugin::LogLine::Reader line, std::chrono::nanoseconds now);
  void metric(schema::plugin::Metric::Reader metric);

  /// Lines that were dropped before they came here.
  void dropped(std::uint64_t lines);

  /// Whether an event of a task or of the node may still be passed on, which counts it.
  bool takes_event(std::chrono::nanoseconds now);

private:
  std::string plugin_;
  std::shared_ptr<PluginStates> states_;
  std::shared_ptr<telemetry::Registry> metrics_;
  std::set<std::string> known_;
  Allowance lines_{200, 100};
  Allowance events_{200, 20};
};

}  // namespace nomad::plugin
