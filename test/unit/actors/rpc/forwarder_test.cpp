#include "actors/rpc/forwarder.hpp"

#include <deque>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::rpc;
using namespace std::chrono_literals;
using forwarder::SendOn;
using transport::Call;
using transport::Delivery;
using transport::Reply;

namespace {

/// What the fake transport answers, one after the other, and what it was asked.
struct Script {
  std::deque<Reply> replies;
  std::vector<Call> calls;
};

Transport fake_transport(actor::System& system, std::shared_ptr<Script> script) {
  return actor::spawn(system, [script](Transport::pointer) -> Transport::behavior_type {
    return {
        [script](const Call& call) {
          script->calls.push_back(call);
          if (script->replies.empty()) return Reply{Bytes::copy("ok"), Delivery::answered};
          auto reply = script->replies.front();
          script->replies.pop_front();
          return reply;
        },
        [](const transport::CallNode&) { return Reply{}; },
        [](const transport::OpenStream&) { return transport::Opened{}; },
        [](const transport::Post&) {},
        [](const transport::HasNode&) { return transport::NodeConnected{}; },
        [](const transport::NoteNode&) {},
    };
  });
}

struct Fixture : test::ActorFixture {
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::shared_ptr<std::string> leader = std::make_shared<std::string>("a:1");
  Forwarder forwarder = adopt(spawn_forwarder(system(),
                                              adopt(fake_transport(system(), script)),
                                              {.region = "global",
                                               .leader_address =
                                                   [leader = leader] {
                                                     return LeaderAddress{false, *leader};
                                                   },
                                               .servers_in =
                                                   [](const std::string& region) {
                                                     return region == "eu"
                                                                ? std::vector<std::string>{"e:1"}
                                                                : std::vector<std::string>{};
                                                   }},
                                              {}));

  Answer<Reply> send(Method method, const std::string& region = "global", std::uint8_t hops = 0) {
    Call call;
    call.method = method;
    call.region = region;
    call.hops = hops;
    call.timeout = 10s;
    return ask<Reply>(forwarder, SendOn{call});
  }
};

Reply failed(const Error& error, Delivery delivery) {
  return {error, delivery};
}

const Error nobody_leads{Errc::no_leader, "No cluster leader"};
const Error lost{Errc::unavailable, "hung up"};

}  // namespace

TEST_CASE("forwarder: a request goes to the leader, one hop further") {
  Fixture test;
  const auto answer = test.send(Method::node_register);
  REQUIRE(*answer);
  CHECK((*answer)->value().outcome.value().text() == "ok");
  REQUIRE(test.script->calls.size() == 1);
  CHECK(test.script->calls[0].to.address == "a:1");
  CHECK(test.script->calls[0].hops == 1);
}

TEST_CASE("forwarder: it waits for a leader, for five seconds at most") {
  Fixture test;
  *test.leader = "";
  const auto patient = test.send(Method::node_register);
  test.advance(2s);
  CHECK_FALSE(*patient);
  *test.leader = "b:1";
  test.advance(1s);
  REQUIRE(*patient);
  CHECK((*patient)->value().outcome);
  CHECK(test.script->calls.at(0).to.address == "b:1");

  *test.leader = "";
  const auto in_vain = test.send(Method::node_register);
  test.advance(5s);
  REQUIRE(*in_vain);
  CHECK((*in_vain)->value().outcome.error() == nobody_leads);
  CHECK((*in_vain)->value().delivery == Delivery::surely_not);
}

TEST_CASE("forwarder: who turns out not to lead is asked again, or his successor") {
  Fixture test;
  test.script->replies = {failed(nobody_leads, Delivery::answered)};
  const auto answer = test.send(Method::api_forward);
  test.advance(1s);
  REQUIRE(*answer);
  CHECK((*answer)->value().outcome);
  CHECK(test.script->calls.size() == 2);
}

TEST_CASE("forwarder: what may have arrived is repeated only if its method allows it") {
  Fixture test;
  test.script->replies = {failed(lost, Delivery::maybe)};
  const auto once = test.send(Method::api_forward);
  test.advance(5s);
  REQUIRE(*once);
  CHECK((*once)->value().delivery == Delivery::maybe);
  CHECK(test.script->calls.size() == 1);

  test.script->calls.clear();
  test.script->replies = {failed(lost, Delivery::maybe)};
  const auto again = test.send(Method::node_update_status);
  test.advance(5s);
  REQUIRE(*again);
  CHECK((*again)->value().outcome);
  CHECK(test.script->calls.size() == 2);

  test.script->calls.clear();
  test.script->replies = {failed(lost, Delivery::surely_not)};
  const auto unsent = test.send(Method::api_forward);
  test.advance(5s);
  REQUIRE(*unsent);
  CHECK((*unsent)->value().outcome);
}

TEST_CASE("forwarder: an error of whoever serves it is the answer") {
  Fixture test;
  test.script->replies = {failed({Errc::not_found, "node not found"}, Delivery::answered)};
  const auto answer = test.send(Method::node_update_status);
  REQUIRE(*answer);
  CHECK((*answer)->value().outcome.error().code == Errc::not_found);
  CHECK(test.script->calls.size() == 1);
}

TEST_CASE("forwarder: other regions, and requests that go in circles") {
  Fixture test;
  const auto there = test.send(Method::api_forward, "eu");
  REQUIRE(*there);
  CHECK((*there)->value().outcome);
  CHECK(test.script->calls.at(0).to.address == "e:1");
  const auto nowhere = test.send(Method::api_forward, "mars");
  REQUIRE(*nowhere);
  CHECK((*nowhere)->value().outcome.error() == Error{Errc::unavailable, "No path to region"});
  const auto circle = test.send(Method::api_forward, "eu", 2);
  REQUIRE(*circle);
  CHECK((*circle)->value().outcome.error().what == "the request was sent on too often");
}
