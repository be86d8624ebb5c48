// RaftCarrier: takes the raft_peers' letters to other servers by the transport, on Raft's own
// connections.
//
// Owns:   nothing; what is under way is known by its number.
// Takes:  Carry; tells its sender Carried or Lost.
// Parent: the server's wiring.
// Ends:   by the parent's exit message.
#pragma once

#include <string>

#include "actors/core/actor.hpp"
#include "actors/raft/carrier.hpp"
#include "actors/rpc/transport.hpp"

namespace nomad::server {

/// `region` is what the other server must be of.
raft::Carrier spawn_raft_carrier(caf::actor_system& system,
                                 const rpc::PostOffice& office,
                                 std::string region);

}  // namespace nomad::server
