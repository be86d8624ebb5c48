#include "actors/rpc/tcp_transport.hpp"

#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/log.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::rpc {
namespace {

using namespace std::chrono_literals;
using transport::Call;
using transport::CallNode;
using transport::Delivery;
using transport::HasNode;
using transport::NodeConnected;
using transport::NoteNode;
using transport::Opened;
using transport::OpenStream;
using transport::Post;
using transport::Reply;

/// A dial is over.
struct Dialed {
  using is_message = void;
  Destination to;
  Result<net::RpcConnectionRef> outcome = Error{};
};

/// A connection has ended.
struct Closed {
  using is_message = void;
  net::RpcConnectionRef connection;
};

/// Time to give up what waits too long for a connection.
struct GiveUpDue {
  using is_message = void;
};

using TransportSelf = actor::WithInternal<Transport, void(Dialed), void(Closed), void(GiveUpDue)>;

constexpr auto sweep_interval = 100ms;

using Clock = net::RpcClock;

/// The first bytes of a request: who asks, and where it goes.
Bytes head_of(const Call& call) {
  return make_body<schema::rpc::RequestHead>([&](auto& head) {
    head.setRegion(text(call.region));
    head.setHops(call.hops);
    head.setToken(text(call.credentials.token));
    head.setNodeId(text(call.credentials.node_id));
    head.setNodeSecret(text(call.credentials.node_secret));
    head.setRemote(text(call.remote));
    head.setAllowStale(call.allow_stale);
    head.setTargetNode(text(call.target_node));
    head.setLimits(text(call.credentials.limits));
  });
}

net::RpcRequest request_of(const Call& call) {
  return {.method = static_cast<std::uint16_t>(call.method),
          .priority = call.priority,
          .timeout = call.timeout,
          .head = head_of(call),
          .body = call.body};
}

Reply reply_of(net::RpcReply reply) {
  const auto delivery = reply.by_peer    ? Delivery::answered
                        : reply.was_sent ? Delivery::maybe
                                         : Delivery::surely_not;
  return {std::move(reply.outcome), delivery};
}

/// What connects us with others. Outlives the actor's state: nobody else would find these again.
struct Connections {
  using Key = std::pair<std::string, Lane>;

  std::map<Key, net::RpcConnectionRef> dialed;
  std::unordered_map<std::string, net::RpcConnectionRef> nodes;

  /// The open one to there, or none.
  net::RpcConnectionRef to(const Key& key) const {
    const auto found = dialed.find(key);
    return found != dialed.end() && found->second->is_open() ? found->second : nullptr;
  }

  /// The open one of a client node, or none.
  net::RpcConnectionRef of_node(const std::string& id) const {
    const auto found = nodes.find(id);
    return found != nodes.end() && found->second->is_open() ? found->second : nullptr;
  }

  void forget(const net::RpcConnectionRef& connection) {
    std::erase_if(dialed, [&](const auto& entry) { return entry.second == connection; });
    std::erase_if(nodes, [&](const auto& entry) { return entry.second == connection; });
  }
};

/// A connection in the making, or that could not be made.
struct Dialing {
  bool is_under_way = false;
  Clock::time_point not_before = Clock::time_point::min();  ///< Of the next dial.
  Error last_failure;

  struct Waiting {
    Clock::time_point deadline;
    std::function<void(Result<net::RpcConnectionRef>)> go_on;
  };

  std::deque<Waiting> waiting;

  /// Nothing is lost when it is forgotten.
  bool is_idle(Clock::time_point now) const {
    return !is_under_way && waiting.empty() && now >= not_before;
  }
};

struct TransportState {
  static constexpr const char* name = "tcp_transport";

  using Self = TransportSelf::stateful_pointer<TransportState>;

