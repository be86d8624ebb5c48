// RaftCarrier: has the transport take the raft_peers' messages to other servers, on Raft's own
// connections. The transport's actor makes the connection with the first message; the others go
// there straight from the peer's thread.
#pragma once

#include <string>

#include "actors/raft/carrier.hpp"
#include "actors/rpc/transport.hpp"

namespace nomad::server {

/// `region` is what the other server must be of.
raft::Carrier make_raft_carrier(rpc::PostTransport transport, std::string region);

}  // namespace nomad::server
