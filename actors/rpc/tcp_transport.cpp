#include "actors/rpc/tcp_transport.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/secret.hpp"
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

/// The answer of call `number` is here, on the I/O thread's say.
struct Answered {
  using is_message = void;
  std::uint64_t number = 0;
  Reply reply;
};

/// Time to give up what waits too long for a connection.
struct Sweep {
  using is_message = void;
};

using TransportSelf
    = actor::WithInternal<Transport, void(Dialed), void(Closed), void(Answered), void(Sweep)>;

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

/// A process that we reach by its address: its connection, or what waits for it.
struct Pooled {
  net::RpcConnectionRef connection;
  bool dialing = false;
  Clock::time_point not_before = Clock::time_point::min();  ///< Of the next dial.
  Error last_failure;

  struct Waiting {
    Clock::time_point deadline;
    std::function<void(Result<net::RpcConnectionRef>)> go_on;
  };

  std::deque<Waiting> waiting;

  /// Nothing is lost when it is forgotten.
  bool is_idle(Clock::time_point now) const {
    return !connection && !dialing && waiting.empty() && now >= not_before;
  }
};

struct TransportState {
  static constexpr const char* name = "tcp_transport";

  using Self = TransportSelf::stateful_pointer<TransportState>;
  using Key = std::pair<std::string, Lane>;

  Self self = nullptr;
  std::shared_ptr<net::RpcNetwork> network;
  std::chrono::milliseconds retry_after{250};
  std::size_t max_waiting = 4096;
  std::map<Key, Pooled> pool;
  std::unordered_map<std::string, net::RpcConnectionRef> nodes;
  std::unordered_map<std::uint64_t, actor::Promise<Reply>> calls;
  bool sweeping = false;

  /// Of the process: an actor that began anew must not take an answer to what it asked before.
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  /// Calls `go_on` with an open connection to there, as soon as there is one, or with why not.
  void with_connection(const Destination& to,
                       std::chrono::milliseconds patience,
                       std::function<void(Result<net::RpcConnectionRef>)> go_on) {
    auto& pooled = pool[{to.address, to.lane}];
    if (pooled.connection && pooled.connection->is_open()) return go_on(pooled.connection);
    pooled.connection = nullptr;
    const auto now = Clock::now();
    if (!pooled.dialing && now < pooled.not_before) return go_on(pooled.last_failure);
    if (pooled.waiting.size() >= max_waiting)
      return go_on(Error{Errc::overloaded, "too much waits for a connection to " + to.address});
    const auto limit = patience.count() > 0 ? patience : 60'000ms;
    pooled.waiting.push_back({now + limit, std::move(go_on)});
    if (!std::exchange(pooled.dialing, true)) dial(to);
    if (!std::exchange(sweeping, true)) actor::send_self_after(self, sweep_interval, Sweep{});
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
    auto& pooled = pool[{msg.to.address, msg.to.lane}];
    pooled.dialing = false;
    if (msg.outcome) {
      pooled.connection = *msg.outcome;
    } else {
      pooled.last_failure = msg.outcome.error();
      pooled.not_before = Clock::now() + retry_after;
    }
    for (auto& each : std::exchange(pooled.waiting, {}))
      each.go_on(msg.outcome);
  }

  void sweep() {
    const auto now = Clock::now();
    bool any = false;
    for (auto& [key, pooled] : pool) {
      std::deque<Pooled::Waiting> left;
      for (auto& each : std::exchange(pooled.waiting, {}))
        if (now >= each.deadline)
          each.go_on(Error{Errc::timeout, "no connection to " + key.first + " in time"});
        else
          left.push_back(std::move(each));
      pooled.waiting = std::move(left);
      any |= !pooled.connection;
    }
    std::erase_if(pool, [now](const auto& entry) { return entry.second.is_idle(now); });
    sweeping = any;
    if (any) actor::send_self_after(self, sweep_interval, Sweep{});
  }

  void closed(const Closed& msg) {
    for (auto& [key, pooled] : pool)
      if (pooled.connection == msg.connection) pooled.connection = nullptr;
    std::erase_if(pool,
                  [now = Clock::now()](const auto& entry) { return entry.second.is_idle(now); });
    std::erase_if(nodes, [&](const auto& entry) { return entry.second == msg.connection; });
  }

  // -- calls

  void put(const net::RpcConnectionRef& connection, const Call& call, std::uint64_t number) {
    const auto weak = actor::Weak<TransportSelf>{self};
    const bool is_urgent = call.priority == RpcPriority::urgent;
    connection->call(request_of(call), [weak, number, is_urgent](net::RpcReply reply) {
      auto strong = weak.lock();
      if (!strong) return;
      const auto to = strong;
      if (is_urgent)
        actor::tell_urgent(to, Answered{number, reply_of(std::move(reply))});
      else
        actor::tell(to, Answered{number, reply_of(std::move(reply))});
    });
  }

  actor::Answer<Reply> call(const Call& msg) {
    auto promise = self->make_response_promise<Reply>();
    const auto number = next_number();
    calls.emplace(number, promise);
    with_connection(msg.to, msg.timeout,
                    [this, number, msg](Result<net::RpcConnectionRef> connection) {
                      if (connection)
                        put(*connection, msg, number);
                      else
                        answered({number, {connection.error(), Delivery::surely_not}});
                    });
    return promise;
  }

