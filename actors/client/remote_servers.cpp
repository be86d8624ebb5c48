#include "actors/client/remote_servers.hpp"

#include <functional>

#include <fmt/ranges.h>

#include "actors/core/supervise.hpp"
#include "actors/rpc/router.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/server_ring.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;
namespace wire = schema::rpc;
using rpc::Method;
using rpc::transport::Delivery;
using server_link::AssignedAllocs;
using server_link::AwaitPrevious;
using server_link::Data;
using server_link::DeregisterServices;
using server_link::DrainNode;
using server_link::EmitEvents;
using server_link::Heartbeat;
using server_link::Lease;
using server_link::NodeDrain;
using server_link::Previous;
using server_link::Registered;
using server_link::RegisterNode;
using server_link::RegisterServices;
using server_link::UpdateAllocs;
using server_link::Updated;
using server_link::WatchAllocs;
using server_link::WatchData;

/// What a server may take beyond a blocking query's own time: it spreads its answers.
constexpr auto blocking_slack = 30s;

/// Servers that were away, or are new, get their share of the nodes again.
struct Rebalance {
  using is_message = void;
};

using RemoteSelf = actor::WithInternal<ServerLink, void(Rebalance)>;

struct RemoteState {
  static constexpr const char* name = "remote_servers";

  using Self = RemoteSelf::stateful_pointer<RemoteState>;
  using Done = std::function<void(Result<Bytes>)>;

  Self self = nullptr;
  rpc::CallTransport transport;
  RemoteServersOptions options;
  workload::ServerRing servers{{}, Random{0}};
  Random random{0};

  /// Asks the servers one after the other until one answers.
  void ask(rpc::transport::Call call, std::size_t tries, Done done) {
    if (tries == 0 || servers.empty()) return done(Error{Errc::unavailable, "No servers"});
    const auto asked = servers.current();
    call.to = {.address = asked, .region = options.region};
    self->request(transport, call.timeout + 5s, call, rpc::in_mailbox(call.priority))
        .then(
            [this, call, tries, asked, done](const rpc::transport::Reply& reply) {
              if (reply.outcome || !should_move_on(reply)) return done(reply.outcome);
              move_on(asked, reply.outcome.error());
              if (tries == 1) {
                if (servers.widen()) publish();
                return done(reply.outcome);
              }
              ask(call, tries - 1, done);
            },
            [done](const Error& err) { done(err); });
  }

  /// All of our methods may be repeated, so everything that is no answer of the servers goes to the
  /// next one.
  static bool should_move_on(const rpc::transport::Reply& reply) {
    const auto code = reply.outcome.error().code;
    return reply.delivery != Delivery::answered || code == Errc::unavailable
           || code == Errc::no_leader;
  }

  void move_on(const std::string& from, const Error& why) {
    if (!servers.move_on(from)) return;
    publish();
    log::debug("client", "server {} does not answer: {}; the next is {}", from, why.what,
               servers.current());
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
    log::debug("client", "moving from server {} to {}", before, servers.current());
  }

  rpc::transport::Call call_of(Method method, Bytes body, std::chrono::milliseconds timeout) const {
    rpc::transport::Call call;
    call.method = method;
    call.body = std::move(body);
    call.timeout = timeout;
    call.priority = rpc::info(method).priority;
    call.credentials = *options.credentials;
    call.region = options.region;
    return call;
  }

  /// Asks and answers `promise` by what `read` makes of the reply.
  template <class Reply, class Answer, class Read>
  actor::Answer<Answer> exchange(Method method,
                                 Bytes body,
                                 std::chrono::milliseconds timeout,
                                 Read read,
                                 std::optional<rpc::RpcPriority> priority = {}) {
    auto promise = self->make_response_promise<Answer>();
    auto call = call_of(method, std::move(body), timeout);
    if (priority) call.priority = *priority;
    ask(std::move(call), servers.size(), [promise, read](Result<Bytes> outcome) mutable {
      if (!outcome) return actor::answer<Answer>(promise, outcome.error());
      auto reply = Object<Reply>::from_bytes(outcome->view());
      if (!reply) return actor::answer<Answer>(promise, reply.error());
      actor::answer<Answer>(promise, read(*reply));
    });
    return promise;
  }

  actor::Answer<Registered> register_node(const RegisterNode& msg) {
    options.credentials->node_id = copy(msg.node->getId());
    options.credentials->node_secret = copy(msg.node->getSecretId());
    auto body = rpc::make_body<wire::NodeRegisterRequest>(
        [&](auto& request) { request.setNode(*msg.node); });
    return exchange<wire::NodeLeaseReply, Registered>(
        Method::node_register, std::move(body), options.timeout,
        [this](const Object<wire::NodeLeaseReply>& reply) -> Result<Registered> {
          learn(reply);
          return Registered{reply->getIndex(), std::chrono::milliseconds{reply->getTtlMs()}};
        });
  }

