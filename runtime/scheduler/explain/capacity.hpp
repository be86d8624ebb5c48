// Capacity: how many more of a group's allocations fit into the cluster as it is, and what binds
// first. Where they only take amounts this is what each node has divided by what one takes; else
// they are given out one after the other, as the schedulers do it, until no node takes one more.
// Nobody is preempted for them.
//
// May depend on: runtime/state. Pure but for `goes_on`; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/scheduler/explain/explain.hpp"

namespace nomad::scheduler::explain {

/// More are not counted.
inline constexpr std::int64_t most_counted = 100'000;

/// Nodes that are told one by one.
inline constexpr std::size_t most_capacity_nodes = 20;

struct NodeCapacity {
  NamedNode node;
  std::int64_t more = 0;
  Obstacle binds = Obstacle::room;  ///< What one more than `more` would lack there.
};

/// On how many nodes what comes to its end first.
struct Binding {
  Obstacle what = Obstacle::room;
  std::size_t nodes = 0;
};

struct GroupCapacity {
  std::string name;
  std::int64_t live = 0;
  std::int64_t more = 0;      ///< At most `most_counted`.
  bool is_bounded = false;    ///< There is room for more than were counted, or nodes were left out.
  std::size_t nodes = 0;      ///< That take at least one.
  std::size_t looked_at = 0;  ///< Of the cluster's.
  std::vector<Binding> binds = {};         ///< Most nodes first.
  std::vector<NodeCapacity> largest = {};  ///< Those that take most.
  std::int64_t in_quota = -1;  ///< What the namespace's quota lets through; -1: no quota.
};

/// Of all groups of the job, or of `question.group`; its node and allocation are not looked at.
Result<std::vector<GroupCapacity>> capacity(const state::Snapshot& state, const Question& question);

}  // namespace nomad::scheduler::explain
