// LogMachine: decides who takes the output of one run into its log files, where that is no parent
// of the task: the engine of containers gives it out as a stream, a driver in a program of its own
// writes it to FIFOs that a process reads.
//
// The idea: whoever takes it may break off at any time. What is written meanwhile waits, so that
// another one goes on where that stopped. What happened goes in as calls; what to do about it comes
// out of `take`. No I/O, no clock, no thread, no actor.
//
// (1) One at a time takes it. An answer to any round but the newest is ignored.
// (2) Another one follows after a pause, which grows until one has lasted for a while.
// (3) When the task has ended, what is left is taken by one that begins after that, at once; it is
//     tried `rest_tries` times.
// (4) That the logs are complete is told once after the end of the task: when all was taken,
//     nothing more can be, or that has lasted ten seconds.
// (5) When it is over, nothing is wanted but that it is closed, and that once.
//
// clang-format off
//
//   idle ─begin─▶ taking ◀─▶ pausing
//                   └─task_ended─▶ taking the rest ◀─▶ pausing ─▶ over ◀─close─ (any)
//
// clang-format on
//
// May depend on: runtime/base.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/back_off.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::workload {

namespace log_action {

using Round = std::uint64_t;

/// Take what is written; of a task that has ended, what is left. Answer: `stopped`.
struct Take {
  Round round;
  bool is_rest;
};

/// Answer: `time_over`, after `delay`.
struct Wait {
  Round round;
  Nanoseconds delay;
};

/// Whoever takes it still is to stop; nothing follows.
struct Close {};

/// The end of the task may be told.
struct Complete {};

/// An event of the task's history.
struct TellUser {
  std::string text;
};

}  // namespace log_action

using LogAction = std::variant<log_action::Take,
                               log_action::Wait,
                               log_action::Close,
                               log_action::Complete,
                               log_action::TellUser>;

class LogMachine {
public:
  using Round = log_action::Round;

  /// Why nobody takes the output any more: all that was written was taken, another one may go on,
  /// or nobody ever can.
  enum class Stop : std::uint8_t { all_taken, broken_off, for_good };

  static constexpr int rest_tries = 10;

  void begin();
  void task_ended();
  void close();

  /// `why` is for the user, if there is something to be said.
  void stopped(Round round, Stop stop, const std::string& why = {});
  void time_over(Round round);

  /// Whether the answer to this round is waited for.
  bool awaits(Round round) const { return round != 0 && round == round_; }

  std::vector<LogAction> take() { return std::exchange(actions_, {}); }

private:
  enum class State : std::uint8_t { idle, taking, pausing, over };

  void take_output();
  void end();
  void complete();

  std::vector<LogAction> actions_;
  State state_ = State::idle;
  Round rounds_ = 0;          ///< The newest.
  Round round_ = 0;           ///< 0: nothing is waited for. So the others.
  Round success_round_ = 0;   ///< One that lasts until then makes the next pause short.
  Round patience_round_ = 0;  ///< With the rest.
  bool has_ended_ = false;    ///< The task;
  bool is_rest_ = false;      ///< and what is taken now is what it left.
  bool was_told_ = false;
  int rests_ = 0;
  BackOff pauses_{std::chrono::milliseconds{400}, std::chrono::seconds{20}};
};

}  // namespace nomad::workload
