// Transport: how this process speaks to other processes, as a role. `tcp_transport.hpp` plays it
// on the network; a simulation plays it with messages of its own and virtual time. Nothing above
// knows which.
//
// Rules every player keeps:
//   - Each Call is answered by a Reply within its timeout and a little more. Only a Reply says
//     whether the peer may have acted (`Delivery`).
//   - Posts to one address, lane and priority arrive in the order in which they were sent, or are
//     lost; none arrives twice.
//   - Connections are made when somebody is called and kept. A process that cannot be reached
//     fails calls at once for a short while, so that nobody waits for a connect timeout each time.
//   - What arrives here goes to the process's MethodRouter (router.hpp), with what the connection
//     proves of the process at its other end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "actors/core/actor.hpp"
#include "actors/rpc/method.hpp"
#include "runtime/access/credentials.hpp"
#include "runtime/base/bytes.hpp"
#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::rpc {

using net::RpcRole;

/// Which of the connections to a process. Raft has one of its own, so that nothing queues before
/// its heartbeats.
enum class Lane : std::uint8_t { general, raft };

/// A process, by where it listens.
struct Destination {
  std::string address;  ///< "10.0.0.7:4647"
  Lane lane = Lane::general;
  std::string region = {};  ///< Expected of the process; empty: any.
};

using access::Credentials;

/// The place in a mailbox of what has this place on a connection.
inline actor::Priority in_mailbox(RpcPriority priority) {
  return priority == RpcPriority::urgent ? actor::Priority::urgent : actor::Priority::normal;
}

namespace transport {

/// What became of a call.
enum class Delivery : std::uint8_t {
  answered,    ///< The peer answered, by a value or an error of its own.
  surely_not,  ///< It never left: it can be sent elsewhere, whatever it is.
  maybe,       ///< It left and no answer came: the peer may or may not have acted.
};

struct Reply {
  using is_message = void;
  Reply() = default;

  // No aggregate, or `Result<Reply>` could not tell an Error from a Reply that holds one.
  Reply(Result<Bytes> what, Delivery how) : outcome{std::move(what)}, delivery{how} {}

  Result<Bytes> outcome = Error{};
  Delivery delivery = Delivery::answered;
};

/// A question to another process.
struct Call {
  using is_message = void;
  Destination to;
  Method method = Method::status_ping;
  Bytes body = {};
  std::chrono::milliseconds timeout{10'000};
  RpcPriority priority = RpcPriority::normal;
  Credentials credentials = {};
  std::string region = {};  ///< Where it is to be served; empty: the receiver's.
  std::uint8_t hops = 0;
  std::string remote = {};  ///< The first caller's address, when it is sent on.
  bool allow_stale = false;
  std::string target_node = {};  ///< Of `api_forward`: whom it is about.
};

/// The same to a client node, over the connection that it keeps to this process. `unavailable`
/// "No path to node" when there is none.
struct CallNode {
  using is_message = void;
  std::string node_id;
  Call call;  ///< `to` is unused.
};

/// A call with a byte stream beside it. The stream is there at once (bytes queue while the
/// connection is made); `done` is called exactly once, on any thread, and must be quick.
struct OpenStream {
  using is_message = void;
  Call call;
  std::string node_id = {};  ///< Not empty: to that client node instead of `call.to`.
  std::function<void(Reply)> done;
};

struct Opened {
  using is_message = void;
  std::shared_ptr<net::RpcStream> stream;
  std::function<void()> cancel;
};

/// One-way, for Raft and such.
struct Post {
  using is_message = void;
  Destination to;
  Method method = Method::raft_message;
  Bytes body = {};
  RpcPriority priority = RpcPriority::urgent;
  std::chrono::milliseconds timeout{1'000};

  /// Called once, on any thread, and to be quick: it was handed to the kernel; or `unavailable`,
  /// `overloaded`, `timeout` (it waited longer than `timeout` for a connection). Destroyed uncalled
  /// when the transport ends, or begins anew, first.
  std::function<void(Result<>)> done = {};

  /// Told of the connection that takes it, on the transport's thread: who posts a lot may go on
  /// there by itself, while it is open.
  std::function<void(const net::RpcConnectionRef&)> on_connection = {};
};

/// Whether this process holds a connection of that client node.
struct HasNode {
  using is_message = void;
  std::string node_id;
};

struct NodeConnected {
  using is_message = void;
  bool connected = false;
};

/// The connection over which `node_id` has just proven itself leads to it. From the handlers of
/// node methods; a way to call the node, never an identity.
struct NoteNode {
  using is_message = void;
  std::string node_id;
  net::RpcConnectionRef connection;
};

}  // namespace transport

using Transport = actor::Interface<transport::Reply(transport::Call),
                                   transport::Reply(transport::CallNode),
                                   transport::Opened(transport::OpenStream),
                                   void(transport::Post),
                                   transport::NodeConnected(transport::HasNode),
                                   void(transport::NoteNode)>;

/// As much of it as Raft needs.
using PostTransport = actor::Interface<void(transport::Post)>;

/// As much of it as those need who only ask.
using CallTransport = actor::Interface<transport::Reply(transport::Call)>;

}  // namespace nomad::rpc
