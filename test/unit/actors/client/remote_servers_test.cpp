// actors/client/remote_servers.hpp: a heartbeat or a change of ClientStatus overtakes what waits,
// in the mailbox and in the transport's.
#include "actors/client/remote_servers.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"
#include "test/support/door.hpp"

using namespace nomad;
using namespace nomad::client;

namespace {

/// A transport that never answers, and what it was asked.
struct RemoteFixture : test::ActorFixture {
  std::vector<std::string> asked;
  std::shared_ptr<ServerList> list = std::make_shared<ServerList>();
  std::optional<door::Reply> answer;  ///< What it answers; unset: nothing.
  rpc::CallTransport transport = adopt(actor::spawn(
      system(), [this](rpc::CallTransport::pointer self) -> rpc::CallTransport::behavior_type {
        return {[this,
                 self](const rpc::transport::Call& call) -> actor::Answer<rpc::transport::Reply> {
          if (call.method == rpc::Method::status_ping) return ping(call.to.address);
          asked.emplace_back(door::info(door::unpack_ask(call.body).value()).name);
          if (answer)
            return rpc::transport::Reply{door::pack(*answer), rpc::transport::Delivery::answered};
          return self->make_response_promise<rpc::transport::Reply>();
        }};
      }));
  RemoteServers servers = adopt(spawn_remote_servers(
      system(), transport, {.servers = {"10.0.0.7:4647"}, .region = "global", .list = list}));

  static rpc::transport::Reply ping(const std::string& address) {
    if (address.starts_with("10.")) return {Bytes{}, rpc::transport::Delivery::answered};
    return {Error{Errc::unavailable, "nobody listens"}, rpc::transport::Delivery::surely_not};
  }

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

TEST_CASE_FIXTURE(RemoteFixture, "remote_servers: what is urgent overtakes a full mailbox") {
  settle();
  at_once([this](actor::Any::pointer self) {
    const auto send = [&](const door::Ask& question) {
      self->request(servers, actor::infinite, question, door::priority_of(question))
          .then([](const door::Reply&) {}, [](const Error&) {});
    };
    for (int number = 0; number < 50; ++number)
      send(test::watch_allocs("n"));
    send(test::update_allocs("n", {}, /*may_wait=*/true));
    send(test::heartbeat_of("n"));
    send(test::update_allocs("n", {}));
  });
  REQUIRE(asked.size() == 53);
  CHECK(asked[0] == "heartbeat");
  CHECK(asked[1] == "updateAllocs");
  CHECK(asked[2] == "watchAllocs");
  CHECK(asked[52] == "updateAllocs");
}

TEST_CASE_FIXTURE(RemoteFixture, "remote_servers: the answer to another question is refused") {
  answer = door::done(7);
  const auto updated = ask<door::Reply>(servers, test::update_allocs("n", {}));
  const auto watched = ask<door::Reply>(servers, test::watch_allocs("n"));
  REQUIRE((updated->has_value() && watched->has_value()));
  CHECK((***updated)->getIndex() == 7);
  CHECK((*watched)->error().code == Errc::corrupt);
}

TEST_CASE_FIXTURE(RemoteFixture, "remote_servers: an operator's servers are those that answer") {
  using remote_servers::Use;
  using remote_servers::Used;
  const auto used = ask<Used>(
      servers, Use{{"10.0.0.8:4647", "192.0.2.1:4647", "10.0.0.9:4647", "10.0.0.8:4647"}});
  REQUIRE((used->has_value() && (*used)->has_value()));
  CHECK((**used)->count == 2);
  auto now = list->addresses();
  std::ranges::sort(now);
  CHECK(now == std::vector<std::string>{"10.0.0.8:4647", "10.0.0.9:4647"});
}

TEST_CASE_FIXTURE(RemoteFixture, "remote_servers: servers stay as they are when no other answers") {
  using remote_servers::Use;
  using remote_servers::Used;
  const auto refused = ask<Used>(servers, Use{{"192.0.2.1:4647"}});
  REQUIRE(refused->has_value());
  CHECK((*refused)->error()
        == Error{Errc::rejected, "Server at address 192.0.2.1:4647 failed ping: nobody listens"});
  const auto twice = ask<Used>(servers, Use{{"192.0.2.1:4647", "192.0.2.1:4647"}});
  CHECK((*twice)->error() == (*refused)->error());  // it is told once
  const auto none = ask<Used>(servers, Use{});
  CHECK((*none)->error().what == "expected 1 to 100 addresses of servers, not 0");
  CHECK(list->addresses() == std::vector<std::string>{"10.0.0.7:4647"});
}
