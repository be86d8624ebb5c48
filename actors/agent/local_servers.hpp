// LocalServers: the servers of a client node that has one of them in its own process. Plays
// NodeDoor.
//
// Owns:   nothing; it hands each question on: to the own server while that leads or nobody is
//         known to, else to the leader, by way of RemoteServers.
// Takes:  the door's questions. What a node should run is answered here only under the leader's
//         lease, so that the answer has every write that was acknowledged.
// Parent: root, restart.
// Ends:   by the parent's exit message.
#pragma once

#include "actors/raft/raft_node.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/server/nodes/node_endpoint.hpp"

namespace nomad::agent {

NodeDoor spawn_local_servers(const actor::Owner& owner,
                             const server::NodeSide& own,
                             const NodeDoor& others,
                             const raft::StartedRaft& log);

}  // namespace nomad::agent
