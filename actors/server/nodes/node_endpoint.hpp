// NodeEndpoint: what client nodes should run, and what they report. Their registrations and
// heartbeats are the heartbeat tracker's.
//
// Owns:   the blocking watches of nodes, the reports and changes of services that wait to be
//         written.
// Takes:  the door's questions of which the table says so. Reports are written at once while none
// is being written, else
//         together with the others that came meanwhile: one log entry at a time. So are changes of
//         services.
// Parent: server, restart. Nodes ask and report again.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/server/data/data_endpoint.hpp"
#include "actors/server/nodes/heartbeat_tracker.hpp"

namespace nomad::server {

/// The servers' side of the door: who answers which of its questions.
struct NodeSide {
  HeartbeatTracker tracker;
  NodeDoor endpoint;
  NodeDoor data{};
  NodeDoor identities{};
  NodeDoor volumes{};

  NodeDoor door_of(door::ServerActor actor) const {
    switch (actor) {
      case door::ServerActor::heartbeat_tracker:
        return tracker;
      case door::ServerActor::node_endpoint:
        return endpoint;
      case door::ServerActor::data_endpoint:
        return data;
      case door::ServerActor::identity_endpoint:
        return identities;
      case door::ServerActor::volume_endpoint:
        return volumes;
    }
    return {};
  }
};

/// With a lease, nodes hear what they should run only while it holds: what an old leader says would
/// undo what a newer one said.
NodeDoor spawn_node_endpoint(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             raft::Proposer proposer,
                             std::shared_ptr<const raft::LeaderLease> lease,
                             std::uint64_t random_seed);

}  // namespace nomad::server
