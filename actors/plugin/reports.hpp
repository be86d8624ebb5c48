// Reports: what a plugin tells of itself: lines of its log, metrics. Bounded in number. Part of the
// PluginLink, called in its turns.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "actors/plugin/allowance.hpp"
#include "actors/plugin/plugin_board.hpp"
#include "runtime/base/log.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::plugin {

class Reports {
public:
  static constexpr unsigned most_metrics = 64;
  static constexpr std::size_t most_line_bytes = 4096;

  Reports(std::string plugin,
          std::shared_ptr<PluginBoard> board,
          std::shared_ptr<telemetry::Registry> metrics)
      : plugin_{std::move(plugin)}, board_{std::move(board)}, metrics_{std::move(metrics)} {}

  void line(log::Level level, std::string_view text, std::chrono::nanoseconds now);
  void line(schema::plugin::LogLine::Reader line, std::chrono::nanoseconds now);
  void metric(schema::plugin::Metric::Reader metric);

private:
  std::string plugin_;
  std::shared_ptr<PluginBoard> board_;
  std::shared_ptr<telemetry::Registry> metrics_;
  std::set<std::string> known_;
  Allowance lines_{200, 100};
};

}  // namespace nomad::plugin
