// From verified plans to the log entry that writes them.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/object/object.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::scheduler {

struct VerifiedPlan {
  const Plan* plan = nullptr;
  PlanVerdict verdict;
};

/// One entry for all of `plans`, in order. Parts of rejected nodes are left out, and so are stops
/// of allocations that are collected by now. Preempted jobs get an evaluation each. `now` is Unix
/// nanoseconds.
Object<schema::Command> make_plan_command(const std::vector<VerifiedPlan>& plans,
                                          const state::Snapshot& state,
                                          std::int64_t now,
                                          Random& random);

/// What the plan's submitter is told once the entry is applied at `index`.
PlanResult make_plan_result(const VerifiedPlan& plan, std::uint64_t index);

}  // namespace nomad::scheduler
