// NodeEndpoint: what client nodes should run, and what they report. Their registrations and
// heartbeats are the heartbeat tracker's.
//
// Owns:   the blocking watches of nodes, the reports and changes of services that wait to be
//         written.
// Takes:  WatchAllocs, AwaitPrevious, UpdateAllocs, RegisterServices, DeregisterServices,
//         EmitEvents and DrainNode. Reports are written at once while none is being written, else
//         together with the others that came meanwhile: one log entry at a time. So are changes of
//         services.
// Parent: server, restart. Nodes ask and report again.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/server_link.hpp"
#include "actors/server/data/data_endpoint.hpp"
#include "actors/server/heartbeat_tracker.hpp"

namespace nomad::server {

using NodeEndpoint
    = actor::Interface<client::server_link::AssignedAllocs(client::server_link::WatchAllocs),
                       client::server_link::Updated(client::server_link::UpdateAllocs),
                       client::server_link::Updated(client::server_link::RegisterServices),
                       client::server_link::Updated(client::server_link::DeregisterServices),
                       client::server_link::Updated(client::server_link::EmitEvents),
                       client::server_link::NodeDrain(client::server_link::DrainNode),
                       client::server_link::Previous(client::server_link::AwaitPrevious)>;

/// The servers' side of client::ServerLink: who takes which of its messages.
struct NodeSide {
  HeartbeatTracker tracker;
  NodeEndpoint endpoint;
  DataEndpoint data{};
};

/// With a lease, nodes hear what they should run only while it holds: what an old leader says would
/// undo what a newer one said.
NodeEndpoint spawn_node_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 raft::Proposer proposer,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 std::uint64_t random_seed);

}  // namespace nomad::server
