// qemu: runs a task's disk image as a machine of its own. The emulator, qemu-system-x86_64, is an
// ordinary process of this machine, as raw_exec's are; it belongs to a nomadctl-executor, which
// outlives the agent. With `graceful_shutdown` the machine is asked to power down by the
// emulator's monitor, and has the task's kill_timeout for it.
//
// Owns:   the ExecutorClient (one thread for all tasks).
// Takes:  what every Driver takes, but signals and commands beside the task. A start that is
//         repeated after a crash finds the process of the first one.
// Asks:   the UsageReader for usage, as raw_exec; the BlockingPool for which emulator there is.
// Parent: driver_manager, report: another one takes the tasks over.
// Ends:   by the parent's exit message; tasks go on.
#pragma once

#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

DriverEntry qemu_entry();

}  // namespace nomad::client
