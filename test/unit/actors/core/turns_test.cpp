// actors/core/turns.hpp: in the actor's turn, among its messages; nothing once it has ended or has
// begun anew.
#include "actors/core/turns.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using actor::Policy;

namespace {

struct Say {
  using is_message = void;
  std::string what;
};

struct GiveTurns {
  using is_message = void;
  actor::Priority priority = actor::Priority::normal;
};

struct GivenTurns {
  using is_message = void;
  Turns turns;
  std::string* said = nullptr;  ///< The actor's state.
};

struct SayLater {
  using is_message = void;
  std::string what;
};

struct Break {
  using is_message = void;
};

using Speaker = actor::Interface<void(Say), void(SayLater), void(Break), GivenTurns(GiveTurns)>;

struct SpeakerState {
  static constexpr const char* name = "speaker";

  std::string said;
};

Speaker::behavior_type speaker(Speaker::stateful_pointer<SpeakerState> self) {
  return {
      [self](const Say& msg) { self->state.said += msg.what; },
      [self](const SayLater& msg) {
        actor::post_after(self, 1s, [self, what = msg.what] { self->state.said += what; });
      },
      [](Break) { throw std::runtime_error{"broken on purpose"}; },
      [self](GiveTurns msg) -> actor::Answer<GivenTurns> {
        return GivenTurns{actor::turns_of(self, msg.priority), &self->state.said};
      },
  };
}

struct TurnsFixture : test::ActorFixture {
  Speaker one = adopt(actor::spawn<Policy::restart>(system(), speaker));

  GivenTurns given(actor::Priority priority = actor::Priority::normal) {
    return ask<GivenTurns>(one, GiveTurns{priority})->value().value();
  }
};

}  // namespace

TEST_CASE_FIXTURE(TurnsFixture, "turns of an actor: in order with its messages, not at once") {
  const auto [turns, said] = given();
  auto* const text = said;
  turns.post([text] { *text += 'a'; });
  actor::tell(one, Say{"b"});
  turns.post([text] { *text += 'c'; });
  CHECK(text->empty());
  settle();
  CHECK(*text == "abc");
}

TEST_CASE_FIXTURE(TurnsFixture, "turns of an actor: urgent ones overtake its messages") {
  const auto [turns, said] = given(actor::Priority::urgent);
  auto* const text = said;
  actor::tell(one, Say{"b"});
  turns.post([text] { *text += 'a'; });
  settle();
  CHECK(*text == "ab");
}

TEST_CASE_FIXTURE(TurnsFixture, "turns of an actor: nothing runs once it has ended") {
  const auto turns = given().turns;
  const auto token = std::make_shared<int>(0);
  turns.post([token] { ++*token; });
  actor::kill(one);
  settle();
  turns.post([token] { ++*token; });
  one = {};
  turns.post([token] { ++*token; });
  settle();
  CHECK(*token == 1);
  CHECK(token.use_count() == 1);  // nothing is kept for it either
}

TEST_CASE_FIXTURE(TurnsFixture, "turns of an actor: those of an earlier state are void") {
  const auto earlier = given().turns;
  int early = 0, late = 0;
  actor::tell(one, Break{});
  earlier.post([&] { ++early; });
  settle();
  earlier.post([&] { ++early; });
  given().turns.post([&] { ++late; });
  settle();
  CHECK(early == 0);
  CHECK(late == 1);
}

TEST_CASE_FIXTURE(TurnsFixture, "turns of an actor: what is thrown in one is the actor's") {
  auto given = this->given();
  *given.said = "before";
  given.turns.post([] { throw std::runtime_error{"broken on purpose"}; });
  settle();
  CHECK(this->given().said->empty());  // it has begun anew
}

TEST_CASE_FIXTURE(TurnsFixture,
                  "turns of an actor: a delay is the clock's, and ends with a state") {
  const auto said = given().said;
  tell(one, SayLater{"a"});
  CHECK(said->empty());
  advance(1s);
  CHECK(*said == "a");
  tell(one, SayLater{"b"});
  tell(one, Break{});
  advance(1s);
  CHECK(given().said->empty());
}

TEST_CASE_FIXTURE(TurnsFixture, "turns of an actor: any thread posts, each in its order") {
  constexpr int threads = 4, each = 500;
  const auto turns = given().turns;
  std::vector<int> last(threads, -1);
  int out_of_order = 0;
  std::vector<std::thread> posters;
  for (int thread = 0; thread < threads; ++thread)
    posters.emplace_back([&, thread] {
      for (int i = 0; i < each; ++i)
        turns.post([&, thread, i] {
          out_of_order += std::exchange(last[static_cast<std::size_t>(thread)], i) == i - 1 ? 0 : 1;
        });
    });
  for (auto& poster : posters)
    poster.join();
  settle();
  CHECK(last == std::vector<int>(threads, each - 1));
  CHECK(out_of_order == 0);
}
