#include "runtime/workload/identities/identity_machine.hpp"

#include <string>

#include <doctest/doctest.h>

#include "runtime/base/overloaded.hpp"

using namespace nomad;
using namespace nomad::workload;
using namespace std::chrono_literals;

namespace {

std::string positions_of(const std::vector<std::size_t>& which) {
  std::string text;
  for (const auto position : which)
    text += ' ' + std::to_string(position);
  return text;
}

/// A machine whose actions are read as words: "ask 0 1, wait".
struct Identities {
  explicit Identities(std::vector<IdentityTerms> terms, std::uint64_t seed = 1)
      : machine{std::move(terms), Random{seed}} {}

  std::string done() {
    std::string text;
    for (const auto& action : machine.take()) {
      if (!text.empty()) text += ", ";
      text += std::visit(
          Overloaded{
              [](const identity_action::Ask& it) { return "ask" + positions_of(it.which); },
              [](const identity_action::Write& it) { return "write" + positions_of(it.which); },
              [](const identity_action::Complain& it) {
                return "complain " + std::to_string(it.which) + ": " + it.why.what;
              },
              [](const identity_action::Act& it) { return "act" + positions_of(it.which); },
              [this](const identity_action::Wait& it) {
                round = it.round;
                delay = it.delay;
                return std::string{"wait"};
              },
              [](const identity_action::AnswerStart& it) {
                return it.outcome ? std::string{"start"} : "no start: " + it.outcome.error().what;
              },
              [](const identity_action::AnswerCancel&) { return std::string{"cancelled"}; },
              [](const identity_action::AnswerStop&) { return std::string{"stopped"}; }},
          action);
    }
    return text;
  }

  /// What is waited for has come.
  std::string wait() {
    now += delay;
    machine.look(round, now);
    return done();
  }

  IdentityMachine machine;
  Nanoseconds now{1s};
  std::uint64_t round = 0;
  Nanoseconds delay{};
};

constexpr IdentityTerms in_env{.has_variable = true};
constexpr IdentityTerms in_env_with_restart{.has_variable = true, .acts = true};
constexpr IdentityTerms in_file{.has_file = true};
constexpr IdentityTerms with_signal{.has_file = true, .acts = true};

}  // namespace

TEST_CASE("identity_machine: a task starts when all are there and written") {
  Identities task{{in_env, in_file}};
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "ask 0 1");
  task.machine.is_signed({{0, 0s}, {1, 0s}}, task.now);
  CHECK(task.done() == "write 0 1");
  task.machine.written({}, task.now);
  CHECK(task.done() == "start");
}

TEST_CASE("identity_machine: while nobody signs, a task waits and asks ever more seldom") {
  Identities task{{in_env}};
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "ask 0");
  Nanoseconds last{};
  for (int i = 0; i < 12; ++i) {
    task.machine.not_signed(task.now);
    CHECK(task.done() == "wait");
    CHECK(task.delay <= 30s);
    if (i < 5) CHECK(task.delay >= last / 2);
    last = task.delay;
    CHECK(task.wait() == "ask 0");
  }
  CHECK(last >= 15s);
  task.machine.is_signed({{0, 0s}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "write 0, start");
}

TEST_CASE("identity_machine: a refusal, and a file that can't be written, fail the start") {
  Identities task{{in_file}};
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "ask 0");
  task.machine.refused({Errc::not_found, "task not found"}, task.now);
  CHECK(task.done() == "no start: task not found");
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "ask 0");
  task.machine.is_signed({{0, 0s}}, task.now);
  CHECK(task.done() == "write 0");
  task.machine.written({{0, Error{Errc::io, "full"}}}, task.now);
  CHECK(task.done() == "no start: full");
}

