// raw_exec: runs a task as an ordinary process of this machine, without isolation. The process
// belongs to a nomadctl-executor, which outlives the agent.
//
// Owns:   the ExecutorClient (one thread for all tasks).
// Takes:  what every Driver takes. A start that is repeated after a crash finds the process of the
//         first one.
// Asks:   the UsageReader for usage: once for all tasks whose usage is streamed, at each tick.
// Parent: driver_manager, report: another one takes the tasks over.
// Ends:   by the parent's exit message; tasks go on.
#pragma once

#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

DriverEntry raw_exec_entry();

}  // namespace nomad::client
