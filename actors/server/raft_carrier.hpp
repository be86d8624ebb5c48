// RaftCarrier: has the transport take the raft_peers' letters to other servers, on Raft's own
// connections. The transport's actor makes the connection with the first letter; the others go
// there straight from the peer's thread.
#pragma once

#include <string>

#include "actors/raft/carrier.hpp"
#include "actors/rpc/transport.hpp"

namespace nomad::server {

/// `region` is what the other server must be of.
raft::Carrier make_raft_carrier(rpc::PostOffice office, std::string region);

}  // namespace nomad::server
