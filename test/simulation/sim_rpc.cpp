#include "test/simulation/sim_rpc.hpp"

#include <utility>

#include "test/mistakes/mistake.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using rpc::transport::Call;
using rpc::transport::CallNode;
using rpc::transport::Delivery;
using rpc::transport::HasNode;
using rpc::transport::NodeConnected;
using rpc::transport::NoteNode;
using rpc::transport::Opened;
using rpc::transport::OpenStream;
using rpc::transport::Post;
using rpc::transport::Reply;

namespace {

using TransportSelf = actor::WithInternal<rpc::Transport, void(Run)>;

/// How often a caller looks whether its connection is still there.
constexpr Time look_interval = 200ms;

Reply unreachable(std::string what) {
  return {Error{Errc::unavailable, std::move(what)}, Delivery::surely_not};
}

}  // namespace

/// A call on its way. What goes each way arrives in the order in which it was sent.
struct SimRpc::Open {
  /// One end of the byte stream.
  struct End {
    std::function<void(Bytes bytes, bool last)> on_data;
    std::vector<std::pair<Bytes, bool>> kept;  ///< What came before somebody listened.

    void take(Bytes bytes, bool last) {
      if (const auto listener = on_data)
        listener(std::move(bytes), last);
      else
        kept.emplace_back(std::move(bytes), last);
    }
  };

  Machine from;
  std::uint64_t life;  ///< Of `from`.
  Door door;
  net::RpcHello hello;
  Call call;
  std::optional<Time> deadline;
  std::function<void(Reply)> done;
  bool has_stream = false;
  End asking, serving;
  std::function<void()> on_cancelled;
  Time last_there{0};  ///< Arrivals.
  Time last_back{0};
  bool is_broken = false;  ///< Something was lost: nothing arrives any more.
  bool is_over = false;
};

/// One end of a call's byte stream, without windows: what is sent in a simulation is small.
class SimRpc::Stream : public net::RpcStream {
public:
  Stream(SimRpc& rpc, OpenCall open, bool is_serving)
      : rpc_(rpc), open_(std::move(open)), is_serving_(is_serving) {}

  bool write(Bytes bytes) override { return send(std::move(bytes), false); }

  void end() override { send({}, true); }

  void on_data(std::function<void(Bytes, bool)> callback) override {
    auto& own = is_serving_ ? open_->serving : open_->asking;
    own.on_data = std::move(callback);
    for (auto& [bytes, last] : std::exchange(own.kept, {}))
      own.take(std::move(bytes), last);
  }

  void taken(std::size_t) override {}

  void on_writable(std::function<void()>) override {}

  void on_closed(std::function<void()>) override {}

private:
  bool send(Bytes bytes, bool last) {
    if (open_->is_over) return false;
    rpc_.pass(open_, is_serving_, [open = open_, serves = is_serving_, bytes, last] {
      if (!open->is_over) (serves ? open->asking : open->serving).take(bytes, last);
    });
    return true;
  }

  SimRpc& rpc_;
  OpenCall open_;
  bool is_serving_;
};

void SimRpc::shut_down() {
  for (const auto& each : streams_) {
    const auto open = each.lock();
    if (!open) continue;
    close(*open);
    // An answer that waits for a broken stream holds itself until it hears of the break.
    if (const auto cancelled = std::exchange(open->on_cancelled, nullptr)) cancelled();
  }
}

void SimRpc::listen(const std::string& address,
                    Machine machine,
                    std::shared_ptr<const rpc::MethodRouter> router) {
  doors_.insert_or_assign(address, Door{machine, system_.life(machine), std::move(router)});
}

rpc::Transport SimRpc::spawn(const actor::Owner& owner,
                             Machine machine,
                             const net::RpcHello& hello) {
  const auto transport
      = [this, machine, hello](TransportSelf::pointer self) -> TransportSelf::behavior_type {
    return {
        [this, machine, hello, self](const Call& msg) -> actor::Answer<Reply> {
          auto promise = self->make_response_promise<Reply>();
          call(machine, hello, msg, false,
               [handle = TransportSelf{self}, promise](const Reply& reply) {
                 actor::tell(handle, Run{[promise, reply]() mutable { promise.deliver(reply); }});
               });
          return promise;
        },
        [](const CallNode&) { return unreachable("No path to node"); },
        [this, machine, hello](const OpenStream& msg) { return open_stream(machine, hello, msg); },
        [](const Post&) {},  // Raft has a carrier of its own
        [](const HasNode&) { return NodeConnected{false}; },
        [](const NoteNode&) {},
        [](const Run& msg) { msg.action(); },
    };
  };
  return system_.own(machine, rpc::Transport{actor::spawn(owner, transport)});
}

