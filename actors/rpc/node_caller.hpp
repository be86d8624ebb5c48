// NodeCaller: asks client nodes for a server and its users, wherever they are connected: the node
// of this process by reference, one that keeps a connection to this server over that, any other by
// way of the server that it is connected to.
//
// Owns:   nothing; what is under way is in its promises.
// Takes:  the door's questions to nodes (plays AskedNode), and Find, of those who send a stream.
// Parent: server, restart.
// Ends:   by the parent's exit message; what is open fails with `unavailable`.
#pragma once

#include <memory>
#include <string>

#include "actors/core/asker.hpp"
#include "actors/core/latest.hpp"
#include "actors/roles/node_questions.hpp"
#include "actors/rpc/forwarder.hpp"
#include "actors/rpc/router.hpp"

namespace nomad::rpc {

namespace node_caller {

/// Where a node is connected; `not_found` "No path to node". `own_only`: another server has asked
/// everybody already.
struct Find {
  using is_message = void;
  std::string node_id;
  bool own_only = false;
};

struct Connected {
  using is_message = void;
  std::string server;  ///< The address of that server; empty: to this one.
};

}  // namespace node_caller

using NodeCaller
    = actor::Interface<door::NodeReply(door::NodeAsk), node_caller::Connected(node_caller::Find)>;

/// The client node in a server's process; empty without one.
struct OwnNode {
  std::string id;
  AskedNode node;
};

/// `address` is this server's own, as the view has it.
NodeCaller spawn_node_caller(const actor::Owner& owner,
                             const Transport& transport,
                             ClusterView view,
                             std::string address,
                             actor::Latest<OwnNode> own);

/// Serves questions to nodes that come by `method`: on a node those to itself, on a server those
/// that another server passes on to a node of this one. `unavailable` before `node` is set.
void serve_node_questions(MethodRouter& router,
                          Method method,
                          std::shared_ptr<actor::Asker> asker,
                          actor::Latest<AskedNode> node);

}  // namespace nomad::rpc
