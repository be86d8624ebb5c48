#include "runtime/scheduler/placement/score.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/name_table.hpp"

namespace nomad::scheduler {
namespace {

constexpr double best_fit = 18.0;

double emptiness(FreeShare free) {
  return std::pow(10.0, free.cpu) + std::pow(10.0, free.memory);
}

}  // namespace

std::string_view to_string(ScoreName name) {
  static constexpr std::string_view names[]
      = {"binpack",       "devices",           "job-anti-affinity", "node-reschedule-penalty",
         "node-affinity", "allocation-spread", "preemption"};
  static_assert(std::size(names) == score_names);
  return name_in(names, name);
}

double binpack_score(FreeShare free) {
  return std::clamp(20.0 - emptiness(free), 0.0, best_fit) / best_fit;
}

double spread_fit_score(FreeShare free) {
  return std::clamp(emptiness(free) - 2.0, 0.0, best_fit) / best_fit;
}

double anti_affinity_score(std::size_t collisions, std::int64_t count) {
  if (collisions == 0 || count <= 0) return 0;
  return -(static_cast<double>(collisions) + 1) / static_cast<double>(count);
}

double Score::normalized() const {
  double sum = 0;
  int counted = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i]) continue;
    const auto name = static_cast<ScoreName>(i);
    if (*parts_[i] == 0 && name != ScoreName::binpack && name != ScoreName::devices) continue;
    sum += *parts_[i];
    ++counted;
  }
  return counted == 0 ? 0 : sum / counted;
}

std::size_t node_limit(bool is_batch, std::size_t nodes, bool has_preferences, std::int64_t count) {
  constexpr std::size_t fewest = 2;
  if (has_preferences)
    return std::max<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), 100);
  if (is_batch || nodes < 2) return fewest;
  return std::max(fewest, static_cast<std::size_t>(std::bit_width(nodes - 1)));
}

}  // namespace nomad::scheduler
