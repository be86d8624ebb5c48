// actors/core/actor.hpp: errors through CAF, urgent messages, answers from results.
#include "actors/core/actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <doctest/doctest.h>

#include "actors/core/caf_bridge.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

struct Note {
  using is_message = void;
  int number;
};

struct Halve {
  using is_message = void;
  int number;
};

struct Half {
  using is_message = void;
  int number;
};

using Halver = actor::Interface<Half(Halve)>;

/// A message that shows whether it is still there.
struct Later {
  using is_message = void;
  std::shared_ptr<int> token;
};

using Sleeper = actor::Interface<void(Later)>;

/// What CAF's clock holds.
std::size_t scheduled(actor::System& system) {
  auto& coordinator = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  return coordinator.clock().schedule().size();
}

Halver::behavior_type halver(Halver::pointer) {
  return {[](const Halve& msg) -> actor::Answer<Half> {
    if (msg.number % 2 != 0)
      return actor::answer(Result<Half>{Error{Errc::invalid_argument, "the number is odd"}});
    return actor::answer(Result<Half>{Half{msg.number / 2}});
  }};
}

}  // namespace

TEST_CASE("actor: an error survives the trip through CAF") {
  const Error original{Errc::not_found, "no such job"};
  CHECK(actor::from_caf(actor::to_caf(original)) == original);
  CHECK(actor::from_caf(caf::sec::request_timeout).code == Errc::timeout);
  CHECK(actor::from_caf(caf::sec::request_receiver_down).code == Errc::unavailable);
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: a result becomes an answer or its error") {
  auto halves = adopt(actor::spawn(system(), halver));

  auto even = ask<Half>(halves, Halve{8});
  auto odd = ask<Half>(halves, Halve{7});

  REQUIRE(even->has_value());
  CHECK((*even)->value().number == 4);
  REQUIRE(odd->has_value());
  CHECK((*odd)->error() == Error{Errc::invalid_argument, "the number is odd"});
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: urgent messages overtake normal ones") {
  auto notes = record<Note>();

  adopt(actor::spawn(system(), [&notes](actor::Any::pointer self) -> actor::Any::behavior_type {
    for (int number : {1, 2, 3})
      self->send(notes.handle, Note{number});
    actor::send_urgent(self, notes.handle, Note{100});
    return {};
  }));
  settle();

  std::vector<int> order;
  for (auto& seen : *notes.seen)
    order.push_back(seen.number);
  CHECK(order == std::vector<int>{100, 1, 2, 3});
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: who lets another one answer passes the urgency on") {
  std::vector<int> order;
  const auto last = adopt(actor::spawn(system(), [&](Halver::pointer) -> Halver::behavior_type {
    return {[&](const Halve& msg) -> actor::Answer<Half> {
      order.push_back(msg.number);
      return actor::answer(Result<Half>{Half{0}});
    }};
  }));
  const auto first
      = adopt(actor::spawn(system(), [last](Halver::pointer self) -> Halver::behavior_type {
          return {[self, last](const Halve& msg) -> actor::Answer<Half> {
            return self->delegate(last, msg);
          }};
        }));
  adopt(actor::spawn(system(), [&](actor::Any::pointer self) -> actor::Any::behavior_type {
    for (int number : {1, 2, 3, 100})
      self->request(first, actor::infinite, Halve{number},
                    number == 100 ? actor::Priority::urgent : actor::Priority::normal)
          .then([](Half) {}, [](const Error&) {});
    return {};
  }));
  settle();
  CHECK(order == std::vector<int>{100, 1, 2, 3});
}

TEST_CASE_FIXTURE(test::ActorFixture,
                  "actor: the timeout of a request does not outlive its answer") {
  auto halves = adopt(actor::spawn(system(), halver));
  int answers = 0;
  adopt(actor::spawn(system(), [&](actor::Any::pointer self) -> actor::Any::behavior_type {
    for (int number = 0; number < 100; ++number)
      self->request(halves, std::chrono::minutes{1}, Halve{number})
          .then([&](Half) { ++answers; }, [&](const Error&) { ++answers; });
    return {};
  }));
  settle();

  CHECK(answers == 100);
  advance(30s);
  CHECK(scheduled(system()) == 0);
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: questions share one timer, and end in time") {
  auto silent = adopt(actor::spawn(system(), [](Halver::pointer self) -> Halver::behavior_type {
    return {[self, held = std::vector<actor::Promise<Half>>{}](Halve) mutable {
      held.push_back(self->make_response_promise<Half>());
      return actor::Answer<Half>{held.back()};
    }};
  }));
  std::vector<std::pair<int, std::chrono::nanoseconds>> failed;
  const auto begin = now();
  adopt(actor::spawn(system(), [&](actor::Any::pointer self) -> actor::Any::behavior_type {
    for (int seconds = 70; seconds > 0; --seconds)
      self->request(silent, std::chrono::seconds{seconds}, Halve{seconds})
          .then([](Half) {},
                [&, seconds](const Error& err) {
                  CHECK(err.code == Errc::timeout);
                  failed.emplace_back(seconds, now() - begin);
                });
    return {};
  }));
  settle();

  CHECK(scheduled(system()) == 1);
  advance(70s);
  REQUIRE(failed.size() == 70);
  for (const auto& [seconds, after] : failed)
    CHECK(after == std::chrono::seconds{seconds});
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: messages to come are in time, or don't come") {
  const auto token = std::make_shared<int>();
  std::vector<std::chrono::nanoseconds> came;
  const auto begin = now();
  auto sleeper = actor::spawn(system(), [&](Sleeper::pointer self) -> Sleeper::behavior_type {
    actor::send_self_after(self, 5min, Later{token});
    const auto dropped = actor::send_self_after(self, 2min, Later{token});
    actor::send_self_after(self, 45s, Later{token});
    actor::send_self_after(self, 5s, Later{token});
    const auto soon = actor::send_self_after(self, 1s, Later{token});
    self->cancel(dropped);
    self->cancel(soon);
    return {[&](const Later&) { came.push_back(now() - begin); }};
  });
  settle();

  CHECK(token.use_count() == 4);
  advance(4min);
  CHECK(came == std::vector<std::chrono::nanoseconds>{5s, 45s});
  CHECK(scheduled(system()) == 1);
  advance(1min);
  CHECK(came == std::vector<std::chrono::nanoseconds>{5s, 45s, 5min});
  CHECK(token.use_count() == 1);
  actor::kill(sleeper);
  settle();
}

TEST_CASE_FIXTURE(test::ActorFixture,
                  "actor: who has ended keeps nothing for messages to himself") {
  const auto token = std::make_shared<int>();
  auto sleeper = actor::spawn(system(), [&](Sleeper::pointer self) -> Sleeper::behavior_type {
    actor::send_self_after(self, 1h, Later{token});
    actor::send_self_after(self, 1s, Later{token});
    return {[](const Later&) {}};
  });
  settle();
  CHECK(token.use_count() == 3);
  actor::kill(sleeper);
  settle();

  CHECK(token.use_count() == 1);
  CHECK(scheduled(system()) == 0);
  const auto weak = actor::weak(sleeper);
  sleeper = {};
  CHECK_FALSE(weak.lock());
}
