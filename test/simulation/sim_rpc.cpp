#include "test/simulation/sim_rpc.hpp"

#include <utility>

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

/// A call on its way.
struct SimRpc::Open {
  Machine from;
  std::uint64_t life;  ///< Of `from`.
  Door door;
  net::RpcHello hello;
  Call call;
  std::optional<Time> deadline;
  std::function<void(Reply)> done;
  bool is_over = false;
};

void SimRpc::listen(const std::string& address,
                    Machine machine,
                    std::shared_ptr<const rpc::MethodRouter> router,
                    rpc::Identify identify) {
  doors_.insert_or_assign(
      address, Door{machine, system_.life(machine), std::move(router), std::move(identify)});
}

rpc::Transport SimRpc::spawn(const actor::Owner& owner,
                             Machine machine,
                             const net::RpcHello& hello) {
  const auto transport
      = [this, machine, hello](TransportSelf::pointer self) -> TransportSelf::behavior_type {
    return {
        [this, machine, hello, self](const Call& msg) -> actor::Answer<Reply> {
          auto promise = self->make_response_promise<Reply>();
          call(machine, hello, msg, [handle = TransportSelf{self}, promise](const Reply& reply) {
            actor::tell(handle, Run{[promise, reply]() mutable { promise.deliver(reply); }});
          });
          return promise;
        },
        [](const CallNode&) { return unreachable("No path to node"); },
        [](const OpenStream& msg) -> actor::Answer<Opened> {
          return Error{Errc::unavailable, "no streams to " + msg.call.to.address};
        },
        [](const Post&) {},  // Raft has a carrier of its own
        [](const HasNode&) { return NodeConnected{false}; },
        [](const NoteNode&) {},
        [](const Run& msg) { msg.action(); },
    };
  };
  return system_.own(machine, rpc::Transport{actor::spawn(owner, transport)});
}

void SimRpc::call(Machine from,
                  const net::RpcHello& hello,
                  const Call& call,
                  std::function<void(Reply)> done) {
  ++counts_.calls;
  const auto found = doors_.find(call.to.address);
  const bool listens = found != doors_.end() && system_.is_on(found->second.machine)
                       && system_.life(found->second.machine) == found->second.life;
  const auto open = std::make_shared<Open>(Open{.from = from,
                                                .life = system_.life(from),
                                                .door = listens ? found->second : Door{},
                                                .hello = hello,
                                                .call = call,
                                                .deadline = {},
                                                .done = std::move(done)});
  if (call.timeout.count() > 0) open->deadline = system_.now() + call.timeout;
  if (!listens) {
    ++counts_.refused;
    return system_.at(system_.now() + network_.delay(200us, 5ms),
                      [this, open] { finish(*open, unreachable("connection refused")); });
  }
  network_.ask(
      from, open->door.machine, false, [this, open] { serve(open); },
      [this, open] { lose(open, "the connection broke"); });
  watch(open);
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
                      .credentials = call.credentials};
  if (open->deadline) inbound.envelope.deadline = net::RpcClock::now() + call.timeout;
  inbound.body = call.body;
  inbound.reply = rpc::ReplyTo{[this, open](Result<Bytes> outcome) {
    const auto machine = open->door.machine;
    if (system_.life(machine) != open->door.life) return;
    network_.ask(
        machine, open->from, false,
        [this, open, outcome] {
          finish(*open, {outcome, Delivery::answered});
        },
        [this, open] {
          system_.at(system_.now() + network_.delay(100ms, 3s),
                     [this, open] { lose(open, "the connection broke"); });
        });
  }};
  net::RpcPeer peer;
  peer.remote = system_.name(open->from);
  peer.hello = open->hello;
  auto caller = open->door.identify(peer, call.credentials);
  if (!call.remote.empty() && caller.is_server()) caller.remote = call.remote;
  router.serve(caller, std::move(inbound));
}

/// A machine that dies resets its connections; one that stands still lets its callers wait.
void SimRpc::watch(const OpenCall& open) {
  system_.at(system_.now() + look_interval, [this, open] {
    if (open->is_over || system_.life(open->from) != open->life) return;
    const auto machine = open->door.machine;
    const bool is_reset
        = system_.life(machine) != open->door.life && !network_.is_cut(machine, open->from);
    if (is_reset) return lose(open, "the connection broke");
    if (!open->deadline || system_.now() < *open->deadline) return watch(open);
    finish(*open, {Error{Errc::timeout, "no answer in time"}, Delivery::maybe});
  });
}

void SimRpc::lose(const OpenCall& open, const char* why) {
  ++counts_.lost;
  const bool denies = mutation_ == RpcMutation::deny_delivery;
  finish(*open, {Error{Errc::unavailable, why}, denies ? Delivery::surely_not : Delivery::maybe});
}

void SimRpc::finish(Open& open, Reply reply) {
  if (open.is_over || system_.life(open.from) != open.life) return;
  open.is_over = true;
  system_.on(open.from, [&] { open.done(std::move(reply)); });
}

}  // namespace nomad::test
