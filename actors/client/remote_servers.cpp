#include "actors/client/remote_servers.hpp"

#include <functional>
#include <set>

#include <fmt/ranges.h>

#include "actors/core/supervise.hpp"
#include "actors/rpc/router.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/server_ring.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;
using rpc::Method;
using rpc::transport::Delivery;

/// What a server may take beyond a blocking query's own time: it spreads its answers.
constexpr auto blocking_slack = 30s;

/// Servers that were away, or are new, get their share of the nodes again.
struct Rebalance {
  using is_message = void;
};

using RemoteSelf = actor::WithInternal<RemoteServers, void(Rebalance)>;

struct RemoteState {
  static constexpr const char* name = "remote_servers";

  using Self = RemoteSelf::stateful_pointer<RemoteState>;
  using Done = std::function<void(const Result<Bytes>&)>;

  Self self = nullptr;
  rpc::CallTransport transport;
  RemoteServersOptions options;
  workload::ServerRing servers{{}, Random{0}};
  Random random{0};

  actor::Answer<door::Reply> ask(const door::Ask& msg) {
    const auto& question = door::info(msg);
    if (question.question == door::Question::REGISTER) learn_secret(msg);
    auto promise = self->make_response_promise<door::Reply>();
    ask(call_of(msg), servers.size(), question.repeat == door::Repeat::freely,
        [this, promise, answer = question.answer](const Result<Bytes>& outcome) {
          if (!outcome) return promise.deliver(outcome.error());
          auto reply = door::unpack_reply(*outcome);
          if (!reply) return promise.deliver(reply.error());
          if ((*reply)->which() != answer)
            return promise.deliver(Error{Errc::corrupt, "the servers answer another question"});
          if ((*reply)->isLease()) learn((*reply)->getLease());
          promise.deliver(std::move(*reply));
        });
    return promise;
  }

  /// The node's record has what the node proves itself by from now on.
  void learn_secret(const door::Ask& registration) {
    if (registration.rows.size() != 1) return;
    const auto node = registration.rows.front().as<schema::Node>();
    if (!node) return;
    options.credentials->node_id = copy((*node)->getId());
    options.credentials->node_secret = copy((*node)->getSecretId());
  }

  rpc::transport::Call call_of(const door::Ask& msg) const {
    const auto& question = door::info(msg);
    rpc::transport::Call call;
    call.method
        = question.repeat == door::Repeat::freely ? Method::node_ask : Method::node_ask_once;
    call.body = door::pack(msg);
    call.timeout = msg.max_wait().count() > 0 ? msg.max_wait() + blocking_slack : options.timeout;
    call.priority = door::is_urgent(msg) ? rpc::RpcPriority::urgent : rpc::RpcPriority::normal;
    call.credentials = *options.credentials;
    call.region = options.region;
    return call;
  }

  /// Asks the servers one after the other until one answers.
  void ask(rpc::transport::Call call, std::size_t tries, bool may_repeat, Done done) {
    if (tries == 0 || servers.empty()) return done(Error{Errc::unavailable, "No servers"});
    const auto asked = servers.current();
    call.to = {.address = asked, .region = options.region};
    self->request(transport, call.timeout + 5s, call, rpc::in_mailbox(call.priority))
        .then(
            [this, call, tries, may_repeat, asked, done](const rpc::transport::Reply& reply) {
              if (reply.outcome || !should_move_on(reply)) return done(reply.outcome);
              move_on(asked, reply.outcome.error());
              if (tries == 1 && servers.widen()) publish();
              if (tries == 1 || (reply.delivery == Delivery::maybe && !may_repeat))
                return done(reply.outcome);
              ask(call, tries - 1, may_repeat, done);
            },
            [done](const Error& err) { done(err); });
  }

  /// Whatever is no answer of the servers: another one may have it.
  static bool should_move_on(const rpc::transport::Reply& reply) {
    const auto code = reply.outcome.error().code;
    return reply.delivery != Delivery::answered || code == Errc::unavailable
           || code == Errc::no_leader;
  }

  void move_on(const std::string& from, const Error& why) {
    if (!servers.move_on(from)) return;
    publish();
    log::debug("client", "a server does not answer",
               {{"peer", from}, {"next", servers.current()}, {"error", why}});
  }

