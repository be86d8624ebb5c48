// NodeService: the servers' methods for client nodes over the network, and the Status methods. They
// turn what the wire carries into the questions that the heartbeat tracker and the node endpoint
// answer, and their answers back.
//
// Who may: a node's request must carry the secret that the state has of it. A node that the state
// does not know yet may only register (which makes its secret known) and learn from a heartbeat
// that it has to.
//
// Threads: handlers run on the threads of the transport; actors are asked through gateways that
// the service owns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/asker.hpp"
#include "actors/rpc/router.hpp"
#include "actors/server/node_endpoint.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// A server as nodes and operators see it.
struct KnownServer {
  std::string id;
  std::string rpc_address;
  std::string region;
  std::string datacenter;
  bool is_leader = false;
};

struct NodeServiceOptions {
  std::shared_ptr<state::Store> store;

  /// All servers of the region that seem alive. Thread-safe and quick.
  std::function<std::vector<KnownServer>()> servers;
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

  /// A node that has proven itself by this request is reached over the request's connection, if it
  /// came from the node itself.
  void note(const rpc::Caller& caller, const rpc::Inbound& inbound) const;

  /// The secret that the state has of a node; "" for an unknown one.
  std::string secret_of(const std::string& node_id) const;

  void stop();

private:
  struct Shared;

  template <class Lease>
  Bytes lease_reply(std::uint64_t index, const Lease& lease, bool awaits_reports) const;
  void add_status(rpc::MethodRouter& router) const;
  void add_registration(rpc::MethodRouter& router) const;
  void add_heartbeat(rpc::MethodRouter& router) const;
  void add_allocs(rpc::MethodRouter& router) const;
  void add_updates(rpc::MethodRouter& router) const;
  void add_services(rpc::MethodRouter& router) const;
  void add_drains(rpc::MethodRouter& router) const;
  void add_predecessors(rpc::MethodRouter& router) const;
  void add_data(rpc::MethodRouter& router) const;

  /// Asks the endpoint what is durable when it is answered; for a node that `caller` speaks for.
  template <class Message>
  void write(Message message, const rpc::Caller& caller, const rpc::Inbound& inbound) const;
  void add_events(rpc::MethodRouter& router) const;

  std::shared_ptr<Shared> shared_;
};

}  // namespace nomad::server
