// An actor that is made of parts: each takes its own messages, and sends itself some of them.
#include "actors/core/part.hpp"

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

struct Count {
  using is_message = void;
};

struct Counted {
  using is_message = void;
  int ticks = 0;
  int counts = 0;
};

using Counter = actor::Interface<Counted(Count)>;

/// Ticks by itself.
class Ticker {
public:
  struct Tick {
    using is_message = void;
  };

  using Messages = actor::Interface<void(Tick)>;

  explicit Ticker(actor::PartSelf<Messages> self) : self_{self} {}

  auto handlers() {
    return actor::handlers([this](Tick) {
      ++ticks;
      wait();
    });
  }

  void wait() { actor::send_self_after(self_, 1s, Tick{}); }

  int ticks = 0;

private:
  actor::PartSelf<Messages> self_;
};

/// Answers what the whole's interface asks; has no message of its own.
class Answers {
public:
  using Messages = actor::Interface<>;

  explicit Answers(const Ticker& ticker) : ticker_{ticker} {}

  auto handlers() {
    return actor::handlers([this](Count) { return Counted{ticker_.ticks, ++counts_}; });
  }

private:
  const Ticker& ticker_;
  int counts_ = 0;
};

using Whole = actor::WithParts<Counter, Ticker, Answers>;
static_assert(std::is_same_v<Whole, actor::Interface<Counted(Count), void(Ticker::Tick)>>);

struct WholeState {
  static constexpr const char* name = "whole";

  explicit WholeState(Whole::pointer self) : ticker{self} {}

  Ticker ticker;
  Answers answers{ticker};
};

Whole::behavior_type whole(Whole::stateful_pointer<WholeState> self) {
  self->state.ticker.wait();
  return actor::behavior_of<Whole>(self->state.ticker.handlers(), self->state.answers.handlers());
}

}  // namespace

TEST_CASE_FIXTURE(test::ActorFixture, "part: each takes what is its own") {
  const Counter counter = adopt(actor::spawn(system(), whole));
  CHECK((*ask<Counted>(counter, Count{}))->value().ticks == 0);

  advance(3s);

  const auto counted = ask<Counted>(counter, Count{});
  CHECK((*counted)->value().ticks == 3);
  CHECK((*counted)->value().counts == 2);
}
