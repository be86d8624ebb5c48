// The part of TaskMachine that follows a running task: hooks after Prestart, the process's end,
// what comes after it, and the schedule by which it is paused.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/jobspec/cron/task_schedule.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::workload {

using namespace task_action;
namespace event = task_event;
using schema::TaskRunState;
using schema::TaskScheduleOrder;

namespace {

/// What a driver may take to end a task beyond the time that the task itself is given.
constexpr Nanoseconds stop_slack = std::chrono::seconds{15};

Nanoseconds stop_backoff(int attempt) {
  Nanoseconds pause = std::chrono::seconds{5};
  for (int i = 1; i < attempt; ++i)
    pause *= 4;
  return std::min<Nanoseconds>(pause, std::chrono::minutes{2});
}

/// For users, who know the phases from the documentation of hooks.
std::string_view phase_name(HookPhase phase) {
  switch (phase) {
    case HookPhase::POSTSTART:
      return "poststart";
    case HookPhase::PRE_KILL:
      return "pre-kill";
    case HookPhase::EXITED:
      return "exited";
    case HookPhase::STOP:
      return "stop";
    default:
      return "prestart";
  }
}

constexpr std::int64_t nanos_in_second = 1'000'000'000;

/// Clocks are set, and machines sleep: what the schedule says of now is looked at this often.
constexpr Nanoseconds longest_alarm = std::chrono::minutes{1};

Error without_schedule(std::string_view task) {
  return {Errc::rejected, fmt::format("task \"{}\" has no schedule", task)};
}

}  // namespace

// -- hooks after Prestart ------------------------------------------------------------------------

bool TaskMachine::is_asked(std::size_t hook) const {
  const auto& phases = (*hooks_)[hook].asked_in;
  return std::ranges::find(phases, phase_) != phases.end();
}

void TaskMachine::ask_hooks(HookPhase phase) {
  phase_ = phase;
  hook_ = 0;
  ask_next_hook();
}

void TaskMachine::ask_next_hook() {
  while (hook_ < hooks_->size() && !is_asked(hook_))
    ++hook_;
  const bool too_late = phase_ == HookPhase::POSTSTART && killed_;
  if (hook_ < hooks_->size() && !too_late)
    act(AskWanted{round_, hook_});
  else
    phase_over();
}

/// Such a hook holds nothing up, but users hear of its failure.
void TaskMachine::hook_answered(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (!outcome && !(killed_ && outcome.error().code == Errc::cancelled))
    note(event::message(event::hook_failed, now_.unix,
                        fmt::format("{} ({}): {}", (*hooks_)[hook_].name, phase_name(phase_),
                                    outcome.error().what)));
  ++hook_;
  ask_next_hook();
}

void TaskMachine::phase_over() {
  switch (state_) {
    case State::poststart:
      running();
      return;
    case State::pre_kill:
      after_pre_kill();
      return;
    case State::exited:
      decide();
      return;
    case State::stop_hooks:
      end();
      return;
    default:
      return;  // Prestart has its own way, and ends in `prestart_over`.
  }
}

// -- ending the process --------------------------------------------------------------------------

void TaskMachine::end_process() {
  go(State::pre_kill);
  ask_hooks(HookPhase::PRE_KILL);
}

void TaskMachine::after_pre_kill() {
  const auto delay = terms_.shutdown_delay;
  if (killed_) tracker_.note_killed();
  if (!killed_ || delay.count() <= 0 || exit_) {
    stop_process(1);
    return;
  }
  record_.add(event::waiting_for_delay(now_.unix, delay, skips_delay_));
  if (!skips_delay_) record_.enter(TaskRunState::PENDING, now_.unix);
  publish();
  if (skips_delay_) {
    stop_process(1);
    return;
  }
  go(State::shutdown_delay);
  wait(delay);
}