  /// At any time within half of the shortest time more, so that the nodes do not move together.
  void rebalance_later() {
    const auto spread = static_cast<std::uint64_t>(options.rebalance_after.count()) / 2 + 1;
    const std::chrono::milliseconds extra{random.below(spread)};
    actor::send_self_after(self, options.rebalance_after + extra, Rebalance{});
  }

  void rebalance() {
    rebalance_later();
    if (servers.size() < 2) return;
    const auto before = servers.current();
    servers.shuffle();
    if (servers.current() == before) return;
    publish();
    log::debug("client", "moving to another server",
               {{"peer", before}, {"next", servers.current()}});
  }

  void learn(schema::door::Lease::Reader lease) {
    std::vector<std::string> fresh;
    for (const auto server : lease.getServers())
      if (server.getRpcAddress().size() > 0) fresh.push_back(copy(server.getRpcAddress()));
    if (!servers.learn(std::move(fresh))) return;
    publish();
    log::info("client", "the list of servers has changed",
              {{"peers", fmt::format("{}", fmt::join(servers.in_order(), ","))}});
  }

  /// What the pings of addresses have come to so far.
  struct Pings {
    std::size_t open = 0;
    std::vector<std::string> alive{};
    std::vector<std::string> failures{};
  };

  actor::Answer<remote_servers::Used> use(const remote_servers::Use& msg) {
    const std::set<std::string> addresses{msg.addresses.begin(), msg.addresses.end()};
    if (addresses.empty() || addresses.size() > remote_servers::most_addresses)
      return Error{Errc::invalid_argument,
                   fmt::format("expected 1 to {} addresses of servers, not {}",
                               remote_servers::most_addresses, addresses.size())};
    const auto pings = std::make_shared<Pings>(Pings{.open = addresses.size()});
    auto promise = self->make_response_promise<remote_servers::Used>();
    for (const auto& address : addresses)
      ping(address, [this, pings, promise, address](const Result<Bytes>& answer) {
        if (answer)
          pings->alive.push_back(address);
        else
          pings->failures.push_back(
              fmt::format("Server at address {} failed ping: {}", address, answer.error().what));
        if (--pings->open == 0) settle(*pings, promise);
      });
    return promise;
  }

  void ping(const std::string& address, const Done& done) {
    rpc::transport::Call call;
    call.method = Method::status_ping;
    call.body = rpc::bytes_of(Draft<schema::rpc::Empty>{}.freeze());
    call.timeout = options.timeout;
    call.region = options.region;
    call.to = {.address = address, .region = options.region};
    self->request(transport, call.timeout + 5s, call)
        .then([done](const rpc::transport::Reply& reply) { done(reply.outcome); },
              [done](const Error& err) { done(err); });
  }

  void settle(Pings& pings, const actor::Promise<remote_servers::Used>& promise) {
    if (pings.alive.empty())
      return promise.deliver(
          Error{Errc::rejected, fmt::format("{}", fmt::join(pings.failures, "; "))});
    const remote_servers::Used used{pings.alive.size()};
    servers.replace(std::move(pings.alive));
    publish();
    log::info("client", "an operator has set the list of servers",
              {{"peers", fmt::format("{}", fmt::join(servers.in_order(), ","))}});
    promise.deliver(used);
  }

  /// Tells other threads.
  void publish() const {
    if (options.list) options.list->set(servers.in_order());
  }
};

RemoteSelf::behavior_type remote_servers_actor(RemoteState::Self self,
                                               rpc::CallTransport transport,
                                               RemoteServersOptions options) {
  auto& state = self->state;
  state.self = self;
  state.transport = std::move(transport);
  state.random = Random{self->seed(options.random_seed)};
  state.servers = workload::ServerRing{options.servers, Random{state.random.next()}};
  state.options = std::move(options);
  state.publish();
  state.rebalance_later();
  return {
      [self](const door::Ask& msg) { return self->state.ask(msg); },
      [self](const remote_servers::Use& msg) { return self->state.use(msg); },
      [self](const Rebalance&) { self->state.rebalance(); },
  };
}

}  // namespace

RemoteServers spawn_remote_servers(const actor::Owner& owner,
                                   const rpc::CallTransport& transport,
                                   RemoteServersOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, remote_servers_actor, transport,
                                              std::move(options));
}

}  // namespace nomad::client
