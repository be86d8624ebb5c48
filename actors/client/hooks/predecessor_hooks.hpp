// PredecessorHook ("await_previous_allocations", "migrate_disk"): an allocation that comes after
// others waits until they have ended, and takes over what the one that it replaces left on its
// ephemeral disk.
//
// Owns:   whom it waits for, a timer for the next question, the stop token of a move.
// Takes:  what the role Hook lists. A Cancel ends a wait at once, a move as soon as that sees it.
// Parent: alloc_runner, report: the phase fails.
// Ends:   by the parent's exit message, after prerun.
#pragma once

#include "actors/client/hooks/hook.hpp"

namespace nomad::client {

/// "await_previous_allocations": waits for the allocation that this one replaces, wherever that
/// runs, and for those that it has preempted on this node.
HookEntry await_previous_hook();

/// "migrate_disk": moves the ephemeral disk of the allocation before, or fetches it from the node
/// that has it, if the group's is sticky or to be migrated. Without it the tasks start all the
/// same, and an event says why.
HookEntry migrate_disk_hook();

}  // namespace nomad::client
