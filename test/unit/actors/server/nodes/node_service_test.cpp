// Who may speak for a node: the secret of the very request decides, whoever sends it.
#include "actors/server/nodes/node_service.hpp"

#include <doctest/doctest.h>

#include "node_fixture.hpp"
#include "runtime/cluster/data/stored_rights.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::test {
namespace {

namespace wire = schema::rpc;
using rpc::Method;

struct ServiceFixture : NodeFixture {
  NodeService service{system(), {store, [] { return std::vector<KnownServer>{}; }}};
  rpc::MethodRouter router{"global", access::Authenticator::make(
                                         {.enforces = false, .lookup = cluster::lookup_in(store)})};

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
    inbound.envelope.credentials = credentials;
    router.serve(peer, inbound);
    return *answer;
  }

  std::optional<Error> refusal(const door::Ask& question,
                               const rpc::Credentials& credentials,
                               net::RpcRole role = net::RpcRole::client) {
    return refusal(Method::node_ask, door::pack(question), credentials, role,
                   door::is_urgent(question) ? rpc::RpcPriority::urgent : rpc::RpcPriority::normal);
  }
};

}  // namespace

TEST_CASE_FIXTURE(ServiceFixture, "node_service: only the node's secret speaks for the node") {
  const Error denied{Errc::permission_denied, "Permission denied"};
  for (const auto& question :
       {heartbeat_of(id), watch_allocs(id), update_allocs(id, {}), await_previous(id, "a"),
        register_services(id, {}), deregister_services(id, "a"), watch_data(id, {}, 0)}) {
    CAPTURE(door::info(question).name);
    CHECK(refusal(question, {}) == denied);
    CHECK(refusal(question, {"", id, "wrong"}) == denied);
    CHECK(refusal(question, {"", id, ""}) == denied);
    CHECK(refusal(question, {"token", "", "secret"}) == denied);
    CHECK(refusal(question, {"", make_uuid(random), "secret"}) == denied);
    CHECK(refusal(question, {}, net::RpcRole::server) == denied);  // nor does a server's link
    CHECK_FALSE(refusal(question, {"", id, "secret"}).has_value());
  }
}

TEST_CASE_FIXTURE(ServiceFixture, "node_service: whom the servers do not know gets no secrets") {
  const Error denied{Errc::permission_denied, "Permission denied"};
  const auto stranger = make_uuid(random);
  CHECK_FALSE(refusal(heartbeat_of(stranger), {}).has_value());  // The tracker says "not found".
  CHECK(refusal(await_previous(stranger, "a"), {}) == denied);
  CHECK(refusal(watch_data(stranger, {}, 0), {"", stranger, "secret"}) == denied);
}

TEST_CASE_FIXTURE(ServiceFixture, "node_service: a change of ClientStatus overtakes what waits") {
  std::vector<std::string> order;
  const auto endpoint
      = adopt(actor::spawn(system(), [&](NodeDoor::pointer self) -> NodeDoor::behavior_type {
          return {[&order, self](const door::Ask& msg) -> actor::Answer<door::Reply> {
            order.emplace_back(door::info(msg).name);
            if (msg->getMayWait()) order.back() += " that may wait";
            return self->make_response_promise<door::Reply>();
          }};
        }));
  settle();
  service.open({tracker, endpoint}, {});
  const rpc::Credentials own{"", id, "secret"};
  for (int number = 0; number < 40; ++number)
    CHECK_FALSE(refusal(watch_allocs(id), own).has_value());
  CHECK_FALSE(refusal(update_allocs(id, {}, true), own).has_value());
  CHECK_FALSE(refusal(update_allocs(id, {}), own).has_value());
  settle();
  REQUIRE(order.size() == 42);
  CHECK(order.front() == "updateAllocs");
  CHECK(std::ranges::count(order, "updateAllocs that may wait") == 1);
}

TEST_CASE_FIXTURE(ServiceFixture, "node_service: what is no message is refused") {
  CHECK(refusal(Method::node_ask, Bytes::copy("no message"), {}).has_value());
  CHECK(refusal(Method::node_ask, {}, {"", id, "secret"}).has_value());
  CHECK(refusal(Method::node_update_status, {}, {"", id, "secret"}).has_value());
}

}  // namespace nomad::test