TEST_CASE("identity_machine: one that ends is renewed after half of its life, and the task told") {
  Identities task{{with_signal, in_file}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 1h}, {1, 0s}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "ask 0 1, write 0 1, start, wait");
  CHECK(task.delay >= 30min);
  CHECK(task.delay <= 36min);
  task.machine.started(task.now);
  CHECK(task.wait() == "ask 0");
  task.machine.is_signed({{0, 1h}}, task.now);
  CHECK(task.done() == "write 0");
  task.machine.written({}, task.now);
  CHECK(task.done() == "act 0, wait");
}

TEST_CASE("identity_machine: a task that has ended is not told, and starts with what is newest") {
  Identities task{{with_signal}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 1h}}, task.now);
  task.machine.written({}, task.now);
  task.machine.started(task.now);
  task.machine.exited();
  CHECK(task.done() == "ask 0, write 0, start, wait");
  CHECK(task.wait() == "ask 0");
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "write 0");  // the question is still open
  task.machine.is_signed({{0, 1h}}, task.now);
  CHECK(task.done().empty());
  task.machine.written({}, task.now);
  CHECK(task.done() == "write 0");
  task.machine.written({}, task.now);
  CHECK(task.done() == "start, wait");
  task.machine.started(task.now);
  CHECK(task.done().empty());
}

TEST_CASE("identity_machine: a start waits for no renewal, and the task hears of it when it runs") {
  Identities task{{with_signal}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 1h}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "ask 0, write 0, start, wait");
  CHECK(task.wait() == "ask 0");
  for (int i = 0; i < 2; ++i) {
    task.machine.start(false, {}, task.now);
    task.machine.written({}, task.now);
    CHECK(task.done() == "write 0, start");
    task.machine.exited();
  }
  task.machine.is_signed({{0, 1h}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "write 0, wait");
  task.machine.started(task.now);
  CHECK(task.done() == "act 0, wait");

  task.machine.exited();
  task.now += 40min;
  task.machine.start(false, {}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "write 0, start, wait");  // merely due
  CHECK(task.wait() == "ask 0");
  task.machine.refused({Errc::not_found, "gone"}, task.now);
  CHECK(task.done() == "wait");

  task.machine.exited();
  task.now += 1h;
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "ask 0");  // its life is over
  task.machine.refused({Errc::not_found, "gone"}, task.now);
  CHECK(task.done() == "no start: gone");
}

TEST_CASE("identity_machine: a start that takes longer than an identity lasts is no loop") {
  Identities task{{in_file}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 1s}}, task.now);
  task.now += 5s;
  task.machine.written({}, task.now);
  CHECK(task.done() == "ask 0, write 0, start, wait");
}

TEST_CASE("identity_machine: a start while files are written has them written anew") {
  Identities task{{with_signal}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 0s}}, task.now);
  CHECK(task.done() == "ask 0, write 0");
  task.machine.start(false, {}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "write 0");
  task.machine.written({}, task.now);
  CHECK(task.done() == "start");
}

TEST_CASE("identity_machine: a renewal that fails is tried again, beyond the end as well") {
  Identities task{{in_file}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 10s}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "ask 0, write 0, start, wait");
  CHECK(task.wait() == "ask 0");
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0)
      task.machine.not_signed(task.now);
    else
      task.machine.refused({Errc::not_found, "allocation not found"}, task.now);
    CHECK(task.done() == "wait");
    CHECK(task.wait() == "ask 0");
  }
  task.machine.is_signed({{0, 10s}}, task.now);
  CHECK(task.done() == "write 0");
  task.machine.written({{0, Error{Errc::io, "full"}}}, task.now);
  CHECK(task.done() == "wait");
  CHECK(task.wait() == "write 0");
}

