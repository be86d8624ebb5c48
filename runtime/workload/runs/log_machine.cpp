#include "runtime/workload/runs/log_machine.hpp"

namespace nomad::workload {

using namespace log_action;
using namespace std::chrono_literals;

namespace {

constexpr Nanoseconds rest_patience = 10s;
constexpr Nanoseconds long_life = 30s;

}  // namespace

void LogMachine::begin() {
  if (state_ == State::idle) take_output();
}

void LogMachine::take_output() {
  const bool is_again = state_ == State::pausing;
  state_ = State::taking;
  is_rest_ = has_ended_;
  if (is_rest_) ++rests_;
  actions_.push_back(Take{round_ = ++rounds_, is_rest_});
  if (is_again && !is_rest_) actions_.push_back(Wait{success_round_ = ++rounds_, long_life});
}

void LogMachine::stopped(Round round, Stop stop, const std::string& why) {
  if (!awaits(round) || state_ != State::taking) return;  // (1)
  round_ = success_round_ = 0;
  if (stop == Stop::broken_off) {
    if (has_ended_ && !is_rest_) return take_output();  // (3)
    if (rests_ < rest_tries) {
      state_ = State::pausing;
      actions_.push_back(Wait{round_ = ++rounds_, pauses_.next()});
      return;
    }
  }
  if (!why.empty()) actions_.push_back(TellUser{"logs are not kept: " + why});
  end();
}

void LogMachine::time_over(Round round) {
  if (round == 0) return;
  if (round == success_round_) {
    success_round_ = 0;
    return pauses_.reset();
  }
  if (round == patience_round_) return complete();
  if (awaits(round) && state_ == State::pausing) take_output();
}

void LogMachine::task_ended() {
  if (std::exchange(has_ended_, true)) return;
  if (state_ == State::idle || state_ == State::over) return complete();
  if (state_ == State::pausing) take_output();
  actions_.push_back(Wait{patience_round_ = ++rounds_, rest_patience});
}

void LogMachine::end() {
  close();
  if (has_ended_) complete();
}

void LogMachine::complete() {
  patience_round_ = 0;
  if (!std::exchange(was_told_, true)) actions_.push_back(Complete{});
}

void LogMachine::close() {
  if (state_ == State::taking || state_ == State::pausing) actions_.push_back(Close{});
  state_ = State::over;
  round_ = success_round_ = patience_round_ = 0;
}

}  // namespace nomad::workload
