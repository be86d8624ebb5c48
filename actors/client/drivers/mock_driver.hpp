// mock_driver: runs nothing, and ends, fails and talks as its configuration says. For tests and
// load tests; in every build, behind an agent option.
//
// Owns:   what it pretends to run; one timer for all of it.
// Takes:  what every Driver takes. A task that it "runs" is taken up after a restart of the agent
//         with the time that it had left.
// Parent: driver_manager, report: another one follows, which recovers the tasks.
// Ends:   by the parent's exit message; by an error after a task's `plugin_exit_after`, as a
//         driver that crashes would.
#pragma once

#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

DriverEntry mock_driver_entry();

}  // namespace nomad::client
