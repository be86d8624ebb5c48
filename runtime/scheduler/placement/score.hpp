// Scores: the arithmetic by which nodes are compared. Each part is a number that is averaged with
// the others; a part that is exactly 0 is left out, so that a neutral opinion does not dilute
// (other than how full a node gets, and whether devices are what was preferred).
//
// May depend on: runtime/state. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/scheduler/plan/capacity.hpp"

namespace nomad::scheduler {

enum class ScoreName : std::uint8_t {
  binpack,
  devices,
  job_anti_affinity,
  node_reschedule_penalty,
  node_affinity,
  allocation_spread,
  preemption,
};
inline constexpr std::size_t score_names = 7;

/// As AllocMetric names it: "job-anti-affinity".
std::string_view to_string(ScoreName name);

/// 1 for a full node, 0 for an empty one: prefers nodes that are already in use.
double binpack_score(FreeShare free);

/// The reverse: prefers empty nodes.
double spread_fit_score(FreeShare free);

/// -(collisions + 1) / count, for a node that already has allocations of the group; else 0.
double anti_affinity_score(std::size_t collisions, std::int64_t count);

/// The parts a node got.
class Score {
public:
  void set(ScoreName name, double value) { parts_[static_cast<std::size_t>(name)] = value; }

  std::optional<double> part(ScoreName name) const {
    return parts_[static_cast<std::size_t>(name)];
  }

  /// The mean of the parts that count: binpack and devices if set, others unless 0. 0 without
  /// parts.
  double normalized() const;

private:
  std::array<std::optional<double>, score_names> parts_{};
};

/// How many feasible nodes are scored for one placement. Batch: 2 (the power of two choices);
/// service: log2 of the nodes, at least 2; with affinities or spreads: the group's count, at least
/// 100, because those only mean something when many nodes are compared.
std::size_t node_limit(bool is_batch, std::size_t nodes, bool has_preferences, std::int64_t count);

}  // namespace nomad::scheduler
