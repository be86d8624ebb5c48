#include "actors/server/nodes/earlier_node_methods.hpp"

#include <algorithm>
#include <vector>

#include "schema/rpc.capnp.h"

namespace nomad::server {
namespace {

namespace wire = schema::rpc;
using rpc::Caller;
using rpc::Inbound;
using rpc::Method;
using AskBuilder = schema::door::Ask::Builder;

constexpr std::uint64_t longest_wait_ms = 600'000;

template <class Row, class List>
door::Rows frozen(List list) {
  door::Rows rows;
  for (const auto each : list)
    rows.emplace_back(Object<Row>::freeze(each));
  return rows;
}

/// Serves `method`: `read` makes the question of a request, `write` the earlier reply of an answer.
template <class Request, class Read, class Write>
void serve(
    rpc::MethodRouter& router, const NodeService& service, Method method, Read read, Write write) {
  router.on_inbound<Request>(
      method, [service, read, write](const Caller& caller, const Object<Request>& request,
                                     const Inbound& inbound) {
        service.ask(caller, inbound, read(*request, inbound),
                    [to = inbound.reply, write](const Result<door::Reply>& answer) {
                      if (!answer) return to(answer.error());
                      to(write(*answer));
                    });
      });
}

template <class Request, class Write, class Fill>
void serve_filled(
    rpc::MethodRouter& router, const NodeService& service, Method method, Write write, Fill fill) {
  serve<Request>(
      router, service, method,
      [fill](typename Request::Reader request, const Inbound&) {
        door::Rows rows;
        auto ask = door::make_ask(view(request.getNodeId()),
                                  [&](AskBuilder& builder) { fill(request, builder, rows); });
        ask.rows = std::move(rows);
        return ask;
      },
      write);
}

Bytes lease_reply(const door::Reply& answer) {
  return rpc::make_body<wire::NodeLeaseReply>([&](auto& reply) {
    const auto lease = answer->getLease();
    reply.setIndex(answer->getIndex());
    reply.setTtlMs(lease.getTtlMs());
    reply.setServerTime(lease.getServerTime());
    reply.setAwaitsReports(lease.getAwaitsReports());
    reply.setServers(lease.getServers());
  });
}

Bytes done_reply(const door::Reply& answer) {
  return rpc::make_body<wire::NodeUpdateAllocReply>(
      [&](auto& reply) { reply.setIndex(answer->getIndex()); });
}

Bytes drain_reply(const door::Reply& answer) {
  return rpc::make_body<wire::NodeUpdateDrainReply>(
      [&](auto& reply) { reply.setDraining(answer->getDrain().getDraining()); });
}

Bytes previous_reply(const door::Reply& answer) {
  return rpc::make_body<wire::NodeAwaitPreviousReply>([&](auto& reply) {
    const auto previous = answer->getPrevious();
    reply.setEnded(previous.getEnded());
    reply.setHttpAddress(previous.getHttpAddress());
    reply.setTls(previous.getTls());
    reply.setMigrateToken(previous.getMigrateToken());
  });
}

/// Row `place` of an answer that this server made.
template <class T>
Object<T> row(const door::Reply& answer, std::size_t position) {
  return answer.rows.at(position).as<T>().value();
}

Bytes allocs_reply(const door::Reply& answer) {
  return rpc::make_body<wire::NodeAllocsReply>([&](auto& reply) {
    const auto positions = answer->getAllocs().getJobs();
    reply.setIndex(answer->getIndex());
    reply.setComplete(answer->getAllocs().getComplete());
    auto allocs = reply.initAllocs(positions.size());
    for (unsigned i = 0; i < positions.size(); ++i) {
      allocs[i].setAlloc(row<schema::Allocation>(answer, i).reader());
      allocs[i].setJob(positions[i]);
    }
    auto jobs = reply.initJobs(static_cast<unsigned>(answer.rows.size()) - positions.size());
    for (unsigned i = 0; i < jobs.size(); ++i)
      jobs.setWithCaveats(i, *row<schema::Job>(answer, positions.size() + i));
  });
}

Bytes data_reply(const door::Reply& answer) {
  return rpc::make_body<wire::NodeWatchDataReply>([&](auto& reply) {
    const auto data = answer->getData();
    reply.setDigest(data.getDigest());
    auto services = reply.initServices(data.getServices());
    for (unsigned i = 0; i < services.size(); ++i)
      services.setWithCaveats(i, *row<schema::ServiceRegistration>(answer, i));
    auto variables
        = reply.initVariables(static_cast<unsigned>(answer.rows.size()) - services.size());
    for (unsigned i = 0; i < variables.size(); ++i)
      variables.setWithCaveats(i, *row<schema::Variable>(answer, services.size() + i));
    if (!answer.secret) return;
    const auto items = answer.secret->bytes();
    reply.setItems({reinterpret_cast<const capnp::byte*>(items.data()), items.size()});
  });
}

/// A report names its node itself if the request does not, and its number with each allocation.
door::Ask read_report(wire::NodeUpdateAllocRequest::Reader request, const Inbound& inbound) {
  const auto allocs = request.getAllocs();
  auto node_id = view(request.getNodeId());
  const AllocView first = allocs.size() > 0 ? allocs[0] : AllocView{};
  if (node_id.empty()) node_id = first.node_id();
  return door::make_ask(
      node_id,
      [&](AskBuilder& ask) {
        ask.setUpdateAllocs(first.report_number());
        ask.setMayWait(inbound.envelope.priority != rpc::RpcPriority::urgent);
      },
      frozen<schema::Allocation>(allocs));
}

void add_lives(rpc::MethodRouter& router, const NodeService& service) {
  serve<wire::NodeRegisterRequest>(
      router, service, Method::node_register,
      [](wire::NodeRegisterRequest::Reader request, const Inbound&) {
        return door::make_ask(view(request.getNode().getId()),
                              [](AskBuilder& ask) { ask.setRegister(); },
                              {Object<schema::Node>::freeze(request.getNode())});
      },
      lease_reply);
  serve_filled<wire::NodeUpdateStatusRequest>(
      router, service, Method::node_update_status, lease_reply,
      [](const auto&, AskBuilder& ask, door::Rows&) { ask.setHeartbeat(); });
  serve_filled<wire::NodeUpdateDrainRequest>(
      router, service, Method::node_update_drain, drain_reply,
      [](const auto& request, AskBuilder& ask, door::Rows&) {
        auto drain = ask.initDrain();
        drain.setStart(request.getStart());
        drain.setDeadline(request.getDeadline());
        drain.setIgnoreSystemJobs(request.getIgnoreSystemJobs());
      });
  serve_filled<wire::NodeEmitEventsRequest>(
      router, service, Method::node_emit_events, done_reply,
      [](const auto& request, AskBuilder& ask, door::Rows& rows) {
        ask.setEmitEvents();
        rows = frozen<schema::NodeEvent>(request.getEvents());
      });
}

void add_allocs(rpc::MethodRouter& router, const NodeService& service) {
  serve_filled<wire::NodeAllocsRequest>(
      router, service, Method::node_get_client_allocs, allocs_reply,
      [](const auto& request, AskBuilder& ask, door::Rows&) {
        ask.setWatchAllocs(request.getMinIndex());
        ask.setMaxWaitMs(std::min(request.getMaxWaitMs(), longest_wait_ms));
      });
  serve<wire::NodeUpdateAllocRequest>(router, service, Method::node_update_alloc, read_report,
                                      done_reply);
  serve_filled<wire::NodeAwaitPreviousRequest>(
      router, service, Method::node_await_previous, previous_reply,
      [](const auto& request, AskBuilder& ask, door::Rows&) {
        ask.setAwaitPrevious(request.getAllocId());
        ask.setMaxWaitMs(std::min(request.getMaxWaitMs(), longest_wait_ms));
      });
}

void add_data(rpc::MethodRouter& router, const NodeService& service) {
  serve_filled<wire::NodeRegisterServicesRequest>(
      router, service, Method::node_register_services, done_reply,
      [](const auto& request, AskBuilder& ask, door::Rows& rows) {
        ask.setRegisterServices();
        rows = frozen<schema::ServiceRegistration>(request.getServices());
      });
  serve_filled<wire::NodeDeregisterServicesRequest>(
      router, service, Method::node_deregister_services, done_reply,
      [](const auto& request, AskBuilder& ask, door::Rows&) {
        auto order = ask.initDeregisterServices();
        order.setAllocId(request.getAllocId());
        order.setIds(request.getIds());
      });
  serve_filled<wire::NodeWatchDataRequest>(
      router, service, Method::node_watch_data, data_reply,
      [](const auto& request, AskBuilder& ask, door::Rows&) {
        auto query = ask.initWatchData();
        query.setKind(request.getKind());
        query.setNamespace(request.getNamespace());
        query.setName(request.getName());
        query.setTag(request.getTag());
        query.setChoose(request.getChoose());
        query.setKnown(request.getKnown());
        ask.setMaxWaitMs(std::min(request.getMaxWaitMs(), longest_wait_ms));
      });
}

}  // namespace

void add_earlier_node_methods(rpc::MethodRouter& router, const NodeService& service) {
  add_lives(router, service);
  add_allocs(router, service);
  add_data(router, service);
}

}  // namespace nomad::server