  Self self = nullptr;
  Turns normal_turns;
  Turns urgent_turns;
  std::shared_ptr<net::RpcNetwork> network;
  std::chrono::milliseconds retry_after{250};
  std::size_t max_waiting = 4096;
  std::shared_ptr<Connections> connections;
  std::map<Connections::Key, Dialing> dials;
  std::unordered_map<std::uint64_t, actor::Promise<Reply>> calls;
  std::uint64_t last_call = 0;
  bool sweeping = false;

  /// Calls `go_on` with an open connection to there, as soon as there is one, or with why not.
  void with_connection(const Destination& to,
                       std::chrono::milliseconds patience,
                       std::function<void(Result<net::RpcConnectionRef>)> go_on) {
    if (const auto open = connections->to({to.address, to.lane})) return go_on(open);
    auto& dialing = dials[{to.address, to.lane}];
    const auto now = Clock::now();
    if (!dialing.is_under_way && now < dialing.not_before) return go_on(dialing.last_failure);
    if (dialing.waiting.size() >= max_waiting)
      return go_on(Error{Errc::overloaded, "too much waits for a connection to " + to.address});
    const auto limit = patience.count() > 0 ? patience : 60'000ms;
    dialing.waiting.push_back({now + limit, std::move(go_on)});
    if (!std::exchange(dialing.is_under_way, true)) dial(to);
    if (!std::exchange(sweeping, true)) actor::send_self_after(self, sweep_interval, GiveUpDue{});
  }

  void dial(const Destination& to) {
    const auto weak = actor::Weak<TransportSelf>{self};
    network->dial({.address = to.address,
                   .for_raft = to.lane == Lane::raft,
                   .role = RpcRole::server,
                   .region = to.region},
                  [weak, to](Result<net::RpcConnectionRef> outcome) {
                    if (auto strong = weak.lock())
                      actor::tell_urgent(strong, Dialed{to, std::move(outcome)});
                  });
  }

  void dialed(const Dialed& msg) {
    const Connections::Key key{msg.to.address, msg.to.lane};
    auto& dialing = dials[key];
    dialing.is_under_way = false;
    auto outcome = msg.outcome;
    if (!outcome) {
      dialing.last_failure = outcome.error();
      dialing.not_before = Clock::now() + retry_after;
    } else if (const auto other = connections->to(key)) {  // dialed before this actor began anew
      (*outcome)->close("there is another connection");
      outcome = other;
    } else {
      connections->dialed.insert_or_assign(key, *outcome);
    }
    for (auto& each : std::exchange(dialing.waiting, {}))
      each.go_on(outcome);
  }

  void sweep() {
    const auto now = Clock::now();
    for (auto& [key, dialing] : dials) {
      std::deque<Dialing::Waiting> left;
      for (auto& each : std::exchange(dialing.waiting, {}))
        if (now >= each.deadline)
          each.go_on(Error{Errc::timeout, "no connection to " + key.first + " in time"});
        else
          left.push_back(std::move(each));
      dialing.waiting = std::move(left);
    }
    std::erase_if(dials, [now](const auto& entry) { return entry.second.is_idle(now); });
    sweeping = !dials.empty();
    if (sweeping) actor::send_self_after(self, sweep_interval, GiveUpDue{});
  }

  // -- calls

  void put(const net::RpcConnectionRef& connection, const Call& call, std::uint64_t number) {
    const auto& turns = call.priority == RpcPriority::urgent ? urgent_turns : normal_turns;
    connection->call(request_of(call), turns.callback([this, number](net::RpcReply reply) {
      answered(number, reply_of(std::move(reply)));
    }));
  }

  actor::Answer<Reply> call(const Call& msg) {
    auto promise = self->make_response_promise<Reply>();
    const auto number = ++last_call;
    calls.emplace(number, promise);
    with_connection(msg.to, msg.timeout,
                    [this, number, msg](Result<net::RpcConnectionRef> connection) {
                      if (connection)
                        put(*connection, msg, number);
                      else
                        answered(number, {connection.error(), Delivery::surely_not});
                    });
    return promise;
  }