SimRpc::OpenCall SimRpc::call(Machine from,
                              const net::RpcHello& hello,
                              const Call& call,
                              bool has_stream,
                              std::function<void(Reply)> done) {
  ++counts_.calls;
  if (call.method == rpc::Method::api_forward) ++counts_.passed_on;
  const auto found = doors_.find(call.to.address);
  const bool listens = found != doors_.end() && system_.is_on(found->second.machine)
                       && system_.life(found->second.machine) == found->second.life;
  auto open = std::make_shared<Open>();
  open->from = from;
  open->life = system_.life(from);
  open->hello = hello;
  open->call = call;
  open->done = std::move(done);
  open->has_stream = has_stream;
  if (!listens) {
    ++counts_.refused;
    system_.at(system_.now() + network_.delay(200us, 5ms),
               [this, open] { finish(*open, unreachable("connection refused")); });
    return open;
  }
  open->door = found->second;
  if (call.timeout.count() > 0) open->deadline = system_.now() + call.timeout;
  pass(open, false, [this, open] { serve(open); });
  watch(open);
  return open;
}

Opened SimRpc::open_stream(Machine from, const net::RpcHello& hello, const OpenStream& msg) {
  const auto open = call(from, hello, msg.call, true, msg.done);
  streams_.push_back(open);
  return {std::make_shared<Stream>(*this, open, false), [this, open] {
            if (open->is_over) return;
            open->is_over = true;
            pass(open, false, [open] {
              if (open->on_cancelled) open->on_cancelled();
            });
            close(*open);
          }};
}

/// Towards the one that serves, or back with its answer. What is lost breaks the connection.
void SimRpc::pass(const OpenCall& open, bool is_answer, const std::function<void()>& arrive) {
  auto from = open->from;
  auto to = open->door.machine;
  if (is_answer) std::swap(from, to);
  if (open->is_broken || system_.life(from) != (is_answer ? open->door.life : open->life)) return;
  auto& last = is_answer ? open->last_back : open->last_there;
  const auto lost = [this, open, is_answer] {
    // Who waits for an answer hears of its loss later than who asks.
    const auto late = is_answer ? network_.delay(100ms, 3s) : Time{0};
    system_.at(system_.now() + late, [this, open] { lose(open); });
  };
  const auto arrival = network_.ask(from, to, false, arrive, lost, last);
  open->is_broken = !arrival;
  last = arrival.value_or(last);
}

/// As code of the machine that was asked.
void SimRpc::serve(const OpenCall& open) {
  const auto& call = open->call;
  const auto& router = *open->door.router;
  rpc::Inbound inbound;
  inbound.envelope = {.method = call.method,
                      .priority = call.priority,
                      .region = call.region.empty() ? router.region() : call.region,
                      .hops = call.hops,
                      .allow_stale = call.allow_stale,
                      .target_node = call.target_node,
                      .credentials = call.credentials,
                      .first_remote = call.remote};
  if (open->deadline) inbound.envelope.deadline = net::RpcClock::now() + call.timeout;
  inbound.body = call.body;
  inbound.reply = rpc::ReplyTo{[this, open](Result<Bytes> outcome) {
    pass(open, true, [this, open, outcome] { finish(*open, {outcome, Delivery::answered}); });
  }};
  if (open->has_stream) {
    inbound.stream = std::make_shared<Stream>(*this, open, true);
    inbound.on_cancelled
        = [open](std::function<void()> callback) { open->on_cancelled = std::move(callback); };
  }
  net::RpcPeer peer;
  peer.remote = system_.name(open->from);
  peer.hello = open->hello;
  router.serve(peer, std::move(inbound));
}

/// A machine that dies resets its connections; one that stands still lets its callers wait.
void SimRpc::watch(const OpenCall& open) {
  system_.at(system_.now() + look_interval, [this, open] {
    if (open->is_over || system_.life(open->from) != open->life) return close(*open);
    const auto machine = open->door.machine;
    const bool is_reset
        = system_.life(machine) != open->door.life && !network_.is_cut(machine, open->from);
    if (is_reset) return lose(open);
    if (!open->deadline || system_.now() < *open->deadline) return watch(open);
    finish(*open, {Error{Errc::timeout, "no answer in time"}, Delivery::maybe});
  });
}

void SimRpc::lose(const OpenCall& open) {
  if (open->is_over) return;
  ++counts_.lost;
  const bool denies = mistake == Mistake::deny_delivery;
  finish(*open, {Error{Errc::unavailable, "the connection broke"},
                 denies ? Delivery::surely_not : Delivery::maybe});
}

void SimRpc::finish(Open& open, Reply reply) {
  if (open.is_over || system_.life(open.from) != open.life) return;
  open.is_over = true;
  const auto done = open.done;
  close(open);
  system_.on(open.from, [&] { done(std::move(reply)); });
}

/// Lets go of those who use it.
void SimRpc::close(Open& open) {
  open.done = nullptr;
  open.asking = {};
  open.serving = {};
}

}  // namespace nomad::test
