// actors/core/newest.hpp, and what bounds mailboxes of all actors: what is refused, and when.
#include "actors/core/newest.hpp"

#include <doctest/doctest.h>

#include "actors/core/asker.hpp"
#include "actors/core/caf_actor.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using actor::CafActor;
using actor::Priority;

namespace {

struct Standing {
  using is_message = void;
  int number = 0;
  int stands_for = 1;

  void stand_for(const Standing& earlier) { stands_for += earlier.stands_for; }
};

struct Flood {
  using is_message = void;
  int count = 0;
  enum class End { none, flush, drop } end = End::none;
  Priority priority = Priority::normal;
};

struct Question {
  using is_message = void;
};

struct Reply {
  using is_message = void;
};

/// Asks `dest` so often, and counts what came of it.
struct AskMany {
  using is_message = void;
  std::uint64_t count = 0;
  Priority priority = Priority::normal;
};

using Slow = actor::Interface<void(Standing), Reply(Question)>;
using Teller = actor::Interface<void(Flood)>;
using Curious = actor::Interface<void(AskMany)>;

struct SlowState {
  static constexpr const char* name = "slow";

  std::vector<int> seen;
};

struct TellerState {
  static constexpr const char* name = "teller";

  actor::Newest<Slow, Standing> news;
  int last = 0;
};

struct BoundFixture : test::ActorFixture {
  std::vector<int> seen;
  int stood_for = 0;  ///< All of them together.
  std::uint64_t answered = 0;
  std::vector<Error> refused;
  Slow slow = adopt(
      actor::spawn(system(), [this](Slow::stateful_pointer<SlowState>) -> Slow::behavior_type {
        return {[this](const Standing& msg) {
                  seen.push_back(msg.number);
                  stood_for += msg.stands_for;
                },
                [](Question) { return Reply{}; }};
      }));
  Teller teller = adopt(actor::spawn(
      system(), [to = slow](Teller::stateful_pointer<TellerState> self) -> Teller::behavior_type {
        return {[self, to](const Flood& msg) {
          for (int i = 0; i < msg.count; ++i)
            self->state.news.tell(self, to, Standing{++self->state.last}, msg.priority);
          if (msg.end == Flood::End::flush) self->state.news.flush(self);
          if (msg.end == Flood::End::drop) self->state.news.drop();
        }};
      }));

  Curious spawn_curious() {
    return adopt(actor::spawn(system(), [this](Curious::pointer self) -> Curious::behavior_type {
      return {[this, self](const AskMany& msg) {
        for (std::uint64_t i = 0; i < msg.count; ++i)
          self->request(slow, actor::infinite, Question{}, msg.priority)
              .then([this](Reply) { ++answered; },
                    [this](const Error& err) { refused.push_back(err); });
      }};
    }));
  }
};

}  // namespace

TEST_CASE_FIXTURE(BoundFixture,
                  "newest: who is slow has one message, and hears the newest at last") {
  hold("slow");
  tell(teller, Flood{1});
  for (int i = 0; i < 50; ++i)
    tell(teller, Flood{100});
  CHECK(fullest("slow") == 1);

  hold("");
  settle();
  CHECK(seen == std::vector{1, 5001});
  CHECK(stood_for == 5001);
}

TEST_CASE_FIXTURE(BoundFixture, "newest: what waits goes before the end of who tells it") {
  hold("slow");
  tell(teller, Flood{3, Flood::End::flush});
  CHECK(fullest("slow") == 2);

  hold("");
  settle();
  CHECK(seen == std::vector{1, 3});
}

TEST_CASE_FIXTURE(BoundFixture, "newest: what waits may be dropped") {
  hold("slow");
  tell(teller, Flood{3, Flood::End::drop});
  tell(teller, Flood{1});
  hold("");
  settle();
  CHECK(seen == std::vector{1, 4});
  CHECK(stood_for == 2);
}

TEST_CASE_FIXTURE(BoundFixture, "newest: what is urgent waits for nothing that is not") {
  hold("slow");
  tell(teller, Flood{1});
  tell(teller, Flood{2});
  tell(teller, Flood{1, Flood::End::none, Priority::urgent});
  CHECK(fullest("slow") == 2);
  tell(teller, Flood{5, Flood::End::none, Priority::urgent});
  tell(teller, Flood{5});
  CHECK(fullest("slow") == 2);

  hold("");
  settle();
  CHECK(seen == std::vector{4, 1, 14});
}

TEST_CASE_FIXTURE(BoundFixture, "newest: who has ended keeps nobody from telling another one") {
  tell(teller, Flood{1});
  actor::kill(slow);
  settle();
  tell(teller, Flood{2});
  slow = {};
  CHECK(seen == std::vector{1});
}

TEST_CASE_FIXTURE(BoundFixture, "mailbox: beyond a bound questions are refused at once") {
  hold("slow");
  const auto curious = spawn_curious();
  for (int i = 0; i < 256; ++i)  // Of one that asks, CAF searches the questions one by one.
    tell(spawn_curious(), AskMany{CafActor::most_waiting / 256});
  CHECK(refused.empty());
  tell(curious, AskMany{10});
  CHECK(fullest("slow") == CafActor::most_waiting);
  REQUIRE(refused.size() == 10);
  CHECK(refused.front().code == Errc::overloaded);
  CHECK(refused.front().what == "slow has too much to do");

  // What is urgent has a bound of its own, and what is told without a question passes: nobody would
  // tell it again.
  tell(curious, AskMany{1, Priority::urgent});
  tell(slow, Standing{1});
  tell(teller, Flood{12});
  CHECK(refused.size() == 10);
  hold("");
  settle();
  CHECK(answered == CafActor::most_waiting + 1);
  CHECK(seen == std::vector{1, 1, 12});
  tell(curious, AskMany{1});
  CHECK(answered == CafActor::most_waiting + 2);
}

TEST_CASE_FIXTURE(BoundFixture, "asker: beyond a bound questions fail at once") {
  constexpr std::size_t most = 100;
  actor::Asker asker{system(), 2, most};
  const auto ask_one = [&] {
    asker.ask<Reply>(slow, Question{}, actor::infinite, [this](const Result<Reply>& reply) {
      reply ? void(++answered) : refused.push_back(reply.error());
    });
  };
  hold("gateway");
  for (std::size_t i = 0; i < most + 5; ++i)
    ask_one();
  CHECK(refused.size() == 5);
  CHECK(refused.front().code == Errc::overloaded);
  CHECK(fullest("gateway") == most / 2);

  hold("");
  settle();
  CHECK(answered == most);
  ask_one();
  settle();
  CHECK(answered == most + 1);
  asker.stop();
  settle();
}
