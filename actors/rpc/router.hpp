// MethodRouter: which handler serves which method, and who gets through to it. Filled once at the
// start, then immutable and shared by all connections; the network and the simulation both hand
// what arrives to `serve`.
//
// No handler can be written without a Caller, or the Principal that he is: it is the first
// parameter of every kind of handler, and the router has had it from the Authenticator
// (runtime/access), and checked the method's `Access`, before it calls. Requests that another
// server must serve go to the Forwarder (forwarder.hpp) instead of the handler: that server looks
// up what the token gives. Here it is looked up before the handler runs, which may be later, if the
// handler takes a Principal: a token that is none, or of which nobody can say anything, keeps no
// other method from running. Methods that pass on what users ask look up when they know what it is.
//
// Bodies are Cap'n Proto in flat form and pass a full check before a handler sees them.
//
// Threads: `serve` runs on the thread that received the request (an I/O thread, or the simulation's
// only one). Handlers must be quick: they tell or ask an actor, and answer from there, once, from
// any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "actors/rpc/transport.hpp"
#include "runtime/access/authenticator.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::rpc {

using access::Caller;

/// What came with a request besides its body and its caller.
struct Envelope {
  Method method = Method::status_ping;
  RpcPriority priority = RpcPriority::normal;
  net::RpcClock::time_point deadline = net::RpcClock::time_point::max();
  std::string region;  ///< Where it is to be served; never empty.
  std::uint8_t hops = 0;
  bool allow_stale = false;
  std::string target_node;
  Credentials credentials;        ///< As they came. Who that is stands in the Caller.
  std::string first_remote = {};  ///< Where a request that was sent on came from first.

  /// What is left of the deadline.
  std::chrono::milliseconds time_left() const;
};

/// The way back. Copies share one answer: the first counts. When the last copy goes unanswered,
/// the caller gets `internal`.
class ReplyTo {
public:
  using Send = std::function<void(Result<Bytes>)>;

  ReplyTo() = default;
  explicit ReplyTo(Send send);

  void operator()(Result<Bytes> outcome) const;

private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A request as the player of Transport received it.
struct Inbound {
  Envelope envelope;
  Bytes body;
  ReplyTo reply;  ///< Of a one-way request: goes nowhere.

  // On the network only:
  net::RpcConnectionRef connection = {};        ///< Null in a simulation.
  std::shared_ptr<net::RpcStream> stream = {};  ///< The byte stream of the request, if any.
  std::function<void(std::function<void()>)> on_cancelled = {};  ///< Sets who is told.
};

/// The bytes of an object, sharing it.
template <class T>
Bytes bytes_of(const Object<T>& object) {
  auto owner = std::make_shared<const Object<T>>(object);
  const auto view = owner->bytes();
  return {std::move(owner), view};
}

/// A body made by `fill`, which gets the builder of a `T`.
template <class T, class Fill>
Bytes make_body(Fill fill) {
  Draft<T> draft;
  fill(*draft);
  return bytes_of(draft.freeze());
}

/// A typed way back.
template <class Reply>
class Answer {
public:
  explicit Answer(ReplyTo reply) : reply_{std::move(reply)} {}

  void operator()(Result<Object<Reply>> outcome) const {
    if (!outcome) return reply_(outcome.error());
    reply_(bytes_of(*outcome));
  }

  /// A reply made by `fill`, which gets its builder.
  template <class Fill>
  requires std::is_invocable_v<Fill, typename Reply::Builder&>

  void with(Fill fill) const {
    Draft<Reply> draft;
    fill(*draft);
    (*this)(draft.freeze());
  }

private:
  ReplyTo reply_;
};

/// When what a Principal may do by his token is found out.
enum class LookUp : std::uint8_t {
  first,       ///< Before the handler; who shows a token that is none is refused.
  by_handler,  ///< The handler has a Principal without rights, and looks up if it needs any.
};

/// Takes a request that must be served elsewhere, and answers it.
using Forward = std::function<void(const Caller&, Inbound)>;

class MethodRouter {
public:
  using OneWay = std::function<void(const Caller&, Bytes)>;