void TaskMachine::stop_process(int attempt) {
  if (exit_) {
    process_ended();
    return;
  }
  go(State::stopping);
  stop_attempt_ = attempt;
  grace_ = attempt == 1 ? std::max(terms_.kill_timeout, Nanoseconds{0}) : Nanoseconds{0};
  act(Stop{round_, terms_.kill_signal, grace_});
}

void TaskMachine::stop_taken(Round round, EventTime now) {
  if (!is_current(round, now)) return;
  wait(grace_ + stop_slack);
}

void TaskMachine::stop_failed(Round round, const Error& err, EventTime now) {
  if (!is_current(round, now)) return;
  note_stop_failed(err);
}

void TaskMachine::note_stop_failed(const Error& err) {
  if (err.code == Errc::not_found) {
    exit_ = std::make_unique<const ExitResult>();
    process_ended();
    return;
  }
  act(Log{.is_error = true,
          .text = fmt::format("stopping the task failed (attempt {})", stop_attempt_),
          .error = err.what});
  if (stop_attempt_ >= max_stop_attempts) {
    kill_error_ = fmt::format("failed to kill task. Resources may have been leaked: {}", err.what);
    exit_ = std::make_unique<const ExitResult>(ExitResult{.code = 1, .error = kill_error_});
    process_ended();
    return;
  }
  wait(stop_backoff(stop_attempt_));
}

void TaskMachine::time_over(Round round, EventTime now) {
  if (!is_current(round, now)) return;
  if (state_ == State::shutdown_delay)
    stop_process(1);
  else if (state_ == State::restart_delay)
    next_run();
  else if (stop_attempt_ >= max_stop_attempts)
    note_stop_failed({Errc::timeout, "it did not end"});
  else
    stop_process(stop_attempt_ + 1);
}

// -- after its end -------------------------------------------------------------------------------

void TaskMachine::exited(const std::string& run_id, const ExitResult& result, EventTime now) {
  if (state_ == State::recovering && record_.run_id.empty())
    early_exit_ = std::make_unique<EarlyExit>(run_id, result);
  if (run_id != record_.run_id || run_id.empty() || exit_) return;
  now_ = now;
  exit_ = std::make_unique<const ExitResult>(result);
  if (state_ == State::running || state_ == State::shutdown_delay || state_ == State::stopping)
    process_ended();
}

void TaskMachine::process_ended() {
  go(State::saving_exit);
  record_.add(event::exited(now_.unix, *exit_));
  tracker_.note_exit(exit_->successful());
  if (is_pause(record_.state->paused)) tracker_.note_paused();
  record_.run_id.clear();
  record_.has_handle = false;
  record_.handle = {};
  save();
}

void TaskMachine::destroyed(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (!outcome)
    act(Log{.is_error = false,
            .text = "cleaning up after the task failed",
            .error = outcome.error().what});
  has_process_ = false;
  restarting_ = false;
  exit_.reset();
  answer_restarts({});
  go(State::exited);
  ask_hooks(HookPhase::EXITED);
}

void TaskMachine::answer_restarts(const Result<>& outcome) {
  for (const auto ticket : std::exchange(restarts_, {}))
    act(AnswerRestart{ticket, outcome});
}

/// Of a process that is lost. The one that is started next is what was asked for.
void TaskMachine::forget_restarts() {
  if (std::exchange(restarting_, false)) tracker_.forget_restart();
}

/// Asks the restart policy what follows from what has been noted.
void TaskMachine::decide() {
  using Kind = RestartDecision::Kind;
  const auto decision = tracker_.decide(now_.steady, random_);
  switch (decision.kind) {
    case Kind::killed:
      record_.add(event::was_killed(now_.unix, kill_error_));
      die();
      return;
    case Kind::not_restarting:
      record_.add(event::will_not_restart(now_.unix, decision.reason));
      die();
      return;
    case Kind::nothing:
    case Kind::terminated:
      die();
      return;
    case Kind::paused:
    case Kind::restart:
      break;
  }
  if (killed_) {
    die();
    return;
  }
  auto restarting = event::restarting_in(now_.unix, decision.delay, decision.reason);
  if (decision.kind == Kind::paused)
    record_.add_uncounted(std::move(restarting));
  else
    record_.add(std::move(restarting));
  record_.enter(TaskRunState::PENDING, now_.unix);
  save_later();
  publish();
  if (decision.delay.count() == 0) {
    next_run();
    return;
  }
  go(State::restart_delay);
  wait(decision.delay);
}