  actor::Answer<Reply> call_node(const CallNode& msg) {
    const auto node = nodes.find(msg.node_id);
    if (node == nodes.end() || !node->second->is_open())
      return Reply{Error{Errc::not_found, "No path to node"}, Delivery::surely_not};
    auto promise = self->make_response_promise<Reply>();
    const auto number = next_number();
    calls.emplace(number, promise);
    put(node->second, msg.call, number);
    return promise;
  }

  void answered(const Answered& msg) {
    auto call = calls.extract(msg.number);
    if (!call.empty()) call.mapped().deliver(msg.reply);
  }

  actor::Answer<Opened> open(const OpenStream& msg) {
    const auto start = [](const net::RpcConnectionRef& connection, const OpenStream& what) {
      auto started = connection->call_with_stream(
          request_of(what.call),
          [done = what.done](net::RpcReply reply) { done(reply_of(std::move(reply))); });
      return Opened{std::move(started.stream), std::move(started.cancel)};
    };
    if (!msg.node_id.empty()) {
      const auto node = nodes.find(msg.node_id);
      if (node == nodes.end() || !node->second->is_open())
        return Error{Errc::not_found, "No path to node"};
      return start(node->second, msg);
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
                                             std::chrono::milliseconds retry_after,
                                             std::size_t max_waiting) {
  self->state.self = self;
  self->state.network = std::move(network);
  self->state.retry_after = retry_after;
  self->state.max_waiting = max_waiting;
  return {
      [self](const Call& msg) { return self->state.call(msg); },
      [self](const CallNode& msg) { return self->state.call_node(msg); },
      [self](const OpenStream& msg) { return self->state.open(msg); },
      [self](Post& msg) { self->state.post(msg); },
      [self](const HasNode& msg) {
        const auto node = self->state.nodes.find(msg.node_id);
        return NodeConnected{node != self->state.nodes.end() && node->second->is_open()};
      },
      [self](const NoteNode& msg) {
        if (msg.connection && msg.connection->is_open())
          self->state.nodes[msg.node_id] = msg.connection;
      },
      [self](const Dialed& msg) { self->state.dialed(msg); },
      [self](const Closed& msg) { self->state.closed(msg); },
      [self](const Answered& msg) { self->state.answered(msg); },
      [self](Sweep) { self->state.sweep(); },
  };
}

// -- what arrives

/// The envelope of a request, from its checked head.
Result<Envelope> envelope_of(const net::RpcResponder& responder,
                             const std::string& region,
                             std::string& remote) {
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
  envelope.credentials
      = {copy(fields.getToken()), copy(fields.getNodeId()), copy(fields.getNodeSecret())};
  remote = copy(fields.getRemote());
  return envelope;
}

void serve(const MethodRouter& router, const Identify& identify, net::RpcResponder given) {
  const auto responder = std::make_shared<net::RpcResponder>(std::move(given));
  std::string remote;
  auto envelope = envelope_of(*responder, router.region(), remote);
  if (!envelope) {
    log::warn("rpc", "refusing a request of {}: {}", responder->connection()->peer().remote,
              envelope.error().what);
    return responder->fail(envelope.error());
  }
  auto caller = identify(responder->connection()->peer(), envelope->credentials);
  if (!remote.empty() && caller.is_server()) caller.remote = remote;
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
  router.serve(caller, std::move(inbound));
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
                                         std::shared_ptr<const MethodRouter> router,
                                         Identify identify) {
  auto parts = std::make_unique<Parts>();
  // Set before the first connection can end: nothing is dialed or accepted before.
  const auto listener = std::make_shared<actor::Weak<TransportSelf>>();
  net::RpcCallbacks callbacks;
  callbacks.on_request = [router, identify](net::RpcResponder responder) {
    serve(*router, identify, std::move(responder));
  };
  callbacks.on_closed = [listener](const net::RpcConnectionRef& connection, const Error&) {
    if (auto strong = listener->lock()) actor::tell(strong, Closed{connection});
  };
  parts->network = NOMAD_TRY(net::RpcNetwork::start(options.network, std::move(callbacks)));
  const auto handle = actor::spawn<actor::Policy::restart>(
      owner, transport_actor, parts->network, options.retry_after, options.max_waiting);
  parts->handle = handle;
  *listener = actor::weak(handle);
  TcpTransport transport{std::move(parts)};
  if (options.listen.empty()) return transport;
  transport.parts_->address = NOMAD_TRY(transport.parts_->network->listen(options.listen));
  if (options.also_listen.empty()) return transport;
  if (const auto second = transport.parts_->network->listen(options.also_listen); !second)
    log::warn("rpc", "not listening on {}: {}", options.also_listen, second.error().what);
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

Caller identify(const net::RpcPeer& peer,
                const Credentials& credentials,
                const std::function<std::string(const std::string& node_id)>& known_secret) {
  Caller caller;
  caller.remote = peer.remote;
  const auto wanted = net::certificate_name(peer.hello.role, peer.hello.region);
  caller.peer = access::PeerIdentity{peer.hello.role, peer.hello.region,
                                     peer.is_tls && peer.certificate.has(wanted)};
  if (!credentials.node_id.empty() && !credentials.node_secret.empty()
      && same_secret(known_secret(credentials.node_id), credentials.node_secret))
    caller.node = access::NodeIdentity{credentials.node_id};
  if (!credentials.token.empty()) caller.token = access::TokenIdentity{credentials.token};
  return caller;
}

}  // namespace nomad::rpc