  actor::Answer<Reply> call_node(const CallNode& msg) {
    const auto node = connections->of_node(msg.node_id);
    if (!node) return Reply{Error{Errc::not_found, "No path to node"}, Delivery::surely_not};
    auto promise = self->make_response_promise<Reply>();
    const auto number = ++last_call;
    calls.emplace(number, promise);
    put(node, msg.call, number);
    return promise;
  }

  void answered(std::uint64_t number, Reply reply) {
    auto call = calls.extract(number);
    if (!call.empty()) call.mapped().deliver(std::move(reply));
  }

  actor::Answer<Opened> open(const OpenStream& msg) {
    const auto start = [](const net::RpcConnectionRef& connection, const OpenStream& what) {
      auto started = connection->call_with_stream(
          request_of(what.call),
          [done = what.done](net::RpcReply reply) { done(reply_of(std::move(reply))); });
      return Opened{std::move(started.stream), std::move(started.cancel)};
    };
    if (!msg.node_id.empty()) {
      const auto node = connections->of_node(msg.node_id);
      if (!node) return Error{Errc::not_found, "No path to node"};
      return start(node, msg);
    }
    auto promise = self->make_response_promise<Opened>();
    with_connection(msg.call.to, msg.call.timeout,
                    [promise, msg, start](Result<net::RpcConnectionRef> connection) mutable {
                      if (connection)
                        promise.deliver(start(*connection, msg));
                      else
                        promise.deliver(connection.error());
                    });
    return promise;
  }

  // -- posts

  void post(Post& msg) {
    if (!msg.done) msg.done = [](const Result<>&) {};
    const auto to = msg.to;
    const auto patience = msg.timeout;
    with_connection(
        to, patience,
        [post = std::make_shared<Post>(std::move(msg))](Result<net::RpcConnectionRef> connection) {
          if (!connection) return post->done(connection.error());
          if (post->on_connection) post->on_connection(*connection);
          (*connection)
              ->post({.method = static_cast<std::uint16_t>(post->method),
                      .priority = post->priority,
                      .head = {},
                      .body = std::move(post->body)},
                     std::move(post->done));
        });
  }
};

TransportSelf::behavior_type transport_actor(TransportState::Self self,
                                             std::shared_ptr<net::RpcNetwork> network,
                                             std::shared_ptr<Connections> connections,
                                             std::chrono::milliseconds retry_after,
                                             std::size_t max_waiting) {
  self->state.self = self;
  self->state.normal_turns = actor::turns_of(self);
  self->state.urgent_turns = actor::turns_of(self, actor::Priority::urgent);
  self->state.network = std::move(network);
  self->state.connections = std::move(connections);
  self->state.retry_after = retry_after;
  self->state.max_waiting = max_waiting;
  return {
      [self](const Call& msg) { return self->state.call(msg); },
      [self](const CallNode& msg) { return self->state.call_node(msg); },
      [self](const OpenStream& msg) { return self->state.open(msg); },
      [self](Post& msg) { self->state.post(msg); },
      [self](const HasNode& msg) {
        return NodeConnected{self->state.connections->of_node(msg.node_id) != nullptr};
      },
      [self](const NoteNode& msg) {
        if (msg.connection && msg.connection->is_open())
          self->state.connections->nodes[msg.node_id] = msg.connection;
      },
      [self](const Dialed& msg) { self->state.dialed(msg); },
      [self](const Closed& msg) { self->state.connections->forget(msg.connection); },
      [self](GiveUpDue) { self->state.sweep(); },
  };
}

// -- what arrives

/// The envelope of a request, from its checked head.
Result<Envelope> envelope_of(const net::RpcResponder& responder, const std::string& region) {
  const auto& request = responder.request();
  Envelope envelope;
  envelope.method = static_cast<Method>(request.method);
  envelope.priority = request.priority;
  envelope.deadline = responder.deadline();
  envelope.region = region;
  if (request.head.empty()) return envelope;
  const auto head = NOMAD_TRY(Object<schema::rpc::RequestHead>::from_bytes(request.head.view()));
  const auto fields = *head;
  if (fields.getRegion().size() > 0) envelope.region = copy(fields.getRegion());
  envelope.hops = fields.getHops();
  envelope.allow_stale = fields.getAllowStale();
  envelope.target_node = copy(fields.getTargetNode());
  envelope.credentials = {copy(fields.getToken()), copy(fields.getNodeId()),
                          copy(fields.getNodeSecret()), copy(fields.getLimits())};
  envelope.first_remote = copy(fields.getRemote());
  return envelope;
}

void serve(const MethodRouter& router, net::RpcResponder given) {
  const auto responder = std::make_shared<net::RpcResponder>(std::move(given));
  auto envelope = envelope_of(*responder, router.region());
  if (!envelope) {
    log::warn("rpc", "refused a request",
              {{"peer", responder->connection()->peer().remote}, {"error", envelope.error()}});
    return responder->fail(envelope.error());
  }
  Inbound inbound;
  inbound.envelope = std::move(*envelope);
  inbound.body = responder->request().body;
  inbound.connection = responder->connection();
  inbound.stream = responder->stream();
  inbound.on_cancelled = [responder](std::function<void()> callback) {
    responder->on_cancelled(std::move(callback));
  };
  inbound.reply = ReplyTo{[responder](Result<Bytes> outcome) {
    if (outcome)
      responder->respond(std::move(*outcome));
    else
      responder->fail(outcome.error());
  }};
  router.serve(responder->connection()->peer(), std::move(inbound));
}

}  // namespace

