// SystemDiff: compares what a system job wants on each node with what is there.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/scheduler/attempt.hpp"

namespace nomad::scheduler {

/// An allocation that is wanted on one node and is not there.
struct SystemPlacement {
  std::string name;
  const GroupSpec* group = nullptr;
  Object<schema::Node> node;
  const AllocEntry* previous = nullptr;  ///< The newest ended one of that name on the node.
  bool canary = false;
};

struct SystemUpdate {
  const AllocEntry* alloc = nullptr;
  const GroupSpec* group = nullptr;
};

/// Work of a sysbatch job that a drain cut short, or is about to, and that begins anew once its
/// node may be used again.
struct DrainedWork {
  const GroupSpec* group = nullptr;
  std::string node_id;
};

struct SystemDiff {
  std::vector<SystemPlacement> place;
  std::vector<SystemUpdate> update;  ///< The job is newer; in place or not is decided later.
  std::vector<const AllocEntry*> reconnecting;
  std::vector<const AllocEntry*> disconnecting;
  std::vector<const AllocEntry*> stop;
  std::vector<const AllocEntry*> migrate;
  std::vector<const AllocEntry*> lost;
  std::vector<DrainedWork> waiting;
  std::map<std::string, std::uint64_t, std::less<>> ignored;  ///< By group.
};

/// `nodes` are those of the job's scope.
SystemDiff diff_system(const Attempt& attempt, const NodeChoice& nodes, bool is_sysbatch);

}  // namespace nomad::scheduler
