// The way out of a running task: kill, restart, the end of its process, the decision what follows,
// and the end of the runner itself.
#include <algorithm>

#include <fmt/format.h>

#include "actors/client/task_runner_state.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client::detail {

using schema::TaskRunState;
namespace event = workload::task_event;

namespace {

constexpr int max_stop_attempts = 5;

/// What a driver may take to end a task beyond the time that the task itself is given.
constexpr auto stop_slack = std::chrono::seconds{15};

Nanoseconds stop_backoff(int attempt) {
  Nanoseconds pause = std::chrono::seconds{5};
  for (int i = 1; i < attempt; ++i)
    pause *= 4;
  return std::min<Nanoseconds>(pause, std::chrono::minutes{2});
}

}  // namespace

void RunnerState::kill(task_runner::Kill msg) {
  if (step_ == Step::ended || step_ == Step::stop_hooks) return;
  if (msg.skip_delay) skips_delay_ = true;
  const bool first = !killed_;
  killed_ = true;
  if (first && msg.event) {
    add(std::move(*msg.event));
    save_later();
    publish();
  }
  if (!first) return;

  switch (step_) {
    case Step::waiting_for_servers:
    case Step::gate:
    case Step::restart_delay:
      die();
      return;
    case Step::prestart:
      for (const auto& hook : hooks_)
        actor::send_urgent(self_, hook.handle, hook::Cancel{});
      return;  // The hook answers soon: functions are short, actors have been told.
    case Step::dead:
      complete();
      return;
    case Step::running:
      end_process();
      return;
    case Step::pre_kill:
    case Step::shutdown_delay:
    case Step::stopping:
      tracker_->note_killed();  // A restart becomes a kill; its process is being ended already.
      return;
    case Step::idle:
    case Step::recovering:
    case Step::recording:
    case Step::starting:
    case Step::poststart:
    case Step::exited:
    case Step::stop_hooks:
    case Step::ended:
      return;  // Looked at when the step is over.
  }
}

void RunnerState::skip_delay() {
  skips_delay_ = true;
  if (step_ == Step::shutdown_delay) stop_process(1);
}

actor::Answer<task_runner::Done> RunnerState::restart(task_runner::Restart msg) {
  const auto state = local_.state->state;
  const bool may = state == TaskRunState::RUNNING
                   || (msg.force && state == TaskRunState::DEAD && !local_.run_complete);
  if (!may || killed_) return Error{Errc::rejected, "Task not running"};
  tell(std::move(msg.event));
  tracker_->note_restart(msg.failure);
  if (step_ == Step::dead) {
    decide();
    return task_runner::Done{};
  }
  if (step_ == Step::exited) return task_runner::Done{};
  restarts_.push_back(self_->make_response_promise<task_runner::Done>());
  restarting_ = true;
  if (step_ == Step::running) end_process();
  return restarts_.back();
}

// -- ending the process --------------------------------------------------------------------------

void RunnerState::end_process() {
  go(Step::pre_kill);
  ask_hooks<hook::PreKill>(Phase::pre_kill, [this] { after_pre_kill(); });
}

void RunnerState::after_pre_kill() {
  const Nanoseconds delay{task().getShutdownDelay()};
  if (killed_) tracker_->note_killed();
  if (!killed_ || delay.count() <= 0 || exit_) {
    stop_process(1);
    return;
  }
  add(event::waiting_for_delay(unix_now(), delay, skips_delay_));
  if (!skips_delay_) enter(TaskRunState::PENDING);
  publish();
  if (skips_delay_) {
    stop_process(1);
    return;
  }
  go(Step::shutdown_delay);
  wait(delay);
}

void RunnerState::stop_process(int attempt) {
  if (exit_) {
    process_ended();
    return;
  }
  go(Step::stopping);
  stop_attempt_ = attempt;
  const auto grace = attempt == 1 ? std::max(kill_timeout(), Nanoseconds{0}) : Nanoseconds{0};
  const auto grace_ms = std::chrono::duration_cast<std::chrono::milliseconds>(grace);
  ask<driver::Done>(
      driver_, driver_timeout,
      driver::StopTask{{copy(setup_.alloc->getId()), task_name_}, kill_signal_, grace_ms},
      [this, grace](const driver::Done&) {
        if (!exit_) wait(grace + stop_slack);
      },
      [this, attempt](const Error& err) { stop_failed(attempt, err); });
}

