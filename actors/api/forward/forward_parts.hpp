// ForwardParts: what requests are passed on by: who this agent is, whom it reaches, and who serves
// what.
#pragma once

#include <memory>
#include <string>

#include "actors/api/api.hpp"

namespace nomad::api {

struct ForwardParts {
  AgentInfo agent;
  rpc::Transport transport;
  rpc::NodeCaller nodes;                         ///< Empty: no client node is reached from here.
  std::optional<rpc::ClusterView> view;          ///< Empty: everything is served here.
  std::shared_ptr<const ClusterAccess> cluster;  ///< Empty: no server is known by name.
  client::ClientApi client;                      ///< Of this agent; empty without a client.

  static ForwardParts of(const ApiOptions& options) {
    return {options.agent,      options.peers.transport, options.peers.nodes,
            options.peers.view, options.server.cluster,  options.client};
  }

  /// The RPC address of who leads this region now; empty: nobody is known to.
  std::string leader_address() const {
    if (!view) return {};
    const auto leader = view->leader_address();
    return leader.is_self ? agent.rpc_address : leader.rpc_address;
  }
};

}  // namespace nomad::api
