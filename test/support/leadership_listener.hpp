// A listener of Raft's leadership for tests that wait for an election
// (test/support/eventually.hpp).
#pragma once

#include "actors/core/supervise.hpp"
#include "actors/raft/raft_node.hpp"
#include "test/support/eventually.hpp"

namespace nomad::test {

/// Notes each change. Whoever spawns it stops it.
inline raft::LeadershipListener spawn_leadership_listener(actor::System& system) {
  using Listener = raft::LeadershipListener;
  return actor::spawn(system, [](Listener::pointer) -> Listener::behavior_type {
    return {[](const raft::LeadershipChanged&) { note_change(); }};
  });
}

/// Waits until the server that `raft` belongs to leads; whether it does.
inline bool leads(const raft::StartedRaft& raft) {
  return eventually([&raft] { return raft.lease->holds(); });
}

}  // namespace nomad::test
