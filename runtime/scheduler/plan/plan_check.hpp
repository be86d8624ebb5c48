// Plan verification: which parts of a plan still fit the newest state. Atomic for each node: a node
// whose part does not fit is left out with everything that the plan wants there.
//
// May depend on: runtime/state. Pure.
//
// Invariants: applying what is accepted never oversubscribes a node: cpu, memory, disk, reserved
// cores, device instances and ports, over all allocations that have not ended on the client; and it
// never uses more of a quota than its limits, or than was in use already when they were lowered.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

struct PlanVerdict {
  std::map<std::string, std::string, std::less<>> rejected_nodes;  ///< Why, by node.
  bool accepts_nothing = false;  ///< Every node was rejected, or all-at-once failed.
  /// Of the rejected ones those that only the quota of the plan's namespace has no room for.
  std::set<std::string, std::less<>> over_quota = {};
};

/// Whether the plan still is its evaluation's to make; `conflict` if not: the evaluation has ended
/// or is gone, or a plan of another delivery has been written after `known_index`, the newest state
/// in which this plan knows it. Each written plan touches its evaluation, so of two plans that
/// know nothing of each other only one passes. A plan without an evaluation always does.
Result<> check_evaluation(const Plan& plan,
                          std::uint64_t known_index,
                          const state::Snapshot& state);

/// In `region`, whose limits of quotas count.
PlanVerdict check_plan(const Plan& plan, const state::Snapshot& state, std::string_view region);

/// Why the plan's part of one node does not fit; empty if it does. Stops always do, and so do new
/// versions of rows that nobody else changed after `snapshot_index`, whatever the node's state.
std::string check_node(std::string_view node_id,
                       const NodeChanges& changes,
                       std::uint64_t snapshot_index,
                       const state::Snapshot& state);

}  // namespace nomad::scheduler
