// ServerMetrics: what the actors of a server measure, under Nomad's names
// ("nomad.nomad.plan.evaluate"). An actor can't be asked while metrics are shown, so it says its
// gauges by itself, each second.
//
// Thread-safe; shared by those actors. Without a registry nothing is kept. Times are milliseconds.
//
// May depend on: what Registry may.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/telemetry/registry.hpp"

namespace nomad::telemetry {

class ServerMetrics {
public:
  struct Gauge {
    std::string name;
    double value = 0;
    Labels labels = {};
  };

  /// How often owners of gauges say them.
  static constexpr std::chrono::seconds gauge_interval{1};

  /// Gauges are shown as long as this lives.
  static std::shared_ptr<ServerMetrics> make(std::shared_ptr<Registry> registry);

  /// `name` without prefixes: "plan.evaluate".
  void measure(std::string_view name, std::chrono::nanoseconds took);

  /// Counts `more` of what happens; the same names as of `measure`.
  void count(std::string_view name, std::uint64_t more);

  /// A plan's part for the node was refused.
  void count_rejected(const std::string& node_id);

  /// Replaces what `owner` said before.
  void show(std::string_view owner, std::vector<Gauge> gauges);

private:
  explicit ServerMetrics(std::shared_ptr<Registry> registry) : registry_{std::move(registry)} {}

  const std::shared_ptr<Registry> registry_;
  std::mutex guard_;
  std::map<std::string, Sample*, std::less<>> samples_;
  std::map<std::string, std::vector<Gauge>, std::less<>> gauges_;  ///< By owner.
};

}  // namespace nomad::telemetry
