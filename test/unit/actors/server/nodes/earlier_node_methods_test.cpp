// What client nodes of earlier releases ask is answered as they know it.
#include "actors/server/nodes/earlier_node_methods.hpp"

#include <doctest/doctest.h>

#include "node_fixture.hpp"
#include "runtime/cluster/data/stored_rights.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::test {
namespace {

namespace wire = schema::rpc;
using rpc::Method;

struct EarlierFixture : NodeFixture {
  NodeService service{system(), {store, [] { return std::vector<KnownServer>{}; }}};
  rpc::MethodRouter router{"global", access::Authenticator::make(
                                         {.enforces = false, .lookup = cluster::lookup_in(store)})};

  EarlierFixture() {
    service.add_to(router);
    service.open({tracker, endpoint}, {});
    settle();
  }

  ~EarlierFixture() { service.stop(); }

  /// What `method` answers; the node proves itself by its secret.
  template <class Request, class Reply, class Fill>
  Result<Object<Reply>> call(Method method, Fill fill) {
    net::RpcPeer peer;
    peer.hello.role = net::RpcRole::client;
    peer.hello.region = "global";
    auto answer = std::make_shared<std::optional<Result<Bytes>>>();
    rpc::Inbound inbound;
    inbound.envelope.method = method;
    inbound.envelope.region = "global";
    inbound.envelope.priority = rpc::RpcPriority::urgent;
    inbound.body = rpc::make_body<Request>(fill);
    inbound.reply = rpc::ReplyTo{[answer](Result<Bytes> outcome) { *answer = std::move(outcome); }};
    inbound.envelope.credentials = {"", id, "secret"};
    router.serve(peer, inbound);
    settle();
    commit();
    settle();
    REQUIRE(answer->has_value());
    if (!**answer) return (**answer).error();
    return Object<Reply>::from_bytes((**answer)->view());
  }
};

}  // namespace

TEST_CASE_FIXTURE(EarlierFixture, "earlier methods: a node registers, beats, runs and reports") {
  const auto lease = call<wire::NodeRegisterRequest, wire::NodeLeaseReply>(
      Method::node_register, [&](auto& request) { request.setNode(*node()); });
  REQUIRE(lease.has_value());
  CHECK((*lease)->getTtlMs() >= 10'000);
  const auto beaten = call<wire::NodeUpdateStatusRequest, wire::NodeLeaseReply>(
      Method::node_update_status, [&](auto& request) { request.setNodeId(text(id)); });
  REQUIRE(beaten.has_value());
  CHECK((*beaten)->getServerTime() != 0);
  CHECK(status() == NodeStatus::READY);

  register_job(make_job("web", 2));
  const auto first = place(0);
  const auto second = place(1);
  const auto allocs = call<wire::NodeAllocsRequest, wire::NodeAllocsReply>(
      Method::node_get_client_allocs, [&](auto& request) { request.setNodeId(text(id)); });
  REQUIRE(allocs.has_value());
  CHECK((*allocs)->getComplete());
  REQUIRE((*allocs)->getAllocs().size() == 2);
  CHECK((*allocs)->getJobs().size() == 1);
  CHECK(view((*allocs)->getJobs()[0].getId()) == "web");

  const auto told = call<wire::NodeUpdateAllocRequest, wire::NodeUpdateAllocReply>(
      Method::node_update_alloc, [&](auto& request) {
        request.setNodeId(text(id));
        auto list = request.initAllocs(1);
        list.setWithCaveats(0, make_report(first, id, schema::ClientStatus::RUNNING).reader());
        list[0].setReportNumber(5);
      });
  REQUIRE(told.has_value());
  CHECK((*told)->getIndex() > 0);
  CHECK(state().alloc(first)->alloc->client_status() == schema::ClientStatus::RUNNING);
  CHECK(state().alloc(first)->alloc->report_number() == 5);
  CHECK(state().alloc(second)->alloc->report_number() == 0);
}

TEST_CASE_FIXTURE(EarlierFixture, "earlier methods: a report is of the node that it names first") {
  REQUIRE(register_node().has_value());
  const auto report_of = [&](const std::string& node_id) {
    return call<wire::NodeUpdateAllocRequest, wire::NodeUpdateAllocReply>(
        Method::node_update_alloc,
        [&](auto& request) { request.initAllocs(1)[0].setNodeId(text(node_id)); });
  };
  CHECK(report_of(id).has_value());  // Allocations that nobody knows are passed over.
  register_job(make_job("web", 1));
  const auto other = add_node();
  CHECK(report_of(other).error().code == Errc::permission_denied);
}

TEST_CASE_FIXTURE(EarlierFixture, "earlier methods: drains, services and events") {
  REQUIRE(register_node().has_value());
  const auto drain = call<wire::NodeUpdateDrainRequest, wire::NodeUpdateDrainReply>(
      Method::node_update_drain, [&](auto& request) { request.setNodeId(text(id)); });
  REQUIRE(drain.has_value());
  CHECK_FALSE((*drain)->getDraining());
  const auto event = call<wire::NodeEmitEventsRequest, wire::NodeUpdateAllocReply>(
      Method::node_emit_events, [&](auto& request) {
        request.setNodeId(text(id));
        auto one = request.initEvents(1)[0];
        one.setSubsystem("Driver");
        one.setMessage("Healthy");
        one.setTimestamp(1);
      });
  REQUIRE(event.has_value());
  CHECK(view(state().node(id)->getEvents()[state().node(id)->getEvents().size() - 1].getMessage())
        == "Healthy");
  const auto gone = call<wire::NodeDeregisterServicesRequest, wire::NodeUpdateAllocReply>(
      Method::node_deregister_services, [&](auto& request) {
        request.setNodeId(text(id));
        request.setAllocId(text(make_uuid(random)));
      });
  CHECK(gone.has_value());
}

}  // namespace nomad::test
