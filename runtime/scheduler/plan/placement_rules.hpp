// PlacementRules: what operators have configured about placements, for the cluster and for single
// node pools.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <string_view>

#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

struct PlacementRules {
  bool spreads = false;                  ///< The algorithm "spread" instead of "binpack".
  bool memory_oversubscription = false;  ///< Tasks get their `memory_max`.
};

/// Whether jobs of that type may preempt others.
bool may_preempt(std::string_view type, schema::PreemptionConfig::Reader config);

/// Of jobs of the node pool: what its own configuration says counts, the cluster's for the rest.
/// Of an unknown pool: the cluster's.
PlacementRules placement_rules(const state::Snapshot& state, std::string_view node_pool);

}  // namespace nomad::scheduler
