// exec: runs a task as a process of this machine in a place of its own: its files, processes,
// rights and share of memory and processors. What that place is, is planned by
// runtime/host/isolation; the process belongs to a nomadctl-executor, which makes it and
// outlives the agent.
//
// Owns:   the ExecutorClient (one thread for all tasks); the filters of system calls, made once for
//         each set of capabilities.
// Takes:  what every Driver takes. A start that is repeated after a crash finds the process of the
//         first one.
// Asks:   the UsageReader for usage, as raw_exec.
// Parent: driver_manager, report: another one takes the tasks over.
// Ends:   by the parent's exit message; tasks go on.
#pragma once

#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

DriverEntry exec_entry();

}  // namespace nomad::client
