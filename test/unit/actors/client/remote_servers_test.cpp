// actors/client/remote_servers.hpp: a heartbeat or a change of ClientStatus overtakes what waits,
// in the mailbox and in the transport's.
#include "actors/client/remote_servers.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace nomad::client;
using rpc::Method;

namespace {

/// A transport that never answers, and what it was asked.
struct RemoteFixture : test::ActorFixture {
  std::vector<Method> asked;
  rpc::CallTransport transport = adopt(actor::spawn(
      system(), [this](rpc::CallTransport::pointer self) -> rpc::CallTransport::behavior_type {
        return {
            [this, self](const rpc::transport::Call& call) -> actor::Answer<rpc::transport::Reply> {
              asked.push_back(call.method);
              return self->make_response_promise<rpc::transport::Reply>();
            }};
      }));
  ServerLink servers = adopt(spawn_remote_servers(
      system(), transport, {.servers = {"10.0.0.7:4647"}, .region = "global"}));

  /// `send` asks all of its questions before anybody else gets a turn.
  template <class Send>
  void at_once(Send send) {
    adopt(actor::spawn(system(), [send](actor::Any::pointer self) -> actor::Any::behavior_type {
      send(self);
      return {};
    }));
    settle();
  }
};

}  // namespace

TEST_CASE_FIXTURE(RemoteFixture, "remote_servers: services go to the servers") {
  settle();
  at_once([this](actor::Any::pointer self) {
    self->request(servers, actor::infinite,
                  server_link::RegisterServices{.node_id = "n", .services = {}})
        .then([](const server_link::Updated&) {}, [](const Error&) {});
    self->request(servers, actor::infinite,
                  server_link::DeregisterServices{.node_id = "n", .alloc_id = "a", .ids = {"x"}})
        .then([](const server_link::Updated&) {}, [](const Error&) {});
  });
  CHECK(asked == std::vector{Method::node_register_services, Method::node_deregister_services});
}

TEST_CASE_FIXTURE(RemoteFixture, "remote_servers: what is urgent overtakes a full mailbox") {
  settle();
  at_once([this](actor::Any::pointer self) {
    for (int number = 0; number < 50; ++number)
      self->request(servers, actor::infinite, server_link::WatchAllocs{.node_id = "n"})
          .then([](const server_link::AssignedAllocs&) {}, [](const Error&) {});
    self->request(servers, actor::infinite,
                  server_link::UpdateAllocs{.node_id = "n", .allocs = {}, .may_wait = true})
        .then([](const server_link::Updated&) {}, [](const Error&) {});
    self->request(servers, actor::infinite, server_link::Heartbeat{"n"}, actor::Priority::urgent)
        .then([](const server_link::Lease&) {}, [](const Error&) {});
    self->request(servers, actor::infinite, server_link::UpdateAllocs{.node_id = "n", .allocs = {}},
                  actor::Priority::urgent)
        .then([](const server_link::Updated&) {}, [](const Error&) {});
  });
  REQUIRE(asked.size() == 53);
  CHECK(asked[0] == Method::node_update_status);
  CHECK(asked[1] == Method::node_update_alloc);
  CHECK(asked[2] == Method::node_get_client_allocs);
  CHECK(asked[52] == Method::node_update_alloc);
}
