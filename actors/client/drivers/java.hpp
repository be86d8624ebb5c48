// java: runs a task's classes by the Java machine of this machine, in a place of their own, as exec
// runs programs.
//
// Owns:   the ExecutorClient (one thread for all tasks); the filters of system calls, made once for
//         each set of capabilities.
// Takes:  what every Driver takes. A start that is repeated after a crash finds the process of the
//         first one.
// Asks:   the UsageReader for usage, as raw_exec; the BlockingPool for which Java there is.
// Parent: driver_manager, report: another one takes the tasks over.
// Ends:   by the parent's exit message; tasks go on.
#pragma once

#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

DriverEntry java_entry();

}  // namespace nomad::client
