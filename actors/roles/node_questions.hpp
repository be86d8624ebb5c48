// What servers ask of client nodes: the other direction of the door (node_door.hpp). In the process
// of the node its Client actor answers; on a server rpc::NodeCaller does, for every node that some
// server of the region reaches. Nobody else knows which. The questions and what they mean stand in
// schema/node_door.capnp; who may ask each, and which part of the client answers it, in the table
// here.
//
// Rules every player keeps:
//   - Each question is answered: by its reply, or by an Error. `not_found` means that nothing was
//     done: the node does not have what is asked of, no server reaches it, or it is of a release
//     that does not know the question.
//   - Who asks is judged by the node, with the namespace of its own record of what is asked of.
//     Between processes his token and the address that he asked from go along, nothing else of him.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "actors/roles/node_door.hpp"
#include "runtime/access/authorize.hpp"

namespace nomad::door {

struct NodeAsk {
  using is_message = void;
  Object<schema::door::NodeAsk> object;
  access::Principal who;
  Rows rows{};
  bool passed_on = false;  ///< By another server, which has looked for the node everywhere.

  auto operator->() const { return object.operator->(); }

  std::string subject() const { return copy(object->getSubject()); }
};

struct NodeReply {
  using is_message = void;
  Object<schema::door::NodeReply> object;
  Rows rows{};

  auto operator->() const { return object.operator->(); }
};

/// A question to node `subject`; `fill` gets its builder.
template <class Fill>
NodeAsk make_node_ask(std::string_view subject, access::Principal who, Fill fill, Rows rows = {}) {
  Draft<schema::door::NodeAsk> draft;
  draft->setSubject(text(subject));
  fill(*draft);
  return {draft.freeze(), std::move(who), std::move(rows)};
}

/// An answer; `fill` gets its builder.
template <class Fill>
NodeReply make_node_reply(Fill fill, Rows rows = {}) {
  Draft<schema::door::NodeReply> draft;
  fill(*draft);
  return {draft.freeze(), std::move(rows)};
}

/// It is done.
inline NodeReply node_done() {
  return make_node_reply([](auto& reply) { reply.setDone(); });
}

/// Which actor of a client answers.
enum class ClientActor : std::uint8_t {
  alloc_runner,  ///< The runner of the allocation.
  allocs,
  metadata,
  metrics,
  volumes,
};

/// How long a node has for an answer.
inline constexpr std::chrono::seconds node_patience{60};

/// The same of what storage plugins do, which have two minutes for each call.
inline constexpr std::chrono::seconds csi_patience{130};

using NodeQuestion = schema::door::NodeAsk::Which;
using NodeAnswer = schema::door::NodeReply::Which;

struct NodeQuestionInfo {
  NodeQuestion question;
  std::string_view name;  ///< "restartTasks", for logs.
  NodeAnswer answer;      ///< What it is answered by, and nothing else.
  /// What who asks must be able to do. `none`: servers ask it for themselves. No user can: both
  /// methods that bring questions are of servers of the region alone, and no endpoint passes this
  /// one on; a server that asks it for a user has judged him.
  access::Capability needed;
  Repeat repeat;
  actor::Priority priority;
  ClientActor actor;
  std::chrono::seconds patience = node_patience;
};

/// Null for a question of a newer release.
const NodeQuestionInfo* find_question(NodeQuestion question);

/// Of a question that is in the table.
const NodeQuestionInfo& info(const NodeAsk& ask);

/// Who asks, and what he must be able to do.
inline access::Asking asking(const NodeAsk& ask) {
  return {ask.who, info(ask).needed};
}

/// As of the questions to servers. Whoever receives one says who asks.
Bytes pack(const NodeAsk& ask);
Bytes pack(const NodeReply& reply);
Result<NodeAsk> unpack_node_ask(const Bytes& bytes, access::Principal who);
Result<NodeReply> unpack_node_reply(const Bytes& bytes);

}  // namespace nomad::door

namespace nomad {

using AskedNode = actor::Interface<door::NodeReply(door::NodeAsk)>;

}  // namespace nomad
