#include "actors/server/node_service.hpp"

#include <mutex>
#include <unordered_map>

#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::server {

struct NodeService::Shared {
  Shared(const actor::Owner& owner, NodeServiceOptions given)
      : options{std::move(given)}, asker{owner} {}

  NodeServiceOptions options;
  actor::Asker asker;
  mutable std::mutex guard;
  NodeSide nodes;
  rpc::Transport transport;

  HeartbeatTracker tracker() const {
    const std::lock_guard lock{guard};
    return nodes.tracker;
  }

  NodeEndpoint endpoint() const {
    const std::lock_guard lock{guard};
    return nodes.endpoint;
  }

  DataEndpoint data() const {
    const std::lock_guard lock{guard};
    return nodes.data;
  }

  /// Notes where the node is to be reached, if the request came from itself.
  void note(const std::string& node_id, const rpc::Inbound& inbound, const rpc::Caller& caller) {
    if (!inbound.connection || inbound.envelope.hops > 0 || caller.is_server()) return;
    rpc::Transport to;
    {
      const std::lock_guard lock{guard};
      to = transport;
    }
    if (to) actor::tell(to, rpc::transport::NoteNode{node_id, inbound.connection});
  }
};

namespace {

namespace wire = schema::rpc;
namespace link = client::server_link;
using rpc::Answer;
using rpc::Caller;
using rpc::Inbound;
using rpc::Method;

constexpr std::chrono::seconds endpoint_timeout{60};

std::chrono::seconds time_left_of(const rpc::Envelope& envelope) {
  return std::min(std::chrono::duration_cast<std::chrono::seconds>(envelope.time_left())
                      + std::chrono::seconds{1},
                  std::chrono::seconds{3600});
}

/// How long a question is held that wants to wait for `asked_ms`.
std::chrono::milliseconds longest_wait(std::uint64_t asked_ms) {
  return std::chrono::milliseconds{std::min<std::uint64_t>(asked_ms, 600'000)};
}

/// Whether `caller` speaks for the node. An unknown node is the endpoint's business: it says so.
Result<> check_node(const NodeService& service, const Caller& caller, const std::string& node_id) {
  if (caller.is_node(node_id) || service.secret_of(node_id).empty()) return {};
  log::warn("rpc", "refusing {}: it does not know the secret of node {}", caller.remote,
            short_id(node_id));
  return Error{Errc::permission_denied, "Permission denied"};
}

template <class List>
void set_servers(List list, const std::vector<KnownServer>& servers) {
  for (unsigned i = 0; i < servers.size(); ++i) {
    auto entry = list[i];
    entry.setId(text(servers[i].id));
    entry.setRpcAddress(text(servers[i].rpc_address));
    entry.setRegion(text(servers[i].region));
    entry.setDatacenter(text(servers[i].datacenter));
    entry.setIsLeader(servers[i].is_leader);
  }
}

Bytes alloc_reply(const link::AssignedAllocs& set) {
  return rpc::make_body<wire::NodeAllocsReply>([&](auto& reply) {
    reply.setIndex(set.index);
    reply.setComplete(set.complete);
    std::vector<Object<schema::Job>> jobs;
    std::unordered_map<const std::byte*, unsigned> places;
    auto allocs = reply.initAllocs(static_cast<unsigned>(set.allocs.size()));
    for (unsigned i = 0; i < set.allocs.size(); ++i) {
      const auto& each = set.allocs[i];
      const auto [place, is_new]
          = places.emplace(each.job.bytes().data(), static_cast<unsigned>(jobs.size()));
      if (is_new) jobs.push_back(each.job);
      allocs[i].setAlloc(*each.alloc);
      allocs[i].setJob(place->second);
    }
    auto list = reply.initJobs(static_cast<unsigned>(jobs.size()));
    for (unsigned i = 0; i < jobs.size(); ++i)
      list.setWithCaveats(i, *jobs[i]);
  });
}

templates::ClusterQuery data_query(wire::NodeWatchDataRequest::Reader request) {
  return {.kind = static_cast<templates::ClusterQuery::Kind>(request.getKind()),
          .name_space = copy(request.getNamespace()),
          .name = copy(request.getName()),
          .tag = copy(request.getTag()),
          .choose = copy(request.getChoose())};
}

Bytes data_reply(const link::Data& data) {
  return rpc::make_body<wire::NodeWatchDataReply>([&](auto& reply) {
    reply.setDigest(data.digest);
    auto services = reply.initServices(static_cast<unsigned>(data.services.size()));
    for (unsigned i = 0; i < services.size(); ++i)
      services.setWithCaveats(i, *data.services[i]);
    auto variables = reply.initVariables(static_cast<unsigned>(data.variables.size()));
    for (unsigned i = 0; i < variables.size(); ++i) {
      const auto& from = *data.variables[i];
      variables[i].setNamespace(from.getNamespace());
      variables[i].setPath(from.getPath());
      variables[i].setCreateTime(from.getCreateTime());
      variables[i].setModifyTime(from.getModifyTime());
      variables[i].setCreateIndex(from.getCreateIndex());
      variables[i].setModifyIndex(from.getModifyIndex());
    }
    if (!data.items) return;
    const auto items = data.items->bytes();
    reply.setItems({reinterpret_cast<const capnp::byte*>(items.data()), items.size()});
  });
}

}  // namespace

NodeService::NodeService(const actor::Owner& owner, NodeServiceOptions options)
    : shared_{std::make_shared<Shared>(owner, std::move(options))} {}

void NodeService::open(NodeSide nodes, const rpc::Transport& transport) {
  const std::lock_guard lock{shared_->guard};
  shared_->nodes = std::move(nodes);
  shared_->transport = transport;
}

void NodeService::note(const rpc::Caller& caller, const rpc::Inbound& inbound) const {
  if (caller.node) shared_->note(caller.node->id, inbound, caller);
}

std::string NodeService::secret_of(const std::string& node_id) const {
  const auto node = shared_->options.store->snapshot().node(node_id);
  return node ? copy(node->getSecretId()) : std::string{};
}

void NodeService::stop() {
  shared_->asker.stop();
  const std::lock_guard lock{shared_->guard};
  shared_->nodes = {};
  shared_->transport = rpc::Transport{};
}

template <class Lease>
Bytes NodeService::lease_reply(std::uint64_t index, const Lease& lease, bool awaits_reports) const {
  return rpc::make_body<wire::NodeLeaseReply>([&](auto& reply) {
    const auto servers = shared_->options.servers();
    reply.setIndex(index);
    reply.setTtlMs(static_cast<std::uint64_t>(lease.ttl.count()));
    reply.setAwaitsReports(awaits_reports);
    set_servers(reply.initServers(static_cast<unsigned>(servers.size())), servers);
    if constexpr (requires { lease.server_time; }) reply.setServerTime(lease.server_time);
  });
}

void NodeService::add_to(rpc::MethodRouter& router) {
  add_status(router);
  add_registration(router);
  add_heartbeat(router);
  add_allocs(router);
  add_updates(router);
  add_services(router);
  add_drains(router);
  add_predecessors(router);
  add_data(router);
  add_events(router);
}

void NodeService::add_status(rpc::MethodRouter& router) const {
  const auto shared = shared_;
  router.on<wire::Empty, wire::Empty>(
      Method::status_ping, [](const Caller&, const Object<wire::Empty>&,
                              const Answer<wire::Empty>& answer) { answer.with([](auto&) {}); });
  router.on<wire::Empty, wire::StatusLeaderReply>(
      Method::status_leader, [shared](const Caller&, const Object<wire::Empty>&,
                                      const Answer<wire::StatusLeaderReply>& answer) {
        answer.with([&](auto& reply) {
          for (const auto& server : shared->options.servers())
            if (server.is_leader) reply.setRpcAddress(text(server.rpc_address));
        });
      });
  router.on<wire::Empty, wire::StatusPeersReply>(
      Method::status_peers, [shared](const Caller&, const Object<wire::Empty>&,
                                     const Answer<wire::StatusPeersReply>& answer) {
        answer.with([&](auto& reply) {
          const auto servers = shared->options.servers();
          set_servers(reply.initServers(static_cast<unsigned>(servers.size())), servers);
        });
      });
}

void NodeService::add_registration(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeRegisterRequest>(
      Method::node_register,
      [service = *this, shared = shared_](const Caller& caller,
                                          const Object<wire::NodeRegisterRequest>& request,
                                          const Inbound& inbound) {
        const auto node = Object<schema::Node>::freeze(request->getNode());
        shared->asker.ask<link::Registered>(
            shared->tracker(), link::RegisterNode{node}, time_left_of(inbound.envelope),
            [service, shared, node, inbound, caller](Result<link::Registered> done) {
              if (!done) {
                if (done.error().code == Errc::rejected)
                  log::warn("rpc", "refusing to register node {} for {}: {}",
                            short_id(copy(node->getId())), caller.remote, done.error().what);
                return inbound.reply(done.error());
              }
              shared->note(copy(node->getId()), inbound, caller);
              inbound.reply(service.lease_reply(done->index, *done, false));
            },
            rpc::in_mailbox(inbound.envelope.priority));
      });
}

void NodeService::add_heartbeat(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeUpdateStatusRequest>(
      Method::node_update_status,
      [service = *this, shared = shared_](const Caller& caller,
                                          const Object<wire::NodeUpdateStatusRequest>& request,
                                          const Inbound& inbound) {
        const auto id = copy(request->getNodeId());
        if (auto allowed = check_node(service, caller, id); !allowed)
          return inbound.reply(allowed.error());
        const auto ask = link::Heartbeat{id};
        shared->asker.ask<link::Lease>(
            shared->tracker(), ask, time_left_of(inbound.envelope),
            [service, shared, id, inbound, caller](Result<link::Lease> lease) {
              if (!lease) return inbound.reply(lease.error());
              if (caller.is_node(id)) shared->note(id, inbound, caller);
              inbound.reply(service.lease_reply(0, *lease, lease->awaits_reports));
            },
            rpc::in_mailbox(inbound.envelope.priority));
      });
}

void NodeService::add_allocs(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeAllocsRequest>(
      Method::node_get_client_allocs,
      [service = *this, shared = shared_](const Caller& caller,
                                          const Object<wire::NodeAllocsRequest>& request,
                                          const Inbound& inbound) {
        const auto id = copy(request->getNodeId());
        if (auto allowed = check_node(service, caller, id); !allowed)
          return inbound.reply(allowed.error());
        const auto wait = longest_wait(request->getMaxWaitMs());
        shared->asker.ask<link::AssignedAllocs>(
            shared->endpoint(), link::WatchAllocs{id, request->getMinIndex(), wait},
            std::chrono::duration_cast<std::chrono::seconds>(wait) + endpoint_timeout,
            [inbound](Result<link::AssignedAllocs> set) {
              if (!set) return inbound.reply(set.error());
              inbound.reply(alloc_reply(*set));
            });
      });
}

template <class Message>
void NodeService::write(Message message, const Caller& caller, const Inbound& inbound) const {
  if (auto allowed = check_node(*this, caller, message.node_id); !allowed)
    return inbound.reply(allowed.error());
  shared_->asker.ask<link::Updated>(
      shared_->endpoint(), std::move(message), time_left_of(inbound.envelope),
      [inbound](Result<link::Updated> done) {
        if (!done) return inbound.reply(done.error());
        inbound.reply(rpc::make_body<wire::NodeUpdateAllocReply>(
            [&](auto& reply) { reply.setIndex(done->index); }));
      },
      rpc::in_mailbox(inbound.envelope.priority));
}

void NodeService::add_updates(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeUpdateAllocRequest>(
      Method::node_update_alloc,
      [service = *this](const Caller& caller, const Object<wire::NodeUpdateAllocRequest>& request,
                        const Inbound& inbound) {
        link::UpdateAllocs updates{
            .node_id = copy(request->getNodeId()),
            .allocs = {},
            .may_wait = inbound.envelope.priority != rpc::RpcPriority::urgent};
        for (const auto alloc : request->getAllocs())
          updates.allocs.push_back(Object<schema::Allocation>::freeze(alloc));
        if (updates.node_id.empty() && !updates.allocs.empty())
          updates.node_id = copy(updates.allocs.front()->getNodeId());
        service.write(std::move(updates), caller, inbound);
      });
}

void NodeService::add_services(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeRegisterServicesRequest>(
      Method::node_register_services,
      [service = *this](const Caller& caller,
                        const Object<wire::NodeRegisterServicesRequest>& request,
                        const Inbound& inbound) {
        link::RegisterServices message{.node_id = copy(request->getNodeId()), .services = {}};
        for (const auto one : request->getServices())
          message.services.push_back(Object<schema::ServiceRegistration>::freeze(one));
        service.write(std::move(message), caller, inbound);
      });
  router.on_inbound<wire::NodeDeregisterServicesRequest>(
      Method::node_deregister_services,
      [service = *this](const Caller& caller,
                        const Object<wire::NodeDeregisterServicesRequest>& request,
                        const Inbound& inbound) {
        link::DeregisterServices message{.node_id = copy(request->getNodeId()),
                                         .alloc_id = copy(request->getAllocId()),
                                         .ids = {}};
        for (const auto id : request->getIds())
          message.ids.push_back(copy(id));
        service.write(std::move(message), caller, inbound);
      });
}

void NodeService::add_drains(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeUpdateDrainRequest>(
      Method::node_update_drain,
      [service = *this, shared = shared_](const Caller& caller,
                                          const Object<wire::NodeUpdateDrainRequest>& request,
                                          const Inbound& inbound) {
        const link::DrainNode message{.node_id = copy(request->getNodeId()),
                                      .start = request->getStart(),
                                      .deadline = std::chrono::nanoseconds{request->getDeadline()},
                                      .ignore_system_jobs = request->getIgnoreSystemJobs()};
        if (auto allowed = check_node(service, caller, message.node_id); !allowed)
          return inbound.reply(allowed.error());
        shared->asker.ask<link::NodeDrain>(
            shared->endpoint(), message, time_left_of(inbound.envelope),
            [inbound](Result<link::NodeDrain> drain) {
              if (!drain) return inbound.reply(drain.error());
              inbound.reply(rpc::make_body<wire::NodeUpdateDrainReply>(
                  [&](auto& reply) { reply.setDraining(drain->draining); }));
            });
      });
}

void NodeService::add_predecessors(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeAwaitPreviousRequest>(
      Method::node_await_previous,
      [service = *this, shared = shared_](const Caller& caller,
                                          const Object<wire::NodeAwaitPreviousRequest>& request,
                                          const Inbound& inbound) {
        const auto id = copy(request->getNodeId());
        if (!caller.is_node(id))  // The answer has a secret of another node's.
          return inbound.reply(Error{Errc::permission_denied, "Permission denied"});
        const auto wait = longest_wait(request->getMaxWaitMs());
        shared->asker.ask<link::Previous>(
            shared->endpoint(), link::AwaitPrevious{id, copy(request->getAllocId()), wait},
            std::chrono::duration_cast<std::chrono::seconds>(wait) + endpoint_timeout,
            [inbound](Result<link::Previous> previous) {
              if (!previous) return inbound.reply(previous.error());
              inbound.reply(rpc::make_body<wire::NodeAwaitPreviousReply>([&](auto& reply) {
                reply.setEnded(previous->ended);
                reply.setHttpAddress(text(previous->http_address));
                reply.setTls(previous->tls);
                reply.setMigrateToken(text(previous->migrate_token));
              }));
            });
      });
}

void NodeService::add_data(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeWatchDataRequest>(
      Method::node_watch_data,
      [shared = shared_](const Caller& caller, const Object<wire::NodeWatchDataRequest>& request,
                         const Inbound& inbound) {
        const auto id = copy(request->getNodeId());
        if (!caller.is_node(id))  // The answer may have secrets in it.
          return inbound.reply(Error{Errc::permission_denied, "Permission denied"});
        const auto wait = longest_wait(request->getMaxWaitMs());
        shared->asker.ask<link::Data>(
            shared->data(),
            link::WatchData{.node_id = id,
                            .query = data_query(*request),
                            .known = request->getKnown(),
                            .max_wait = wait},
            std::chrono::duration_cast<std::chrono::seconds>(wait) + endpoint_timeout,
            [inbound](Result<link::Data> data) {
              if (!data) return inbound.reply(data.error());
              inbound.reply(data_reply(*data));
            });
      });
}

void NodeService::add_events(rpc::MethodRouter& router) const {
  router.on_inbound<wire::NodeEmitEventsRequest>(
      Method::node_emit_events,
      [service = *this](const Caller& caller, const Object<wire::NodeEmitEventsRequest>& request,
                        const Inbound& inbound) {
        link::EmitEvents news{.node_id = copy(request->getNodeId()), .events = {}};
        for (const auto event : request->getEvents())
          news.events.push_back(Object<schema::NodeEvent>::freeze(event));
        service.write(std::move(news), caller, inbound);
      });
}

}  // namespace nomad::server