// -- TcpTransport

struct TcpTransport::Parts {
  std::shared_ptr<net::RpcNetwork> network;
  Transport handle;
  std::string address;
};

TcpTransport::TcpTransport(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}

TcpTransport::TcpTransport(TcpTransport&&) noexcept = default;
TcpTransport& TcpTransport::operator=(TcpTransport&&) noexcept = default;

TcpTransport::~TcpTransport() {
  if (parts_) stop();
}

Result<TcpTransport> TcpTransport::start(const actor::Owner& owner,
                                         TcpTransportOptions options,
                                         std::shared_ptr<const MethodRouter> router) {
  auto parts = std::make_unique<Parts>();
  // Set before the first connection can end: nothing is dialed or accepted before.
  const auto listener = std::make_shared<actor::Weak<TransportSelf>>();
  net::RpcCallbacks callbacks;
  callbacks.on_request
      = [router](net::RpcResponder responder) { serve(*router, std::move(responder)); };
  callbacks.on_closed = [listener](const net::RpcConnectionRef& connection, const Error&) {
    if (auto strong = listener->lock()) actor::tell(strong, Closed{connection});
  };
  parts->network = NOMAD_TRY(net::RpcNetwork::start(options.network, std::move(callbacks)));
  const auto handle = actor::spawn<actor::Policy::restart>(
      owner, transport_actor, parts->network, std::make_shared<Connections>(), options.retry_after,
      options.max_waiting);
  parts->handle = handle;
  *listener = actor::weak(handle);
  TcpTransport transport{std::move(parts)};
  if (options.listen.empty()) return transport;
  transport.parts_->address = NOMAD_TRY(transport.parts_->network->listen(options.listen));
  if (options.also_listen.empty()) return transport;
  if (const auto second = transport.parts_->network->listen(options.also_listen); !second)
    log::warn("rpc", "cannot listen on the second address",
              {{"address", options.also_listen}, {"error", second.error()}});
  return transport;
}

const Transport& TcpTransport::handle() const {
  return parts_->handle;
}

const std::string& TcpTransport::address() const {
  return parts_->address;
}

void TcpTransport::stop() {
  if (!parts_->network) return;
  parts_->network->stop();
  actor::stop(parts_->handle);
  parts_->handle = Transport{};
  parts_->network = nullptr;
}

}  // namespace nomad::rpc
