// PreviousAllocHook ("await_previous_allocations", "migrate_disk"): an allocation that comes after
// others waits until they have ended, and takes over what the one that it replaces left on its
// ephemeral disk.
//
// Owns:   whom it waits for, a timer for the next question, the stop token of a move.
// Takes:  what the role Hook lists. A Cancel ends a wait at once, a move as soon as that sees it.
// Parent: alloc_runner, report: the phase fails.
// Ends:   by the parent's exit message, after prerun.
#pragma once

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "runtime/net/byte_stream.hpp"

namespace nomad::client {

/// What both are made from.
struct PreviousAllocHookParts {
  BlockingPool steps;
  net::Connector peers;  ///< To the APIs of other nodes; empty: without TLS.
  UnixClock unix_now;
};

/// "await_previous_allocations": waits for the allocation that this one replaces, wherever that
/// runs, and for those that it has preempted on this node.
HookEntry await_previous_hook(PreviousAllocHookParts parts);

/// "migrate_disk": moves the ephemeral disk of the allocation before, or fetches it from the node
/// that has it, if the group's is sticky or to be migrated. Without it the tasks start all the
/// same, and an event says why.
HookEntry migrate_disk_hook(PreviousAllocHookParts parts);

}  // namespace nomad::client