TEST_CASE("identity_machine: the shorter one lasts, the sooner is tried again what has failed") {
  const auto longest = [](Nanoseconds life) {
    Identities task{{in_file, in_file}};
    task.machine.start(true, {{1, {.life = life, .age = 0s}}}, task.now);
    task.machine.is_signed({{0, 1h}}, task.now);
    auto most = 0ns;
    for (int i = 0; i < 20; ++i) {
      task.machine.written({{0, Error{Errc::io, "full"}}}, task.now);
      task.done();
      most = std::max(most, task.delay);
      task.wait();
    }
    return most;
  };
  CHECK(longest(1s) <= 1s);
  CHECK(longest(32s) <= 2s);
  CHECK(longest(32s) > 1s);
  CHECK(longest(1h) <= 30s);
  CHECK(longest(1h) > 15s);
}

TEST_CASE("identity_machine: a file that can't be written holds up no other identity") {
  Identities task{{with_signal, with_signal}};
  task.machine.start(false, {}, task.now);
  task.machine.is_signed({{0, 1h}, {1, 16s}}, task.now);
  task.machine.written({}, task.now);
  task.machine.started(task.now);
  CHECK(task.done() == "ask 0 1, write 0 1, start, wait");
  task.now += 40min;  // Both are due.
  task.delay = 0s;
  CHECK(task.wait() == "ask 0 1");
  task.machine.is_signed({{0, 1h}, {1, 16s}}, task.now);
  CHECK(task.done() == "write 0 1");
  const IdentityMachine::Unwritten failed{{0, {Errc::io, "a directory"}}};

  task.machine.written(failed, task.now);

  CHECK(task.done() == "act 1, wait");
  CHECK(task.wait() == "write 0");
  task.machine.written(failed, task.now);
  CHECK(task.done() == "wait");
  CHECK(task.wait() == "write 0");
  task.machine.written(failed, task.now);
  CHECK(task.done() == "complain 0: a directory, wait");
  int renewals = 0;
  for (const auto end = task.now + 10min; task.now < end;) {
    const auto done = task.wait();
    if (done == "ask 1") {
      ++renewals;
      task.machine.is_signed({{1, 16s}}, task.now);
      CHECK(task.done() == "write 1");
      task.machine.written({}, task.now);
      CHECK(task.done() == "act 1, wait");
      continue;
    }
    REQUIRE(done == "write 0");
    task.machine.written(failed, task.now);
    CHECK(task.done() == "wait");  // It has been said.
  }
  CHECK(renewals > 50);

  auto done = task.wait();
  for (; done != "write 0"; done = task.wait()) {
    task.machine.is_signed({{1, 16s}}, task.now);
    task.machine.written({}, task.now);
    task.done();
  }
  task.machine.written({}, task.now);
  CHECK(task.done() == "act 0, wait");
}

