// Spread: how a placement on a node would change the distribution of a group over the values of
// node properties.
//
// May depend on: runtime/state.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/property_counts.hpp"

namespace nomad::scheduler {

class SpreadScorer {
public:
  /// `counts` has one element for each of the group's spreads, in their order.
  SpreadScorer(const GroupSpec& group, const std::vector<PropertyCounts>& counts);

  /// The sum over the group's spreads. Not const: a value that should get none scores as low as
  /// the lowest one met so far.
  double score(schema::Node::Reader node);

private:
  struct Targets {
    std::map<std::string_view, double> desired;  ///< By value.
    double rest = -1;                            ///< For values that are not named; negative: none.
    double weight = 0;                           ///< Share of all spreads' weights.
    bool is_even = true;                         ///< No targets: all values get equally many.
  };

  double target_score(const Targets& targets, const PropertyCounts& counts, std::string_view value);

  std::vector<Targets> targets_;
  const std::vector<PropertyCounts>& counts_;
  double lowest_ = -1;
};

/// The score of one more allocation at `value` when all values are to get equally many: 1 for the
/// value that has none while others have some, -1 when all have equally many.
double even_spread_score(const PropertyCounts& counts, std::string_view value);

}  // namespace nomad::scheduler
