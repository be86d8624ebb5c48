// What a hook asks for one task by its agent: a signal, its end. Functions of the allocation's
// runner, called in its own turns.
#pragma once

#include "actors/client/alloc_facts.hpp"
#include "actors/client/task/task_runner.hpp"

namespace nomad::client {

/// Answered when the driver has sent it; `not_found` while the task does not run.
actor::Answer<plugin_agent::Answered> signal_task(AllocSelf::pointer self,
                                                  const TaskRunner& task,
                                                  schema::plugin::Signal::Reader signal);

/// Ends the task for good, after the event; the others react as to any end.
actor::Answer<plugin_agent::Answered> kill_task(AllocSelf::pointer self,
                                                const TaskRunner& task,
                                                schema::plugin::Event::Reader event);

}  // namespace nomad::client
