// Who may speak for a node: the secret of the very request decides, whoever sends it.
#include "actors/server/node_service.hpp"

#include <doctest/doctest.h>

#include "actors/rpc/tcp_transport.hpp"
#include "node_fixture.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::test {
namespace {

namespace wire = schema::rpc;
using rpc::Method;

struct ServiceFixture : NodeFixture {
  NodeService service{system(), {store, [] { return std::vector<KnownServer>{}; }}};
  rpc::MethodRouter router{"global"};

  ServiceFixture() {
    service.add_to(router);
    REQUIRE(register_node("secret").has_value());
  }

  ~ServiceFixture() { service.stop(); }

  /// What the service says at once; none when it asks the endpoint.
  std::optional<Error> refusal(Method method,
                               Bytes body,
                               const rpc::Credentials& credentials,
                               net::RpcRole role = net::RpcRole::client,
                               rpc::RpcPriority priority = rpc::RpcPriority::normal) {
    net::RpcPeer peer;
    peer.remote = "10.0.0.9:4711";
    peer.hello.role = role;
    peer.hello.region = "global";
    auto answer = std::make_shared<std::optional<Error>>();
    rpc::Inbound inbound;
    inbound.envelope.method = method;
    inbound.envelope.region = "global";
    inbound.envelope.priority = priority;
    inbound.body = std::move(body);
    inbound.reply = rpc::ReplyTo{[answer](Result<Bytes> outcome) {
      if (!outcome) *answer = outcome.error();
    }};
    const auto known = [this](const std::string& node) { return service.secret_of(node); };
    router.serve(rpc::identify(peer, credentials, known), inbound);
    return *answer;
  }

  Bytes heartbeat(const std::string& node_id) {
    return rpc::make_body<wire::NodeUpdateStatusRequest>(
        [&](auto& request) { request.setNodeId(text(node_id)); });
  }

  Bytes watch(const std::string& node_id) {
    return rpc::make_body<wire::NodeAllocsRequest>(
        [&](auto& request) { request.setNodeId(text(node_id)); });
  }

  Bytes update(const std::string& node_id) {
    return rpc::make_body<wire::NodeUpdateAllocRequest>(
        [&](auto& request) { request.setNodeId(text(node_id)); });
  }
};

}  // namespace

TEST_CASE_FIXTURE(ServiceFixture, "node_service: only the node's secret speaks for the node") {
  const Error denied{Errc::permission_denied, "Permission denied"};
  const std::pair<Method, Bytes> questions[] = {
      {Method::node_update_status, heartbeat(id)},
      {Method::node_get_client_allocs, watch(id)},
      {Method::node_update_alloc, update(id)},
      {Method::node_await_previous, rpc::make_body<wire::NodeAwaitPreviousRequest>(
                                        [&](auto& request) { request.setNodeId(text(id)); })},
      {Method::node_register_services, rpc::make_body<wire::NodeRegisterServicesRequest>(
                                           [&](auto& request) { request.setNodeId(text(id)); })},
      {Method::node_deregister_services, rpc::make_body<wire::NodeDeregisterServicesRequest>(
                                             [&](auto& request) { request.setNodeId(text(id)); })}};
  for (const auto& [method, body] : questions) {
    CHECK(refusal(method, body, {}) == denied);
    CHECK(refusal(method, body, {"", id, "wrong"}) == denied);
    CHECK(refusal(method, body, {"", id, ""}) == denied);
    CHECK(refusal(method, body, {"token", "", "secret"}) == denied);
    CHECK(refusal(method, body, {"", make_uuid(random), "secret"}) == denied);
    CHECK(refusal(method, body, {}, net::RpcRole::server) == denied);  // nor does a server's link
    CHECK_FALSE(refusal(method, body, {"", id, "secret"}).has_value());
  }
}

TEST_CASE_FIXTURE(ServiceFixture, "node_service: a change of ClientStatus overtakes what waits") {
  std::vector<std::string> order;
  const auto endpoint = adopt(
      actor::spawn(system(), [&](NodeEndpoint::pointer self) -> NodeEndpoint::behavior_type {
        return {[&order, self](
                    const server_link::WatchAllocs&) -> actor::Answer<server_link::AssignedAllocs> {
                  order.emplace_back("watch");
                  return self->make_response_promise<server_link::AssignedAllocs>();
                },
                [&order, self](
                    const server_link::UpdateAllocs& msg) -> actor::Answer<server_link::Updated> {
                  order.emplace_back(msg.may_wait ? "update that may wait" : "update");
                  return self->make_response_promise<server_link::Updated>();
                },
                [](const server_link::RegisterServices&) { return server_link::Updated{}; },
                [](const server_link::DeregisterServices&) { return server_link::Updated{}; },
                [](const server_link::EmitEvents&) { return server_link::Updated{}; },
                [](const server_link::DrainNode&) { return server_link::NodeDrain{}; },
                [](const server_link::AwaitPrevious&) { return server_link::Previous{}; }};
      }));
  settle();
  service.open({tracker, endpoint}, {});
  const rpc::Credentials own{"", id, "secret"};
  for (int number = 0; number < 40; ++number)
    CHECK_FALSE(refusal(Method::node_get_client_allocs, watch(id), own).has_value());
  CHECK_FALSE(refusal(Method::node_update_alloc, update(id), own).has_value());
  CHECK_FALSE(refusal(Method::node_update_alloc, update(id), own, net::RpcRole::client,
                      rpc::RpcPriority::urgent)
                  .has_value());
  settle();
  REQUIRE(order.size() == 42);
  CHECK(order.front() == "update");
  CHECK(std::ranges::count(order, "update that may wait") == 1);
}

TEST_CASE_FIXTURE(ServiceFixture, "node_service: an update is of the node that it names first") {
  const auto other = make_uuid(random);
  const auto body = rpc::make_body<wire::NodeUpdateAllocRequest>([&](auto& request) {
    auto allocs = request.initAllocs(1);
    allocs[0].setNodeId(text(id));
  });

  CHECK(refusal(Method::node_update_alloc, body, {"", other, "secret"})->code
        == Errc::permission_denied);
  CHECK_FALSE(refusal(Method::node_update_alloc, body, {"", id, "secret"}).has_value());
}

TEST_CASE_FIXTURE(ServiceFixture, "node_service: what is no message is refused") {
  CHECK(refusal(Method::node_register, Bytes::copy("no message"), {}).has_value());
  CHECK(refusal(Method::node_update_status, {}, {"", id, "secret"}).has_value());
}

}  // namespace nomad::test
