// Where a request is to be served: here, by the leader, in another region, on a client node. Pure.
#pragma once

#include <cstdint>

namespace nomad::api {

/// What an operation needs, as the route tables say it.
enum class Where : std::uint8_t {
  by_method,  ///< GET and HEAD: `state`; what changes something: `leader`.
  agent,      ///< The agent that was asked.
  server,     ///< Any server of the region.
  state,      ///< The leader, unless the client takes a stale answer: then any server.
  leader,
  authority,   ///< The leader of the region whose policies hold in all: what is global is written
               ///< there.
  alloc_node,  ///< The client node of the allocation that the path names.

  // The server that the request came to asks that node by the door; nothing is passed on to it.
  asked_node,        ///< The node of the parameter `node_id`; without it the agent's own,
  asked_body_node,   ///< the same; the body may name it as well, as "NodeID",
  asked_alloc_node,  ///< or of `alloc_node`.
  named,  ///< `asked_node`, or the server of the parameter `server_id`; 404 from any other.
};

struct Situation {
  Where where = Where::by_method;
  bool is_read = true;            ///< GET or HEAD.
  bool takes_stale = false;       ///< `?stale`
  bool other_region = false;      ///< It is another one's: `?region=` says so, or `authority`.
  bool has_server = true;         ///< This agent is a server.
  bool leads = true;              ///< That server leads and is ready.
  bool is_for_this_node = false;  ///< A server sent it to this client node.
};

enum class Destination : std::uint8_t {
  here,
  leader,  ///< The leader of this region.
  region,  ///< A server of the other region.
  server,  ///< A server of this region: this agent is none.
  node,    ///< A client node: here, if it is this agent's own.
};

/// Whether it is about a client node, which answers or is asked.
constexpr bool is_of_node(Where where) {
  return where >= Where::alloc_node;
}

constexpr Destination destination_of(const Situation& now) {
  if (now.where == Where::agent || now.is_for_this_node) return Destination::here;
  if (now.other_region) return now.has_server ? Destination::region : Destination::server;
  if (is_of_node(now.where)) return Destination::node;
  if (!now.has_server) return Destination::server;
  if (now.where == Where::server || now.leads) return Destination::here;
  const bool reads = now.where == Where::state || (now.where == Where::by_method && now.is_read);
  return reads && now.takes_stale ? Destination::here : Destination::leader;
}

}  // namespace nomad::api
