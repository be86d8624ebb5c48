// runtime/workload/runs/log_machine: transcripts, and worlds in which whoever takes the output
// breaks off, answers late and twice, or never.
#include "runtime/workload/runs/log_machine.hpp"

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/base/random.hpp"
#include "test/support/transcript.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

std::string shown_log(const LogAction& what) {
  return std::visit(
      Overloaded{[](const log_action::Take& it) {
                   return fmt::format("{}: take {}", it.round, it.is_rest ? "the rest" : "output");
                 },
                 [](const log_action::Wait& it) {
                   return fmt::format("{}: wait {}", it.round, format_duration(it.delay));
                 },
                 [](const log_action::Close&) -> std::string { return "close"; },
                 [](const log_action::Complete&) -> std::string { return "complete"; },
                 [](const log_action::TellUser& it) { return "tell user: " + it.text; }},
      what);
}

class LogPlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream words{line};
    std::string first, what, why;
    words >> first >> what >> why;
    if (first == "begin")
      machine_.begin();
    else if (first == "ended")
      machine_.task_ended();
    else if (first == "close")
      machine_.close();
    else if (what == "time")
      machine_.time_over(std::stoull(first));
    else
      machine_.stopped(std::stoull(first), stop_of(what), why);
    std::vector<std::string> done;
    for (const auto& each : machine_.take())
      done.push_back(shown_log(each));
    return done;
  }

private:
  static LogMachine::Stop stop_of(const std::string& word) {
    if (word == "all") return LogMachine::Stop::all_taken;
    if (word == "broken") return LogMachine::Stop::broken_off;
    if (word == "for_good") return LogMachine::Stop::for_good;
    throw std::invalid_argument{"no word of a machine: " + word};
  }

  LogMachine machine_;
};

class LogWorld {
public:
  explicit LogWorld(std::uint64_t seed) : random_{seed} {
    machine_.begin();
    carry_out();
  }

  void step() {
    const auto dice = random_.below(40);
    if (dice == 0 && !has_ended_) {
      has_ended_ = true;
      machine_.task_ended();
    } else if (dice == 1 && random_.chance(0.2)) {
      is_closed_ = true;
      machine_.close();
    } else if (dice == 2) {
      say_nonsense();
    } else {
      happen();
    }
    carry_out();
  }

  void drain() {
    if (!std::exchange(has_ended_, true)) machine_.task_ended();
    carry_out();
    for (int i = 0; i < 200 && !owed_.empty(); ++i) {
      happen();
      carry_out();
    }
    REQUIRE((is_closed_ || completes_ == 1));
    REQUIRE(taking_ == 0);
    REQUIRE(closes_ == 1);
  }

private:
  struct Owed {
    log_action::Round round = 0;
    bool is_time = false;
    bool is_rest = false;
  };

  void happen() {
    if (owed_.empty()) return;
    const auto at = owed_.begin() + static_cast<std::ptrdiff_t>(random_.below(owed_.size()));
    const auto owed = *at;
    owed_.erase(at);
    if (owed.is_time) return machine_.time_over(owed.round);
    taking_ = 0;
    const bool all = owed.is_rest && random_.chance(0.5);
    machine_.stopped(owed.round, all ? LogMachine::Stop::all_taken : LogMachine::Stop::broken_off);
  }

  /// An answer that was given before, or to what was never asked.
  void say_nonsense() {
    const auto round = random_.chance(0.5) ? newest_ + 9 : old_;
    if (std::ranges::any_of(owed_, [round](const Owed& owed) { return owed.round == round; }))
      return;
    machine_.stopped(round, LogMachine::Stop::for_good, "nonsense");
    machine_.time_over(round);
    REQUIRE(machine_.take().empty());
  }

  void carry_out() {
    for (const auto& each : machine_.take())
      std::visit(Overloaded{[&](const log_action::Take& it) {
                              REQUIRE(taking_ == 0);
                              REQUIRE(it.is_rest == has_ended_);
                              taking_ = it.round;
                              owe(it.round, {it.round, false, it.is_rest});
                            },
                            [&](const log_action::Wait& it) {
                              owe(it.round, {it.round, true});
                            },
                            [&](const log_action::Close&) {
                              ++closes_;
                              std::erase_if(owed_, [](const Owed& owed) { return !owed.is_time; });
                              taking_ = 0;
                            },
                            [&](const log_action::Complete&) {
                              ++completes_;
                              REQUIRE(has_ended_);
                            },
                            [](const log_action::TellUser&) {}},
                 each);
  }

  void owe(log_action::Round round, const Owed& owed) {
    REQUIRE(round > newest_);
    old_ = newest_ = round;
    owed_.push_back(owed);
  }

  Random random_;
  LogMachine machine_;
  std::vector<Owed> owed_;
  log_action::Round newest_ = 0, old_ = 0, taking_ = 0;
  bool has_ended_ = false, is_closed_ = false;
  int completes_ = 0, closes_ = 0;
};

}  // namespace

TEST_CASE("log machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/../runs/log_transcripts", test::replay<LogPlayer>);
}

TEST_CASE("log machine: one at a time takes the output, and the end is told once") {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    CAPTURE(seed);
    LogWorld world{seed};
    for (auto steps = Random{seed}.below(200); steps > 0; --steps)
      world.step();
    world.drain();
  }
}
