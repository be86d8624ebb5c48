// NodeEndpoint: the servers' side of every client node: registration, heartbeats, what a node
// should run, and what it reports.
//
// Owns:   the blocking watches of nodes, the reports that wait to be written.
// Takes:  what ServerLink takes, from clients; Missed from the heartbeat tracker; node writes of
//         the API. Reports are written at once while nothing is being written, else together with
//         the others that came meanwhile: one log entry at a time. The status of one node changes
//         one step at a time, each decided on what the last one left.
// Parent: the leader.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/server_link.hpp"
#include "actors/server/heartbeat_tracker.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/server_api.hpp"

namespace nomad::server {

namespace node_endpoint {

/// Whom to tell of heartbeats; the tracker needs the endpoint first. With a lease, nodes hear what
/// they should run only while it holds: what an old leader says would undo what a newer one said.
struct UseTracker {
  using is_message = void;
  HeartbeatTracker tracker;
  std::shared_ptr<const raft::LeaderLease> lease{};
};

}  // namespace node_endpoint

using NodeEndpoint
    = actor::Interface<client::server_link::Registered(client::server_link::RegisterNode),
                       client::server_link::Lease(client::server_link::Heartbeat),
                       client::server_link::AllocSet(client::server_link::WatchAllocs),
                       client::server_link::Updated(client::server_link::UpdateAllocs),
                       void(heartbeat::Missed),
                       void(node_endpoint::UseTracker),
                       server_api::NodeChanged(server_api::SetNodeEligibility),
                       server_api::NodeChanged(server_api::EvaluateNode),
                       server_api::NodeChanged(server_api::PurgeNode)>;

NodeEndpoint spawn_node_endpoint(actor::System& system,
                                 std::shared_ptr<state::Store> store,
                                 raft::Proposer proposer,
                                 std::uint64_t random_seed);

}  // namespace nomad::server
