// The methods of the protocol between nodes: number, name, who may call, how it may be repeated,
// and who serves it. One table; a method that is not in it does not exist.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/net/rpc/rpc_frame.hpp"

namespace nomad::rpc {

using net::RpcPriority;

/// Sent as a number: never renumber, never reuse.
enum class Method : std::uint16_t {
  // every process
  status_ping = 1,
  status_leader = 2,
  status_peers = 3,

  // among servers
  raft_message = 10,  ///< One message of runtime/raft, in its own form.
  member_join = 11,   ///< 11 to 19: membership.
  member_exchange = 12,
  member_probe = 13,
  member_leave = 14,
  member_keyring = 15,   ///< An order of an operator about the keys of `encrypt`, sealed by one.
  server_has_node = 20,  ///< Whether that server holds the node's connection.
  server_write_sealed = 21,  ///< A command of the keyring, sealed by the asking server.
  server_ask_node = 22,      ///< A question to a client node that is connected to that server.

  // client nodes to servers, as releases before the door asked; served for one more release
  node_register = 30,
  node_update_status = 31,
  node_get_client_allocs = 32,
  node_update_alloc = 33,
  node_register_services = 34,
  node_deregister_services = 35,
  node_emit_events = 36,
  node_await_previous = 37,
  node_update_drain = 38,
  node_watch_data = 39,

  // client nodes and servers, by the door (actors/roles/node_door.hpp)
  node_ask = 40,       ///< A question that may be repeated freely.
  node_ask_once = 41,  ///< One that may not.
  node_question = 42,  ///< Of a server to the node (actors/roles/node_questions.hpp).

  // access
  access_resolve = 45,  ///< What a token gives, for processes that do not know tokens.
  region_rows = 46,     ///< What holds in all regions, for those that copy it.

  // requests of the HTTP API, sent on
  /// To a server: the leader, another region, or whoever reaches the node. Client nodes send on
  /// what
  /// users ask of them; the token in the request says what its sender may.
  api_forward = 50,
  api_on_node = 51,  ///< To a client node, over the connection that it keeps to a server.
};

/// May the caller send it again when it doesn't know whether it arrived?
enum class Repeat : std::uint8_t {
  freely,  ///< A read, or a write that says the same when done twice.
  if_surely_unsent,
};

/// Who serves it.
enum class Serve : std::uint8_t {
  here,       ///< Whoever gets it.
  on_leader,  ///< The leader of the region named in the request; others send it there.
};

/// Whom the router lets through, before any handler runs. Role and region are those of the
/// connection (PeerIdentity): with TLS a certificate made out to a role or a region never counts
/// for another. Without TLS both are claims, and what protects is that nobody else reaches the
/// port.
enum class Access : std::uint8_t {
  anyone,        ///< Handlers check tokens themselves.
  server,        ///< A server's connection, of whatever region.
  own_server,    ///< A connection of a server of this region.
  cluster_peer,  ///< A server's or client's connection: its certificate, where there is TLS.
  own_peer,      ///< The same, of this region.
  node,          ///< A client node, by its secret.
};

struct MethodInfo {
  Method method;
  std::string_view name;  ///< "Node.Register"
  Access access;
  Repeat repeat;
  Serve serve;
  bool one_way;
  RpcPriority priority;  ///< Unless the caller says otherwise.
};

/// Null for a number that is no method.
const MethodInfo* find_method(std::uint16_t number);

/// Of a method of the enumeration.
const MethodInfo& info(Method method);

}  // namespace nomad::rpc
