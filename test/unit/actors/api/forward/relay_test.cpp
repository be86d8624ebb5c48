// What is tried again when an answer is lost.
#include "actors/api/forward/relay.hpp"

#include <chrono>
#include <vector>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;
namespace transport = nomad::rpc::transport;

namespace {

/// What was sent to the other agent, in order.
struct Sent {
  std::mutex guard;
  std::vector<std::function<void(transport::Reply)>> attempts;

  void note(std::function<void(transport::Reply)> attempt) {
    {
      const std::lock_guard lock{guard};
      attempts.push_back(std::move(attempt));
    }
    test::note_change();
  }

  std::size_t count() {
    const std::lock_guard lock{guard};
    return attempts.size();
  }

  /// The connection is lost, with what came of attempt `number`.
  void lose(std::size_t number) {
    std::function<void(transport::Reply)> done;
    {
      const std::lock_guard lock{guard};
      done = attempts[number];
    }
    done({Error{Errc::unavailable, "reset"}, transport::Delivery::maybe});
  }
};

struct PlayedTransportState {
  static constexpr const char* name = "played_transport";
};

rpc::Transport::behavior_type play_transport(rpc::Transport::stateful_pointer<PlayedTransportState>,
                                             std::shared_ptr<Sent> sent) {
  return {
      [](const transport::Call&) { return transport::Reply{}; },
      [](const transport::CallNode&) { return transport::Reply{}; },
      [sent](const transport::OpenStream& msg) {
        sent->note(msg.done);
        return transport::Opened{std::make_shared<SilentStream>(), [] {}};
      },
      [](const transport::Post&) {},
      [](const transport::HasNode&) { return transport::NodeConnected{}; },
      [](const transport::NoteNode&) {},
  };
}

/// A request that is passed on to an agent that answers nothing.
struct Passed {
  explicit Passed(const std::string& method) {
    ApiOptions options;
    fixture.emplace([&](ApiOptions& made) { options = made; });
    options.peers.transport = played;
    context = std::make_shared<Context>(system, options);
    exchange->request.method = method;
    exchange->request.path = exchange->request.target = "/v1/jobs";
    relay(
        Call{context, net::Responder{exchange}, ""},
        [](const std::function<void(Result<Found>)>& answer) {
          answer(Found{RelayTarget{.address = "10.0.0.2:4647"}});
        },
        [](const Call&) { FAIL("it is not to be served here"); });
    REQUIRE(attempts(1));
  }

  ~Passed() {
    context->stop();
    actor::stop(played);
    sent->attempts.clear();  // they hold the call, and that the context
  }

  bool attempts(std::size_t count) {
    return test::eventually([&] { return sent->count() == count; });
  }

  bool is_answered() {
    return test::eventually([&] { return exchange->answer().has_value(); });
  }

  std::optional<ApiFixture> fixture;
  std::shared_ptr<Sent> sent = std::make_shared<Sent>();
  actor::SystemConfig config;
  actor::System system{config};
  rpc::Transport played = actor::spawn(system, play_transport, sent);
  std::shared_ptr<Context> context;
  std::shared_ptr<SilentClient> exchange = std::make_shared<SilentClient>();
};

}  // namespace

TEST_CASE("relay: what changes something, and may have, is not sent again") {
  Passed write{"PUT"};
  write.sent->lose(0);
  REQUIRE(write.is_answered());
  CHECK(write.exchange->answer()->body.ends_with("(the request may have been carried out)"));
  CHECK(write.sent->count() == 1);
}

TEST_CASE("relay: a read is sent again, but not to one server after the other") {
  Passed killer{"GET"};
  killer.sent->lose(0);
  REQUIRE(killer.attempts(2));
  killer.sent->lose(1);
  REQUIRE(killer.is_answered());
  CHECK(killer.exchange->answer()->status == 500);
  CHECK(killer.sent->count() == 2);
}