void RunnerState::stop_failed(int attempt, const Error& err) {
  if (err.code == Errc::not_found) {
    exit_ = workload::ExitResult{.code = 0, .error = {}};
    process_ended();
    return;
  }
  log::error("client", "stopping task {} of allocation {} failed (attempt {}): {}", task_name_,
             short_id(view(setup_.alloc->getId())), attempt, err.what);
  if (attempt >= max_stop_attempts) {
    kill_error_ = fmt::format("failed to kill task. Resources may have been leaked: {}", err.what);
    exit_ = workload::ExitResult{.code = 1, .error = kill_error_};
    process_ended();
    return;
  }
  wait(stop_backoff(attempt));
}

void RunnerState::time_over(std::uint64_t round) {
  if (round != round_) return;
  switch (step_) {
    case Step::shutdown_delay:
      stop_process(1);
      return;
    case Step::stopping:
      if (stop_attempt_ >= max_stop_attempts)
        stop_failed(stop_attempt_, {Errc::timeout, "it did not end"});
      else
        stop_process(stop_attempt_ + 1);
      return;
    case Step::restart_delay:
      next_run();
      return;
    case Step::idle:
    case Step::recovering:
    case Step::waiting_for_servers:
    case Step::gate:
    case Step::prestart:
    case Step::recording:
    case Step::starting:
    case Step::poststart:
    case Step::running:
    case Step::pre_kill:
    case Step::exited:
    case Step::dead:
    case Step::stop_hooks:
    case Step::ended:
      return;  // None of these sets a timer.
  }
}

// -- after its end -------------------------------------------------------------------------------

void RunnerState::exited(const driver::Exited& msg) {
  if (msg.run_id != local_.run_id || exit_) return;
  exit_ = msg.result;
  if (step_ == Step::running || step_ == Step::shutdown_delay || step_ == Step::stopping)
    process_ended();
}

void RunnerState::process_ended() {
  if (step_ == Step::shutdown_delay && killed_) tracker_->note_killed();
  go(Step::exited);
  add(event::exited(unix_now(), *exit_));
  tracker_->note_exit(exit_->successful());
  local_.run_id.clear();
  local_.has_handle = false;
  local_.handle.clear();
  save_then([this](const Result<>&) { forget_process(); });
}

void RunnerState::forget_process() {
  const auto go_on = [this] {
    has_process_ = false;
    restarting_ = false;
    exit_.reset();
    answer_restarts(task_runner::Done{});
    ask_hooks<hook::Exited>(Phase::exited, [this] { decide(); });
  };
  ask<driver::Done>(
      driver_, driver_timeout, driver::DestroyTask{{copy(setup_.alloc->getId()), task_name_}},
      [go_on](const driver::Done&) { go_on(); },
      [this, go_on](const Error& err) {
        log::warn("client", "cleaning up after task {}: {}", task_name_, err.what);
        go_on();
      });
}

void RunnerState::answer_restarts(Result<task_runner::Done> outcome) {
  for (auto& promise : std::exchange(restarts_, {}))
    actor::answer(promise, outcome);
}

void RunnerState::decide() {
  using Kind = workload::RestartDecision::Kind;
  auto decision = tracker_->decide(now(), random_);
  switch (decision.kind) {
    case Kind::killed:
      add(event::was_killed(unix_now(), kill_error_));
      die();
      return;
    case Kind::not_restarting:
      add(event::will_not_restart(unix_now(), decision.reason));
      die();
      return;
    case Kind::nothing:
    case Kind::terminated:
      die();
      return;
    case Kind::restart:
      break;
  }
  if (killed_) {
    die();
    return;
  }
  add(event::restarting_in(unix_now(), decision.delay, decision.reason));
  enter(TaskRunState::PENDING);
  save_later();
  publish();
  if (decision.delay.count() == 0) {
    next_run();
    return;
  }
  go(Step::restart_delay);
  wait(decision.delay);
}

void RunnerState::die() {
  go(Step::dead);
  enter(TaskRunState::DEAD);
  if (killed_ || lifecycle_hook_ == "poststop") {
    complete();
    return;
  }
  save_later();
  publish();
}

void RunnerState::complete() {
  local_.run_complete = true;
  save_later();
  publish();
  finish();
}

void RunnerState::finish() {
  go(Step::stop_hooks);
  ask_hooks<hook::Stop>(Phase::stop, [this] {
    go(Step::ended);
    answer_restarts(Error{Errc::rejected, "Task not running"});
    self_->send(setup_.parent, task_runner::Ended{setup_.index});
    self_->quit();
  });
}

}  // namespace nomad::client::detail
