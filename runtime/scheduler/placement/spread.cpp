#include "runtime/scheduler/placement/spread.hpp"

#include <algorithm>

#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler {
namespace {

/// The target of all values that no other target names.
constexpr std::string_view all_others = "*";

}  // namespace

SpreadScorer::SpreadScorer(const GroupSpec& group, const std::vector<PropertyCounts>& counts)
    : counts_{counts} {
  double weights = 0;
  for (const auto& spread : group.spreads)
    weights += spread.weight;
  const auto count = static_cast<double>(group.count);
  for (const auto& spread : group.spreads) {
    Targets targets;
    targets.weight = weights > 0 ? spread.weight / weights : 0;
    double sum = 0;
    for (const auto& target : spread.targets) {
      const double desired = target.percent / 100 * count;
      if (target.value == all_others)
        targets.rest = desired;
      else
        targets.desired[target.value] = desired;
      sum += desired;
    }
    targets.is_even = spread.targets.empty();
    if (sum > 0 && sum < count) targets.rest = count - sum;
    targets_.push_back(std::move(targets));
  }
}

double SpreadScorer::score(schema::Node::Reader node) {
  double total = 0;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const auto value = resolve_target(counts_[i].attribute(), node);
    if (!value) {
      total -= 1;
    } else if (!targets_[i].is_even) {
      total += target_score(targets_[i], counts_[i], *value);
    } else if (!counts_[i].counts().empty()) {  // nothing placed yet: no opinion
      total += even_spread_score(counts_[i], *value);
    }
  }
  return total;
}

double SpreadScorer::target_score(const Targets& targets,
                                  const PropertyCounts& counts,
                                  std::string_view value) {
  const auto target = targets.desired.find(value);
  double desired = targets.rest;
  std::uint64_t used = 0;
  if (target != targets.desired.end()) {
    desired = target->second;
    used = counts.count(value);
  } else {
    if (desired < 0) return -1;
    // All values that are not named share one target.
    for (const auto& [other, there] : counts.counts()) {
      if (!targets.desired.contains(other)) used += there;
    }
  }
  if (desired == 0) return lowest_;
  const double boost = (desired - static_cast<double>(used + 1)) / desired * targets.weight;
  lowest_ = std::min(lowest_, boost);
  return boost;
}

double even_spread_score(const PropertyCounts& counts, std::string_view value) {
  const auto current = static_cast<double>(counts.count(value));
  double least = 0;
  double most = 0;
  for (const auto& [other, count] : counts.counts()) {
    const auto there = static_cast<double>(count);
    if (least == 0 || there < least) least = there;
    if (most == 0 || there > most) most = there;
  }
  if (current != least) return least == 0 ? -1 : (least - current) / least;
  if (least == most) return -1;
  if (least == 0) return 1;
  return (most - least) / least;
}

}  // namespace nomad::scheduler