  /// `region` is this process's own.
  MethodRouter(std::string region, std::shared_ptr<access::Authenticator> authenticator)
      : region_{std::move(region)}, authenticator_{std::move(authenticator)} {}

  /// `handler(const Caller&, Object<Request>, Answer<Reply>)`.
  template <class Request, class Reply, class Handler>
  void on(Method method, Handler handler) {
    static_assert(std::is_invocable_v<Handler, const Caller&, Object<Request>, Answer<Reply>>);
    on_raw(method, [handler = std::move(handler)](const Caller& caller, Inbound inbound) {
      auto request = Object<Request>::from_bytes(inbound.body.view());
      if (!request) return inbound.reply(request.error());
      handler(caller, std::move(*request), Answer<Reply>{std::move(inbound.reply)});
    });
  }

  /// The same with the whole Inbound, whose body is taken out: for deadline, connection, stream.
  /// Its caller may be a Principal.
  template <class Request, class Handler>
  void on_inbound(Method method, Handler handler, LookUp look_up = LookUp::first) {
    constexpr bool takes_principal
        = std::is_invocable_v<Handler, const access::Principal&, Object<Request>, Inbound>;
    using Who = std::conditional_t<takes_principal, access::Principal, Caller>;
    on_raw(
        method,
        [handler = std::move(handler)](const Who& who, Inbound inbound) {
          auto request = Object<Request>::from_bytes(inbound.body.view());
          if (!request) return inbound.reply(request.error());
          handler(who, std::move(*request), std::move(inbound));
        },
        look_up);
  }

  /// A one-way method. The bytes are unchecked: the handler must check them.
  void on_one_way(Method method, OneWay handler);

  /// `handler(const Caller&, Inbound)`, or `handler(const access::Principal&, Inbound)`.
  template <class Handler>
  void on_raw(Method method, Handler handler, LookUp look_up = LookUp::first) {
    if constexpr (std::is_invocable_v<Handler, const access::Principal&, Inbound>)
      add(method, {std::move(handler), look_up});
    else
      add(method, {[handler = std::move(handler)](const access::Principal& who, Inbound inbound) {
                     handler(who.caller(), std::move(inbound));
                   },
                   LookUp::by_handler});
  }

  /// Without it, requests for elsewhere fail with "No path to region" or "No cluster leader".
  void set_forward(Forward forward) { forward_ = std::move(forward); }

  /// From now on nobody is the agent that he says to be whose certificate does not prove it: the
  /// role of each call is its connection's certificate's (`tls.verify_server_hostname`).
  void require_proof() { requires_proof_ = true; }

  /// Whether a method of `Serve::on_leader` may run here now. Without it: always.
  void set_is_leader(std::function<bool()> is_leader) { is_leader_ = std::move(is_leader); }

  /// Checks and runs what came over a connection to `peer`. Unknown methods, callers without access
  /// and bodies that are no message get an error, and a log line that names the caller.
  void serve(const net::RpcPeer& peer, Inbound inbound) const;

  const std::string& region() const { return region_; }

private:
  struct Handle {
    std::function<void(const access::Principal&, Inbound)> run;
    LookUp look_up;
  };

  void add(Method method, Handle handler);
  bool is_for_elsewhere(const MethodInfo& method, const Inbound& inbound) const;

  std::string region_;
  std::shared_ptr<access::Authenticator> authenticator_;
  std::unordered_map<std::uint16_t, std::shared_ptr<const Handle>> handlers_;
  Forward forward_;
  std::function<bool()> is_leader_;
  bool requires_proof_ = false;
};

/// Whether `caller` may call a method of that access in a process of `own_region`.
bool may_call(const Caller& caller, Access access, const std::string& own_region);

}  // namespace nomad::rpc