TEST_CASE("identity_machine: one that ends is renewed when the wall clock was set, and no other") {
  const auto asked_after = [](Nanoseconds life, Nanoseconds moved) {
    Identities task{{with_signal, with_signal}};
    task.machine.clock_is(1'000h, task.now);
    task.machine.start(false, {}, task.now);
    task.machine.is_signed({{0, life}, {1, 0s}}, task.now);
    task.machine.written({}, task.now);
    task.machine.started(task.now);
    CHECK(task.done() == "ask 0 1, write 0 1, start, wait");
    task.now += 1s;
    task.machine.clock_is(1'000h + moved, task.now);
    const auto done = task.done();
    if (done.empty()) return done;
    task.machine.clock_is(1'000h + moved, task.now);  // While it is asked for.
    task.machine.is_signed({{0, life}}, task.now);
    task.machine.written({}, task.now);
    CHECK(task.done() == "write 0, act 0, wait");
    task.machine.clock_is(1'000h + moved, task.now);
    CHECK(task.done().empty());
    return done;
  };

  for (const auto moved :
       {Nanoseconds{-24h}, Nanoseconds{-61s}, Nanoseconds{61s}, Nanoseconds{24h}})
    CHECK(asked_after(1h, moved) == "ask 0");
  for (const auto moved : {Nanoseconds{-60s}, Nanoseconds{0s}, Nanoseconds{60s}})
    CHECK(asked_after(1h, moved).empty());
  CHECK(asked_after(60s, 7s) == "ask 0");
  CHECK(asked_after(60s, -7s) == "ask 0");
  CHECK(asked_after(60s, -6s).empty());
}

TEST_CASE("identity_machine: what is left is due when the wall clock was set meanwhile") {
  const auto asked = [](std::optional<Nanoseconds> ahead) {
    Identities task{{with_signal}};
    task.machine.clock_is(1'000h, task.now);
    task.machine.start(true, {{0, {.life = 1h, .age = 20min, .ahead = ahead}}}, task.now);
    return task.done();
  };
  CHECK(asked(1'000h) == "start, wait");
  CHECK(asked({}) == "start, wait");  // An agent of the release before has not noted it.
  CHECK(asked(1'000h - 10min) == "start, ask 0");
  CHECK(asked(1'000h + 10min) == "start, ask 0");
}

TEST_CASE("identity_machine: a running task keeps the files that an earlier agent wrote") {
  Identities task{{in_env, with_signal, with_signal}};
  task.machine.start(true, {{1, {.life = 1h, .age = 20min}}, {2, {.life = 0s, .age = 9h}}},
                     task.now);
  CHECK(task.done() == "ask 0, wait");
  task.machine.is_signed({{0, 0s}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "start, write 0, wait");
  CHECK(task.delay >= 10min);
  CHECK(task.delay <= 16min);
  CHECK(task.wait() == "ask 1");
  task.machine.is_signed({{1, 1h}}, task.now);
  task.machine.written({}, task.now);
  CHECK(task.done() == "write 1, act 1, wait");

  task.machine.exited();
  task.machine.start(false, {}, task.now);
  CHECK(task.done() == "ask 2");  // its token was the earlier agent's
}

TEST_CASE("identity_machine: a wall clock that has jumped makes what is left due, and no more") {
  for (const auto age : {Nanoseconds{-24h}, Nanoseconds{24h}, Nanoseconds::min(), 1h - 1ns}) {
    Identities task{{with_signal}};
    task.machine.start(true, {{0, {.life = 1h, .age = age}}}, task.now);
    CHECK(task.done().starts_with("start, ask 0"));
    task.machine.is_signed({{0, 1h}}, task.now);
    task.machine.written({}, task.now);
    CHECK(task.done() == "write 0, act 0, wait");
    CHECK(task.delay >= 30min);
  }
}

TEST_CASE("identity_machine: a running task is held up by nobody, and failed by nothing") {
  const auto found_running = [](Identities& task) {
    task.machine.start(true, {}, task.now);
    CHECK(task.done() == "ask 0, wait");
  };
  {
    Identities task{{in_env}};
    found_running(task);
    CHECK(task.delay == 1s);
    CHECK(task.wait() == "start");  // nobody answers
    task.machine.is_signed({{0, 0s}}, task.now);
    CHECK(task.done() == "write 0");
  }
  {
    Identities task{{in_env}};
    found_running(task);
    task.machine.not_signed(task.now);
    CHECK(task.done() == "start, wait");
    CHECK(task.wait() == "ask 0");
  }
  Identities task{{in_env}};
  found_running(task);
  task.machine.refused({Errc::not_found, "allocation not found"}, task.now);
  CHECK(task.done() == "start, wait");
  CHECK(task.wait() == "ask 0");
  task.machine.is_signed({{0, 0s}}, task.now);
  task.machine.written({{0, Error{Errc::io, "full"}}}, task.now);
  CHECK(task.done() == "write 0, wait");
  CHECK(task.wait() == "write 0");
}

TEST_CASE(
    "identity_machine: what an earlier agent put into an environment ends for the task, too") {
  for (const auto age : {Nanoseconds{20min}, Nanoseconds{59min}}) {
    Identities task{{in_env_with_restart}};
    task.machine.start(true, {{0, {.life = 1h, .age = age}}}, task.now);
    task.machine.is_signed({{0, 1h}}, task.now);
    task.machine.written({}, task.now);
    if (age > 30min) {
      CHECK(task.done() == "ask 0, wait, start, write 0, act 0, wait");
      CHECK(task.delay >= 30min);
      continue;
    }
    CHECK(task.done() == "ask 0, wait, start, write 0, wait");
    CHECK(task.delay >= 10min);
    CHECK(task.delay <= 16min);
    CHECK(task.wait() == "ask 0");
    task.machine.is_signed({{0, 1h}}, task.now);
    task.machine.written({}, task.now);
    CHECK(task.done() == "write 0, act 0, wait");
    CHECK(task.delay >= 30min);
  }
}

TEST_CASE("identity_machine: lives that are next to nothing, or longest, are no loop") {
  for (const auto life : {Nanoseconds{1}, Nanoseconds{1s}, Nanoseconds::max()}) {
    Identities task{{in_env}};
    task.machine.start(false, {}, 0s);
    task.machine.is_signed({{0, life}}, 0s);
    task.machine.written({}, 0s);
    CHECK(task.done() == "ask 0, write 0, start, wait");
    CHECK(task.delay >= 1s);
  }
}

TEST_CASE("identity_machine: a start that is cancelled is answered before its cancel") {
  Identities task{{in_file}};
  task.machine.start(false, {}, task.now);
  task.machine.cancel();
  CHECK(task.done() == "ask 0, no start: cancelled, cancelled");
  task.machine.is_signed({{0, 1s}}, task.now);
  CHECK(task.done().empty());
  task.machine.stop();
  CHECK(task.done() == "stopped");
}

TEST_CASE(
    "identity_machine: in any order of events a start is answered once, and all are renewed") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random{seed};
    Identities task{{in_env, with_signal, in_file}, seed};
    int open = 0;
    bool asks = false;
    bool writes = false;
    for (int step = 0; step < 200; ++step) {
      task.now += Nanoseconds{static_cast<std::int64_t>(random.below(5'000'000'000))};
      const auto what = random.below(9);
      if (what == 0 && open == 0) {
        ++open;
        task.machine.start(random.chance(0.3), {{1, {.life = 9s, .age = 2s}}}, task.now);
      } else if (what == 1 && asks) {
        asks = false;
        task.machine.is_signed({{0, 0s}, {1, 9s}, {2, 20s}}, task.now);
      } else if (what == 2 && asks) {
        asks = false;
        task.machine.not_signed(task.now);
      } else if (what == 3 && writes) {
        writes = false;
        const IdentityMachine::Unwritten some{{1, {Errc::io, "full"}}};
        task.machine.written(random.chance(0.3) ? some : IdentityMachine::Unwritten{}, task.now);
      } else if (what == 4) {
        task.machine.look(task.round, task.now);
      } else if (what == 5) {
        task.machine.exited();
      } else if (what == 6) {
        task.machine.started(task.now);
      } else if (what == 7 && open == 1 && random.chance(0.1)) {
        task.machine.cancel();
      } else if (what == 8) {
        task.machine.clock_is(Nanoseconds{static_cast<std::int64_t>(random.below(3'000'000'000))},
                              task.now);
      }
      for (const auto& action : task.machine.take()) {
        if (std::holds_alternative<identity_action::AnswerStart>(action)) --open;
        if (std::holds_alternative<identity_action::Ask>(action)) {
          CHECK_FALSE(asks);
          asks = true;
        }
        if (std::holds_alternative<identity_action::Write>(action)) {
          CHECK_FALSE(writes);
          CHECK((!asks || open > 0));
          writes = true;
        }
        if (const auto* wait = std::get_if<identity_action::Wait>(&action)) {
          CHECK(wait->delay > 0ns);
          task.round = wait->round;
        }
        CHECK(open >= 0);
        CHECK(open <= 1);
      }
    }
  }
}
