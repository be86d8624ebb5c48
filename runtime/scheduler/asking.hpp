// The scheduler of jobs whose type is a plugin's. It sees to what needs no choice (ends that follow
// from the job or from a node's, updates in place, what a client's absence means), asks the plugin
// which nodes to take and what else is to end, and makes the plan of the answer. Nothing of that is
// believed: an allocation is placed only where it may and can run, with what the node has left.
//
// A job that is stopped or gone ends without a question, so that it does when the plugin is away.
//
// May depend on: runtime/state. Deterministic.
#pragma once

#include "runtime/scheduler/scheduler.hpp"

namespace nomad::scheduler {

/// Greatest numbers of what one decision says.
inline constexpr unsigned most_decided = 50'000;

std::unique_ptr<Scheduler> make_asking_scheduler(Object<schema::Evaluation> eval,
                                                 std::uint64_t salt,
                                                 const Progress& before);

}  // namespace nomad::scheduler