void TaskMachine::die() {
  go(State::dead);
  record_.set_paused(schema::TaskScheduleState::RUN);
  record_.enter(TaskRunState::DEAD, now_.unix);
  if (killed_ || traits_.is_poststop) {
    complete();
    return;
  }
  save_later();
  publish();
  answer_restarts(task_not_running());
}

void TaskMachine::complete() {
  record_.run_complete = true;
  save_later();
  publish();
  go(State::stop_hooks);
  ask_hooks(HookPhase::STOP);
}

void TaskMachine::end() {
  go(State::ended);
  answer_restarts(task_not_running());
  act(End{});
}

// -- its schedule --------------------------------------------------------------------------------

TaskScheduleState TaskMachine::wanted_state(EventTime now) const {
  if (!terms_.schedule) return TaskScheduleState::RUN;
  switch (record_.schedule_order) {
    case TaskScheduleOrder::RUN:
      return TaskScheduleState::FORCE_RUN;
    case TaskScheduleOrder::PAUSE:
      return TaskScheduleState::FORCE_PAUSE;
    case TaskScheduleOrder::SCHEDULED:
      break;
  }
  return terms_.schedule->at(now.unix / nanos_in_second).runs ? TaskScheduleState::RUN
                                                              : TaskScheduleState::SCHEDULED_PAUSE;
}

Result<TaskScheduleState> TaskMachine::schedule_state(EventTime now) const {
  if (!terms_.schedule) return without_schedule(traits_.name);
  return wanted_state(now);
}

Result<> TaskMachine::set_schedule(TaskScheduleOrder order, EventTime now) {
  now_ = now;
  if (!terms_.schedule) return without_schedule(traits_.name);
  if (killed_ || record_.state->state == TaskRunState::DEAD) return task_not_running();
  record_.schedule_order = order;
  save_later();
  follow_schedule();
  return {};
}

void TaskMachine::alarm_over(std::uint64_t number, EventTime now) {
  if (number != alarm_) return;
  now_ = now;
  follow_schedule();
}

/// To be called when what it says, or whether it counts, may have changed. In other states than
/// these it is looked at when the task is about to start, or runs.
void TaskMachine::follow_schedule() {
  ++alarm_;
  if (state_ == State::stop_hooks || state_ == State::ended) return;
  if (terms_.schedule) {
    const auto until = terms_.schedule->at(now_.unix / nanos_in_second).until;
    const auto delay = until ? Nanoseconds{*until * nanos_in_second - now_.unix} : longest_alarm;
    act(SetAlarm{alarm_, std::min(delay, longest_alarm)});
  }
  if (state_ == State::paused) {
    prestart_over();
  } else if (state_ == State::running && !killed_ && must_pause()) {
    end_process();
  }
}

bool TaskMachine::must_pause() {
  const auto wanted = wanted_state(now_);
  if (wanted != record_.state->paused) {
    record_.set_paused(wanted);
    const bool is_override
        = wanted == TaskScheduleState::FORCE_RUN || wanted == TaskScheduleState::FORCE_PAUSE;
    note(is_pause(wanted) ? event::pausing_due_to_schedule(now_.unix, is_override)
                          : event::running_due_to_schedule(now_.unix, is_override));
  }
  return is_pause(wanted);
}

void TaskMachine::pause() {
  go(State::paused);
  if (record_.state->state == TaskRunState::PENDING) return;
  record_.enter(TaskRunState::PENDING, now_.unix);
  save_later();
  publish();
}

}  // namespace nomad::workload
