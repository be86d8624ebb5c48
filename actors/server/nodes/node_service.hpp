// NodeService: the servers' side of the door for client nodes over the network, and the Status
// methods. It opens what comes, looks in the table of questions who may ask and who answers, and
// sends the answer back.
//
// Who may: a node's request must carry the secret that the state has of it. A node that the state
// does not know yet may only register (which makes its secret known) and learn from its other
// questions that it has to.
//
// Threads: handlers run on the threads of the transport; actors are asked through gateways that
// the service owns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/core/asker.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/rpc/router.hpp"
#include "actors/server/nodes/known_server.hpp"
#include "actors/server/nodes/node_endpoint.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

struct NodeServiceOptions {
  std::shared_ptr<state::Store> store;
  KnownServers servers;

  /// Counts questions, "nomad.rpc.node.write", of whom: "client:<node id>". Empty: nobody does.
  std::function<void(std::string_view counter, std::string_view identity)> count = {};
};

/// Copies share everything.
class NodeService {
public:
  NodeService(const actor::Owner& owner, NodeServiceOptions options);

  /// Adds the methods to `router`. Once, before anything is served.
  void add_to(rpc::MethodRouter& router);

  /// Serves from now on; until then every node is told `unavailable`. `transport` notes a node's
  /// connection when that has proven itself.
  void open(NodeSide nodes, const rpc::Transport& transport);

  /// Asks for a node, if `caller` may. `reply` may be called on any thread.
  void ask(const rpc::Caller& caller,
           const rpc::Inbound& inbound,
           door::Ask question,
           std::function<void(Result<door::Reply>)> reply) const;

  /// A node that has proven itself by this request is reached over the request's connection, if it
  /// came from the node itself.
  void note(const rpc::Caller& caller, const rpc::Inbound& inbound) const;

  /// The secret that the state has of a node; "" for an unknown one.
  std::string secret_of(const std::string& node_id) const;

  void stop();

private:
  struct Shared;

  void add_status(rpc::MethodRouter& router) const;
  Result<> check(const rpc::Caller& caller, door::Asker asker, const std::string& node_id) const;

  std::shared_ptr<Shared> shared_;
};

}  // namespace nomad::server
