// NodeDoor: what client nodes and servers ask of each other, as a role. In a process with a server,
// actors of that server play it; across machines, the RPC layer does (client::RemoteServers on the
// node's side, server::NodeService on the servers'). Nobody else knows which. The questions and
// what they mean stand in schema/node_door.capnp; who may ask each, and who answers it, in the
// table here.
//
// Rules every player keeps:
//   - Each question is answered: by its reply, or by an Error. `unavailable` and `no_leader` mean
//     that nobody answers now: the asker tries again. `not_found` on a heartbeat means that the
//     node is not registered: the client registers anew. Anything else is tried again after its
//     ordinary delay.
//   - Objects are immutable and shared; nobody changes one.
//   - A node has at most one question of each kind open, except: one about the services of each
//     allocation, one awaitPrevious of each allocation, one watchData of each query.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/any_object.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/security/secret.hpp"
#include "schema/node_door.capnp.h"

namespace nomad::door {

/// Objects of the state that go with a question or an answer, in the order that its schema names.
using Rows = std::vector<AnyObject>;

/// The rows of objects of one kind.
template <class T>
Rows rows_of(const std::vector<Object<T>>& objects) {
  return {objects.begin(), objects.end()};
}

/// `rows` as objects of one kind; `corrupt` when one is none.
template <class T>
Result<std::vector<Object<T>>> objects_of(std::span<const AnyObject> rows) {
  std::vector<Object<T>> objects;
  objects.reserve(rows.size());
  for (const auto& row : rows)
    objects.push_back(NOMAD_TRY(row.as<T>()));
  return objects;
}

/// No question is held for longer, whatever it says.
inline constexpr std::chrono::milliseconds longest_wait{600'000};

struct Ask {
  using is_message = void;
  Object<schema::door::Ask> object;
  Rows rows{};

  auto operator->() const { return object.operator->(); }

  std::string subject() const { return copy(object->getSubject()); }

  std::chrono::milliseconds max_wait() const {
    return std::min(std::chrono::milliseconds{object->getMaxWaitMs()}, longest_wait);
  }
};

struct Reply {
  using is_message = void;
  Object<schema::door::Reply> object;
  Rows rows{};
  std::shared_ptr<const security::Secret> secret{};  ///< Wiped with the last reference.

  auto operator->() const { return object.operator->(); }
};

/// A question of node `subject`; `fill` gets its builder.
template <class Fill>
Ask make_ask(std::string_view subject, Fill fill, Rows rows = {}) {
  Draft<schema::door::Ask> draft;
  draft->setSubject(text(subject));
  fill(*draft);
  return {draft.freeze(), std::move(rows)};
}

/// An answer from the state at `index`; `fill` gets its builder.
template <class Fill>
Reply make_reply(std::uint64_t index, Fill fill, Rows rows = {}) {
  Draft<schema::door::Reply> draft;
  draft->setIndex(index);
  fill(*draft);
  return {draft.freeze(), std::move(rows)};
}

/// What was said is durable.
inline Reply done(std::uint64_t index) {
  return make_reply(index, [](auto& reply) { reply.setDone(); });
}

// -- the table of questions
// ------------------------------------------------------------------------

/// Who may ask. That the connection is one of this region's, its method says.
enum class Asker : std::uint8_t {
  anyone,       ///< Who is to become the node: its secret is judged with what is asked.
  node,         ///< The node by its secret. One that the servers do not know is told so.
  proven_node,  ///< The node by its secret, and the servers know it: the answer has secrets in it.
};

/// Which server answers.
enum class Serve : std::uint8_t {
  leader,        ///< The one that leads, as far as it knows: the log judges what it writes.
  leader_lease,  ///< The one that leads and is sure of it: what it says has every acknowledged
                 ///< write.
};

/// May it be asked again by who does not know whether it arrived?
enum class Repeat : std::uint8_t {
  freely,  ///< It reads, or says the same when it is said twice.
  if_surely_unsent,
};

/// Which actor of a server answers.
enum class ServerActor : std::uint8_t {
  heartbeat_tracker,
  node_endpoint,
  data_endpoint,
  identity_endpoint,
  volume_endpoint,
};

using Question = schema::door::Ask::Which;
using Answer = schema::door::Reply::Which;

struct QuestionInfo {
  Question question;
  std::string_view name;  ///< "watchAllocs", for logs.
  Answer answer;          ///< What it is answered by, and nothing else.
  Asker asker;
  Serve serve;
  Repeat repeat;
  bool urgent;  ///< Unless it says that it may wait.
  ServerActor actor;
  bool shows_way;  ///< Once it is answered, the node is reached over the connection it came by.
};

/// Null for a question of a newer release.
const QuestionInfo* find_question(Question question);

/// What a sender of `ask` goes by; never for one that is not in the table.
const QuestionInfo& info(const Ask& ask);

/// Whether it goes ahead of others.
bool is_urgent(const Ask& ask);

inline actor::Priority priority_of(const Ask& ask) {
  return is_urgent(ask) ? actor::Priority::urgent : actor::Priority::normal;
}

// -- between processes
// -----------------------------------------------------------------------------

/// The bytes of a Parcel: each row is copied once, as it is.
Bytes pack(const Ask& ask);
Bytes pack(const Reply& reply);

/// `corrupt` when they are none. The rows are checked when they are read, and share the bytes until
/// then.
Result<Ask> unpack_ask(const Bytes& bytes);
Result<Reply> unpack_reply(const Bytes& bytes);

}  // namespace nomad::door

namespace nomad {

using NodeDoor = actor::Interface<door::Reply(door::Ask)>;

}  // namespace nomad
