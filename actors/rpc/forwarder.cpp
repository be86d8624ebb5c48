#include "actors/rpc/forwarder.hpp"

#include <algorithm>
#include <memory>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"

namespace nomad::rpc {
namespace {

using namespace std::chrono_literals;
using forwarder::SendOn;
using transport::Call;
using transport::Delivery;
using transport::Reply;

/// A request on its way, with all tries that it has had.
struct Attempt {
  Call call;
  actor::Promise<Reply> promise;
  std::chrono::steady_clock::time_point deadline;  ///< Of the request itself.
  std::chrono::steady_clock::time_point give_up;   ///< Looking for a leader ends.
  std::chrono::milliseconds pause{0};
  bool was_repeated = false;  ///< After it was sent, and may have been served.
};

using AttemptRef = std::shared_ptr<Attempt>;

/// Look again for who can serve it.
struct TryAgain {
  using is_message = void;
  AttemptRef attempt;
};

using ForwarderSelf = actor::WithInternal<Forwarder, void(TryAgain)>;

struct ForwarderState {
  static constexpr const char* name = "rpc_forwarder";

  using Self = ForwarderSelf::stateful_pointer<ForwarderState>;

  Self self = nullptr;
  Transport transport;
  ClusterView view;
  ForwarderOptions options;
  Random random{0};

  auto now() const { return self->now(); }

  actor::Answer<Reply> send_on(const SendOn& msg) {
    if (msg.call.hops >= options.max_hops)
      return Reply{Error{Errc::unavailable, "the request was sent on too often"},
                   Delivery::surely_not};
    auto attempt = std::make_shared<Attempt>();
    attempt->call = msg.call;
    ++attempt->call.hops;
    attempt->promise = self->make_response_promise<Reply>();
    attempt->deadline = now() + msg.call.timeout;
    attempt->give_up = now() + std::min(options.hold, msg.call.timeout);
    attempt->pause = options.first_pause;
    auto promise = attempt->promise;
    go_on(attempt);
    return promise;
  }

  bool is_for_other_region(const Call& call) const {
    return !call.region.empty() && call.region != view.region;
  }

  /// Who is to be asked now; empty: nobody is known.
  std::string target(const Call& call) {
    if (!is_for_other_region(call)) return view.leader_address().rpc_address;
    auto servers = view.servers_in(call.region);
    if (servers.empty()) return {};
    return servers[random.below(servers.size())];
  }

  void go_on(const AttemptRef& attempt) {
    const auto address = target(attempt->call);
    if (address.empty()) {
      if (is_for_other_region(attempt->call))
        return finish(attempt,
                      {Error{Errc::unavailable, "No path to region"}, Delivery::surely_not});
      return wait(attempt, {no_leader(), Delivery::surely_not});
    }
    auto call = attempt->call;
    call.to = {.address = address, .region = call.region};
    call.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(attempt->deadline - now());
    if (call.timeout.count() <= 0)
      return finish(attempt, {Error{Errc::timeout, "no answer in time"}, Delivery::surely_not});
    self->request(transport, call.timeout + 1s, call, in_mailbox(call.priority))
        .then([this, attempt](const Reply& reply) { judge(attempt, reply); },
              [attempt](const Error& err) {
                finish(attempt, {err, Delivery::maybe});
              });
  }

  /// Whether an answer is final, or the request may be tried once more.
  void judge(const AttemptRef& attempt, const Reply& reply) {
    if (reply.outcome) return finish(attempt, reply);
    const bool found_none
        = reply.delivery == Delivery::answered && reply.outcome.error().code == Errc::no_leader;
    const bool may_repeat = info(attempt->call.method).repeat == Repeat::freely;
    const bool lost
        = reply.delivery == Delivery::maybe && reply.outcome.error().code == Errc::unavailable;
    if (reply.delivery == Delivery::surely_not || found_none
        || (lost && may_repeat && !std::exchange(attempt->was_repeated, true)))
      return wait(attempt, reply);
    finish(attempt, reply);
  }

  /// Tries again after a pause, while there is time; else answers `otherwise`.
  void wait(const AttemptRef& attempt, const Reply& otherwise) {
    if (now() + attempt->pause >= attempt->give_up) return finish(attempt, otherwise);
    const auto jitter = std::chrono::milliseconds{
        random.below(static_cast<std::uint64_t>(attempt->pause.count()) + 1)};
    actor::send_self_after(self, attempt->pause / 2 + jitter / 2, TryAgain{attempt});
    attempt->pause = std::min(attempt->pause * 2, std::max(options.hold / 16, options.first_pause));
  }

  static void finish(const AttemptRef& attempt, Reply reply) {
    attempt->promise.deliver(std::move(reply));
  }
};

ForwarderSelf::behavior_type forwarder_actor(ForwarderState::Self self,
                                             Transport transport,
                                             ClusterView view,
                                             ForwarderOptions options) {
  self->state.self = self;
  self->state.transport = std::move(transport);
  self->state.view = std::move(view);
  self->state.options = options;
  self->state.random = Random{self->seed(options.random_seed)};
  return {
      [self](const SendOn& msg) { return self->state.send_on(msg); },
      [self](const TryAgain& msg) { self->state.go_on(msg.attempt); },
  };
}

}  // namespace

Forwarder spawn_forwarder(const actor::Owner& owner,
                          const Transport& transport,
                          ClusterView view,
                          ForwarderOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, forwarder_actor, transport, std::move(view),
                                              options);
}

void send_on(actor::Asker& asker,
             const Forwarder& forwarder,
             const Caller& caller,
             const Inbound& inbound) {
  const auto& envelope = inbound.envelope;
  Call call;
  call.method = envelope.method;
  call.body = inbound.body;
  call.timeout = envelope.time_left();
  call.priority = envelope.priority;
  call.credentials = envelope.credentials;
  call.region = envelope.region;
  call.hops = envelope.hops;
  call.remote = caller.remote;
  call.allow_stale = envelope.allow_stale;
  call.target_node = envelope.target_node;
  const auto patience = std::chrono::duration_cast<std::chrono::seconds>(call.timeout) + 2s;
  asker.ask<Reply>(
      forwarder, SendOn{std::move(call)}, patience,
      [reply = inbound.reply](const Result<Reply>& outcome) {
        if (!outcome) return reply(outcome.error());
        reply(outcome->outcome);
      },
      in_mailbox(envelope.priority));
}

}  // namespace nomad::rpc
