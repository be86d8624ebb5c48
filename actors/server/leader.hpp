// Leader: tells the leader's actors when this server leads and when it does no more.
//
// Owns:   what is known of leadership, and the list of duties.
// Takes:  LeadershipChanged from the Raft node, AddDuty, StateReplaced.
// Tells:  each duty Lead{true} only when the state holds everything that was acknowledged before,
//         and Lead{false} at once.
// Parent: the agent's wiring; it exists before the Raft node does.
// Ends:   by the parent's exit message.
#pragma once

#include "actors/core/actor.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/server/leadership.hpp"

namespace nomad::server {

/// From now on `duty` hears of leadership, starting with how it is.
struct AddDuty {
  using is_message = void;
  LeaderDuty duty;
};

/// The whole state was replaced: if this server leads, its duties begin anew.
struct StateReplaced {
  using is_message = void;
};

using Leader = actor::Interface<void(raft::LeadershipChanged), void(AddDuty), void(StateReplaced)>;

Leader spawn_leader(actor::System& system);

}  // namespace nomad::server
