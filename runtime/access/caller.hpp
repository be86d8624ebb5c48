// Caller: who asks, as the process that serves the request has established it: the Authenticator
// (authenticator.hpp) does, from what was shown. Every handler gets one, of RPC methods
// (actors/rpc/router.hpp) as of the HTTP API (actors/api/http/call.hpp).
//
// The parts are independent: a request may come over a server's connection and carry a user's
// token. Each part is present only when this process verified it for this very request: the
// certificate of the connection, the secret of a node against the state, a token, a workload's
// signed identity. A request that is forwarded is judged before forwarding, as far as its target
// is known there, and again by the server that serves it. What is known of a connection besides its
// certificate (such as which node registered over it) never becomes a part; nor does who the agent
// is that passes on a user's API request, or whoever reaches an agent's HTTP port would act as that
// agent. It stands beside the caller, in `passed_on_by`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/access/boxed.hpp"
#include "runtime/base/secret.hpp"

namespace nomad::access {

class Limits;

/// What an agent is to others. Sent as a number: never renumber.
enum class AgentRole : std::uint8_t {
  server = 1,
  client = 2,
};

/// The process at the other end of the connection.
struct PeerIdentity {
  AgentRole role = AgentRole::client;
  std::string region;
  /// A certificate proves it. Without TLS there is no proof, and the claim counts: whoever reaches
  /// the port is trusted then (the agent refuses such a port beyond loopback).
  bool is_proven = false;
};

/// A client node: the request carried the secret that the state has of it.
struct NodeIdentity {
  std::string id;
};

/// A token of a user, as it was shown. Whether it is one, and what it gives, the grant says.
struct TokenIdentity {
  SecretText secret;
};

/// A task, by the identity that the servers signed for it (runtime/identity).
struct WorkloadIdentity {
  std::string ns;
  std::string job_id;
  std::string alloc_id;
  std::string task;
};

/// Small as long as little is known: every query that waits has one.
struct Caller {
  std::string remote;             ///< Address of the first caller, as far as it is known.
  Boxed<PeerIdentity> peer = {};  ///< None: a user of the HTTP API.
  Boxed<NodeIdentity> node = {};
  Boxed<TokenIdentity> token = {};
  Boxed<WorkloadIdentity> workload = {};

  /// The agent that sent a user's API request on, if that was not sent to this one. What it may do
  /// itself, the user may not.
  Boxed<PeerIdentity> passed_on_by = {};

  /// What he is kept to, whatever the parts above may do; null: nothing.
  std::shared_ptr<const Limits> limits = {};

  bool is_server() const { return peer && peer->role == AgentRole::server; }

  bool is_server_of(const std::string& region) const {
    return is_server() && peer->region == region;
  }

  bool is_node(const std::string& id) const { return node && node->id == id; }

  bool is_anonymous() const { return !node && !token && !workload && !is_server(); }

  /// For logs and metrics: "server:10.0.0.7:41234", "client:<node id>", "token", "anonymous:…".
  std::string describe() const;
};

}  // namespace nomad::access
