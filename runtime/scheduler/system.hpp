// The scheduler of system and sysbatch jobs: one allocation of each group on every node that may
// run it. No rescheduling, no deployments.
//
// May depend on: runtime/state.
#pragma once

#include <memory>

#include "runtime/scheduler/scheduler.hpp"

namespace nomad::scheduler {

std::unique_ptr<Scheduler> make_system_scheduler(Object<schema::Evaluation> eval,
                                                 std::uint64_t salt,
                                                 bool is_sysbatch,
                                                 const Progress& before = {});

}  // namespace nomad::scheduler
