// NearServers: the servers of a client node that has one of them in its own process. Plays
// ServerLink.
//
// Owns:   nothing; it hands each question on: to the own server while that leads or nobody is
//         known to, else to the leader, by way of RemoteServers.
// Takes:  what ServerLink takes. What a node should run is answered here only under the leader's
//         lease, so that the answer has every write that was acknowledged.
// Parent: root, restart.
// Ends:   by the parent's exit message.
#pragma once

#include "actors/raft/raft_node.hpp"
#include "actors/roles/server_link.hpp"
#include "actors/server/node_endpoint.hpp"

namespace nomad::agent {

client::ServerLink spawn_near_servers(const actor::Owner& owner,
                                      const server::NodeSide& own,
                                      const client::ServerLink& others,
                                      const raft::StartedRaft& log);

}  // namespace nomad::agent
