// What of the state wakes which blocked evaluations: the bridge between what a command has changed
// (state::Outcome) and the evaluations that wait (BlockedEvals).
//
// The rule: whenever a pass of the scheduler would place something of a blocked evaluation, it has
// been woken since the state that it was decided on. So whatever nodes of one computed class need
// not have in common is either looked at on each node, class or not (devices, networks, volumes),
// or makes another class (which drivers can be used); and what concerns all nodes wakes all.
//
// May depend on: runtime/base, runtime/state. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/cluster/blocked/blocked_evals.hpp"
#include "runtime/state/snapshot.hpp"
#include "runtime/state/store.hpp"
#include "schema/eval.capnp.h"

namespace nomad::cluster {

/// `token` is that of the delivery that blocks it again; empty for a new one.
BlockedEval blocked_of(schema::Evaluation::Reader eval, std::string token = {});

/// Those that what was applied may help; they are forgotten. `snapshot` has it applied.
std::vector<BlockedEval> wake(BlockedEvals& blocked,
                              const state::Outcome& outcome,
                              const state::Snapshot& snapshot);

/// What grew after index `since`, when it was another's to wake those that it helps. The state
/// tells no more than that something of a node has changed: some are woken for nothing.
void note_past(BlockedEvals& blocked, const state::Snapshot& snapshot, std::uint64_t since);

}  // namespace nomad::cluster
