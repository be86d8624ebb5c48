// What becomes of a write that comes to a server which leads no more when it is proposed.
#include "actors/api/forward/dispatch.hpp"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;

namespace {

/// A server that takes itself for the leader, and where `serve` serves.
struct Dispatched {
  Dispatched(const std::string& method, std::uint8_t hops) {
    fixture.emplace([&](ApiOptions& made) {
      made.peers.view.emplace();
      made.peers.view->region = made.agent.region;
      made.peers.view->leader_address = [] {
        rpc::LeaderAddress own;
        own.is_self = true;
        return own;
      };
      made.peers.view->servers_in = [](const std::string&) { return std::vector<std::string>{}; };
      options = made;
    });
    context = std::make_shared<Context>(system, options);
    exchange->request.method = method;
    exchange->request.path = exchange->request.target = "/v1/jobs";
    exchange->request.hops = hops;
    dispatch(Where::by_method, Call{context, net::Responder{exchange}, ""}, [this](Call call) {
      ++tries;
      call.settle(refusals-- > 0 ? Outcome{no_leader()} : Outcome{Answer::text(200, "done")});
    });
  }

  ~Dispatched() { context->stop(); }

  net::Response answer() {
    REQUIRE(test::eventually([&] { return exchange->answer().has_value(); }));
    return *exchange->answer();
  }

  std::atomic<int> tries{0};
  std::atomic<int> refusals{2};
  ApiOptions options;
  std::optional<ApiFixture> fixture;
  actor::SystemConfig config;
  actor::System system{config};
  std::shared_ptr<Context> context;
  std::shared_ptr<SilentClient> exchange = std::make_shared<SilentClient>();
};

bool says_unserved(const net::Response& response) {
  for (const auto& header : response.headers)
    if (header.name == "X-Nomadctl-Unserved") return true;
  return false;
}

}  // namespace

TEST_CASE("dispatch: a write that nobody has led into the log is tried again") {
  Dispatched write{"PUT", 0};
  CHECK(write.answer().body == "done");
  CHECK(write.tries == 3);
}

TEST_CASE("dispatch: a write that was passed on is passed back when nobody leads here any more") {
  Dispatched write{"PUT", 1};
  const auto answer = write.answer();
  CHECK(answer.status == 500);
  CHECK(answer.body == "No cluster leader");
  CHECK(says_unserved(answer));
  CHECK(write.tries == 1);
}

TEST_CASE("dispatch: who reads is told at once that nobody leads") {
  Dispatched read{"GET", 0};
  CHECK(read.answer().body == "No cluster leader");
  CHECK(read.tries == 1);
}