  actor::Answer<Lease> beat(const Heartbeat& msg) {
    auto body = rpc::make_body<wire::NodeUpdateStatusRequest>(
        [&](auto& request) { request.setNodeId(text(msg.node_id)); });
    return exchange<wire::NodeLeaseReply, Lease>(
        Method::node_update_status, std::move(body), options.timeout,
        [this](const Object<wire::NodeLeaseReply>& reply) -> Result<Lease> {
          learn(reply);
          return Lease{std::chrono::milliseconds{reply->getTtlMs()}, reply->getServerTime(),
                       reply->getAwaitsReports()};
        });
  }

  actor::Answer<AssignedAllocs> watch(const WatchAllocs& msg) {
    auto body = rpc::make_body<wire::NodeAllocsRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      request.setMinIndex(msg.min_index);
      request.setMaxWaitMs(static_cast<std::uint64_t>(msg.max_wait.count()));
    });
    return exchange<wire::NodeAllocsReply, AssignedAllocs>(
        Method::node_get_client_allocs, std::move(body), msg.max_wait + blocking_slack,
        [](const Object<wire::NodeAllocsReply>& reply) { return read_allocs(reply); });
  }

  static Result<AssignedAllocs> read_allocs(const Object<wire::NodeAllocsReply>& reply) {
    std::vector<Object<schema::Job>> jobs;
    for (const auto job : reply->getJobs())
      jobs.push_back(Object<schema::Job>::freeze(job));
    AssignedAllocs set{reply->getIndex(), reply->getComplete(), {}};
    for (const auto each : reply->getAllocs()) {
      if (each.getJob() >= jobs.size())
        return Error{Errc::corrupt, "an allocation names a job that the answer does not have"};
      set.allocs.push_back(
          {Object<schema::Allocation>::freeze(each.getAlloc()), jobs[each.getJob()]});
    }
    return set;
  }

  actor::Answer<Updated> update(const UpdateAllocs& msg) {
    auto body = rpc::make_body<wire::NodeUpdateAllocRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      auto list = request.initAllocs(static_cast<unsigned>(msg.allocs.size()));
      for (unsigned i = 0; i < msg.allocs.size(); ++i)
        list.setWithCaveats(i, *msg.allocs[i]);
    });
    return write(Method::node_update_alloc, std::move(body),
                 msg.may_wait ? rpc::RpcPriority::normal : rpc::RpcPriority::urgent);
  }

  actor::Answer<Updated> add_services(const RegisterServices& msg) {
    auto body = rpc::make_body<wire::NodeRegisterServicesRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      auto list = request.initServices(static_cast<unsigned>(msg.services.size()));
      for (unsigned i = 0; i < msg.services.size(); ++i)
        list.setWithCaveats(i, *msg.services[i]);
    });
    return write(Method::node_register_services, std::move(body), rpc::RpcPriority::normal);
  }

  actor::Answer<Updated> remove_services(const DeregisterServices& msg) {
    auto body = rpc::make_body<wire::NodeDeregisterServicesRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      request.setAllocId(text(msg.alloc_id));
      auto list = request.initIds(static_cast<unsigned>(msg.ids.size()));
      for (unsigned i = 0; i < msg.ids.size(); ++i)
        list.set(i, text(msg.ids[i]));
    });
    return write(Method::node_deregister_services, std::move(body), rpc::RpcPriority::normal);
  }

  /// A question that is answered when what it says is durable.
  actor::Answer<Updated> write(Method method, Bytes body, rpc::RpcPriority priority) {
    return exchange<wire::NodeUpdateAllocReply, Updated>(
        method, std::move(body), options.timeout,
        [](const Object<wire::NodeUpdateAllocReply>& reply) -> Result<Updated> {
          return Updated{reply->getIndex()};
        },
        priority);
  }

  actor::Answer<Updated> emit(const EmitEvents& msg) {
    auto body = rpc::make_body<wire::NodeEmitEventsRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      auto list = request.initEvents(static_cast<unsigned>(msg.events.size()));
      for (unsigned i = 0; i < msg.events.size(); ++i)
        list.setWithCaveats(i, *msg.events[i]);
    });
    return exchange<wire::NodeUpdateAllocReply, Updated>(
        Method::node_emit_events, std::move(body), options.timeout,
        [](const Object<wire::NodeUpdateAllocReply>& reply) -> Result<Updated> {
          return Updated{reply->getIndex()};
        });
  }

  actor::Answer<NodeDrain> drain(const DrainNode& msg) {
    auto body = rpc::make_body<wire::NodeUpdateDrainRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      request.setStart(msg.start);
      request.setDeadline(msg.deadline.count());
      request.setIgnoreSystemJobs(msg.ignore_system_jobs);
    });
    return exchange<wire::NodeUpdateDrainReply, NodeDrain>(
        Method::node_update_drain, std::move(body), options.timeout,
        [](const Object<wire::NodeUpdateDrainReply>& reply) -> Result<NodeDrain> {
          return NodeDrain{.draining = reply->getDraining()};
        });
  }

  actor::Answer<Previous> await_previous(const AwaitPrevious& msg) {
    auto body = rpc::make_body<wire::NodeAwaitPreviousRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      request.setAllocId(text(msg.alloc_id));
      request.setMaxWaitMs(static_cast<std::uint64_t>(msg.max_wait.count()));
    });
    return exchange<wire::NodeAwaitPreviousReply, Previous>(
        Method::node_await_previous, std::move(body), msg.max_wait + blocking_slack,
        [](const Object<wire::NodeAwaitPreviousReply>& reply) -> Result<Previous> {
          return Previous{.ended = reply->getEnded(),
                          .http_address = copy(reply->getHttpAddress()),
                          .tls = reply->getTls(),
                          .migrate_token = copy(reply->getMigrateToken())};
        });
  }

  actor::Answer<Data> watch_data(const WatchData& msg) {
    auto body = rpc::make_body<wire::NodeWatchDataRequest>([&](auto& request) {
      request.setNodeId(text(msg.node_id));
      request.setKind(static_cast<std::uint8_t>(msg.query.kind));
      request.setNamespace(text(msg.query.name_space));
      request.setName(text(msg.query.name));
      request.setTag(text(msg.query.tag));
      request.setChoose(text(msg.query.choose));
      request.setKnown(msg.known);
      request.setMaxWaitMs(static_cast<std::uint64_t>(msg.max_wait.count()));
    });
    return exchange<wire::NodeWatchDataReply, Data>(
        Method::node_watch_data, std::move(body), msg.max_wait + blocking_slack,
        [](const Object<wire::NodeWatchDataReply>& reply) -> Result<Data> {
          Data data{.digest = reply->getDigest()};
          for (const auto service : reply->getServices())
            data.services.push_back(Object<schema::ServiceRegistration>::freeze(service));
          for (const auto variable : reply->getVariables())
            data.variables.push_back(Object<schema::Variable>::freeze(variable));
          if (reply->hasItems()) {
            const auto items = reply->getItems();
            data.items = std::make_shared<const security::Secret>(
                security::Secret::copy_of(std::as_bytes(std::span{items.begin(), items.size()})));
          }
          return data;
        });
  }

  void learn(const Object<wire::NodeLeaseReply>& reply) {
    std::vector<std::string> fresh;
    for (const auto server : reply->getServers())
      if (server.getRpcAddress().size() > 0) fresh.push_back(copy(server.getRpcAddress()));
    if (!servers.learn(std::move(fresh))) return;
    publish();
    log::info("client", "the servers are now {}", fmt::join(servers.in_order(), ", "));
  }

  /// Tells other threads.
  void publish() const {
    if (options.list) options.list->set(servers.in_order());
  }
};

RemoteSelf::behavior_type remote_servers(RemoteState::Self self,
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
      [self](const RegisterNode& msg) { return self->state.register_node(msg); },
      [self](const Heartbeat& msg) { return self->state.beat(msg); },
      [self](const WatchAllocs& msg) { return self->state.watch(msg); },
      [self](const UpdateAllocs& msg) { return self->state.update(msg); },
      [self](const RegisterServices& msg) { return self->state.add_services(msg); },
      [self](const DeregisterServices& msg) { return self->state.remove_services(msg); },
      [self](const EmitEvents& msg) { return self->state.emit(msg); },
      [self](const DrainNode& msg) { return self->state.drain(msg); },
      [self](const AwaitPrevious& msg) { return self->state.await_previous(msg); },
      [self](const WatchData& msg) { return self->state.watch_data(msg); },
      [self](const Rebalance&) { self->state.rebalance(); },
  };
}

}  // namespace

ServerLink spawn_remote_servers(const actor::Owner& owner,
                                const rpc::CallTransport& transport,
                                RemoteServersOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, remote_servers, transport, std::move(options));
}

}  // namespace nomad::client
