// The scheduler of service and batch jobs: reconciles, picks a node for each placement, and keeps
// what found no place in a blocked evaluation.
//
// May depend on: runtime/state.
#pragma once

#include <memory>

#include "runtime/scheduler/scheduler.hpp"

namespace nomad::scheduler {

std::unique_ptr<Scheduler> make_generic_scheduler(Object<schema::Evaluation> eval,
                                                  std::uint64_t salt,
                                                  bool is_batch,
                                                  const Progress& before = {});

}  // namespace nomad::scheduler
