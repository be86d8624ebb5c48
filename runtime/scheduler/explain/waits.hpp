// Waits: what has to come first before a group's missing allocations are placed, or before an
// allocation that has a node runs: from what is stored of evaluations, deployments and tasks.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/scheduler/explain/explanation.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler::explain {

/// Of the job's evaluations and its deployment, as far as they concern the group. `now` is Unix
/// nanoseconds.
std::vector<Wait> waits_of_group(const state::Snapshot& state,
                                 schema::Job::Reader job,
                                 std::string_view group,
                                 std::int64_t now);

/// Of one allocation; nothing if it runs as it should, or is over.
std::vector<Wait> waits_of_alloc(const state::Snapshot& state,
                                 const state::AllocRef& row,
                                 std::int64_t now);

}  // namespace nomad::scheduler::explain
