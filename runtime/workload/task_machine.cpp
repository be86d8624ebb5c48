#include "runtime/workload/task_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"

namespace nomad::workload {

using namespace task_action;
namespace event = task_event;
using schema::TaskRunState;

TaskMachine::TaskMachine(TaskTraits traits,
                         std::shared_ptr<const TaskHooks> hooks,
                         TaskTerms terms,
                         std::optional<TaskRecord> saved,
                         Random random,
                         EventTime now)
    : traits_{std::move(traits)},
      hooks_{std::move(hooks)},
      terms_{std::move(terms)},
      random_{random},
      tracker_{terms_.restart, traits_.restarts_on_success, now.steady},
      now_{now} {
  was_saved_ = saved.has_value();
  if (saved)
    record_ = std::move(*saved);
  else
    record_.add(event::make(event::received, now.unix));
}

std::vector<TaskAction> TaskMachine::take() {
  return std::exchange(actions_, {});
}

// -- small ones ----------------------------------------------------------------------------------

bool TaskMachine::should_stop() const {
  return terms_.alloc_is_over || (terms_.alloc_stops && !traits_.is_poststop);
}

bool TaskMachine::is_current(Round round, EventTime now) {
  if (round != round_) return false;
  ++round_;
  now_ = now;
  return true;
}

void TaskMachine::go(State step) {
  state_ = step;
  ++round_;
}

void TaskMachine::wait(Nanoseconds delay) {
  act(Wait{round_, delay});
}

void TaskMachine::save() {
  act(Save{round_, to_object(record_)});
}

void TaskMachine::save_later() {
  act(SaveLater{to_object(record_)});
}

void TaskMachine::publish() {
  if (state_ != State::saving_start) act(Publish{record_.state});  // (3): `saved` does it then.
}

void TaskMachine::note(TaskEvent event) {
  record_.add(std::move(event));
  save_later();
  publish();
}

// -- what the allocation's runner says -----------------------------------------------------------

void TaskMachine::begin(EventTime now) {
  now_ = now;
  if (state_ != State::idle) return;
  const auto exit = was_saved_ && setup_failure_.empty() && !killed_ && !should_stop()
                        ? record_.unjudged_exit()
                        : std::nullopt;
  follow_schedule();
  if (!exit) publish();  // Else what follows is: servers may have heard it already.
  if (!setup_failure_.empty()) {
    record_.add(event::setup_failed(now_.unix, setup_failure_).failing_task());
    killed_ = true;
  }
  if (record_.run_id.empty() && !traits_.may_run) {
    // The last agent may have died between saving an end and having the driver forget it. Nothing
    // waits for it: the next step has another round.
    if (was_saved_) act(Destroy{++round_});
    if (!exit) return go_on_recovered();
    tracker_.note_exit(*exit);
    if (record_.was_being_killed()) {  // By this node: the servers' wish is looked at above.
      killed_ = true;
      tracker_.note_killed();
    }
    go(State::exited);
    return ask_hooks(HookPhase::EXITED);
  }
  go(State::recovering);
  act(Recover{round_});
}

void TaskMachine::set_gate(bool open, EventTime now) {
  now_ = now;
  gate_open_ = open;
  if (open && state_ == State::gate) prestart_from(0);
}

void TaskMachine::set_terms(TaskTerms terms, EventTime now) {
  now_ = now;
  tracker_.set_rules(terms.restart);
  terms_ = std::move(terms);
  if (!terms_.schedule) record_.schedule_order = schema::TaskScheduleOrder::SCHEDULED;
  if (state_ != State::idle) follow_schedule();
}

void TaskMachine::tell(TaskEvent event, EventTime now) {
  now_ = now;
  if (state_ != State::ended) note(std::move(event));
}

void TaskMachine::servers_contacted(EventTime now) {
  now_ = now;
  servers_contacted_ = true;
  if (state_ == State::waiting_for_servers) next_run();
}

void TaskMachine::driver_replaced() {
  if (is_alive()) act(Reattach{});
}

void TaskMachine::kill(TaskKill request, EventTime now) {
  now_ = now;
  if (state_ == State::ended || state_ == State::stop_hooks) return;
  if (request.skip_delay) skips_delay_ = true;
  if (std::exchange(killed_, true)) return;
  if (request.event) note(std::move(*request.event));

  switch (state_) {
    case State::waiting_for_servers:
    case State::gate:
    case State::paused:
    case State::restart_delay:
      die();
      return;
    case State::prestart:
    case State::poststart:
    case State::exited:
      act(CancelHook{hook_});
      return;  // It answers soon.
    case State::dead:
      complete();
      return;
    case State::running:
      end_process();
      return;
    case State::pre_kill:
    case State::shutdown_delay:
    case State::stopping:
      tracker_.note_killed();  // A restart becomes a kill; its process is being ended already.
      return;
    case State::idle:
    case State::recovering:
    case State::configuring:
    case State::saving_run:
    case State::starting:
    case State::saving_start:
    case State::saving_exit:
    case State::destroying:
    case State::stop_hooks:
    case State::ended:
      return;  // Looked at when the step is over.
  }
}

void TaskMachine::skip_delay(EventTime now) {
  now_ = now;
  skips_delay_ = true;
  if (state_ == State::shutdown_delay) stop_process(1);
}

void TaskMachine::restart(TaskRestart request, EventTime now) {
  now_ = now;
  const auto state = record_.state->state;
  const bool may = state == TaskRunState::RUNNING
                   || (request.force && state == TaskRunState::DEAD && !record_.run_complete);
  if (!may || killed_) {
    act(AnswerRestart{request.ticket, task_not_running()});
    return;
  }
  note(std::move(request.event));
  tracker_.note_restart(request.failure);
  if (state_ == State::dead) {
    decide();
    act(AnswerRestart{request.ticket, {}});
    return;
  }
  if (state_ == State::saving_exit || state_ == State::destroying || state_ == State::exited) {
    act(AnswerRestart{request.ticket, {}});
    return;
  }
  restarts_.push_back(request.ticket);
  restarting_ = true;
  if (state_ == State::running) end_process();
}

// -- the way to a running task -------------------------------------------------------------------

void TaskMachine::recovered(Round round, std::string run_id, EventTime now) {
  if (!is_current(round, now)) return;
  record_.run_id = std::move(run_id);
  has_process_ = true;
  if (early_exit_ && early_exit_->first == record_.run_id)
    exit_ = std::make_unique<const ExitResult>(std::move(early_exit_->second));
  early_exit_.reset();
  if (!record_.has_handle) {
    record_.has_handle = true;
    record_.add(event::make(event::started, now_.unix));
  }
  go_on_recovered();
}

void TaskMachine::recovery_failed(Round round, const Error& err, EventTime now) {
  if (!is_current(round, now)) return;
  forget_restarts();
  const bool never_started = !record_.has_handle && err.code == Errc::not_found;
  if (!never_started)
    act(Log{.is_error = false, .text = "the task is not recovered", .error = err.what});
  if (never_started && record_.run_id.empty()) {
    waits_for_servers_ = !traits_.is_system_job;
    go_on_recovered();
    return;
  }
  act(Destroy{round_});  // Nothing waits for it: the next step has another round.
  early_exit_.reset();
  record_.run_id.clear();
  record_.has_handle = false;
  record_.handle = {};
  exit_.reset();
  if (record_.state->state != TaskRunState::DEAD && !should_stop() && !traits_.is_system_job) {
    waits_for_servers_ = true;
    if (!never_started)
      record_.add(event::make(event::restore_failed, now_.unix)
                      .saying("failed to restore task; will not run until server is contacted"));
  }
  if (record_.state->state == TaskRunState::RUNNING)
    record_.enter(TaskRunState::PENDING, now_.unix);
  save_later();
  publish();
  go_on_recovered();
}

/// It is known whether there is a process from the last agent.
void TaskMachine::go_on_recovered() {
  if (record_.state->state == TaskRunState::DEAD) {
    if (record_.run_complete) {
      go(State::stop_hooks);
      ask_hooks(HookPhase::STOP);
    } else if (killed_ || traits_.is_poststop) {
      complete();
    } else {
      go(State::dead);
    }
    return;
  }
  if (has_process_ && !killed_ && !should_stop())
    prestart_from(0);  // It has passed its gate already.
  else if (waits_for_servers_ && !servers_contacted_ && !killed_)
    go(State::waiting_for_servers);
  else
    next_run();
}

void TaskMachine::next_run() {
  if (killed_ || should_stop()) {
    if (has_process_) {
      killed_ = true;
      end_process();
    } else {
      die();
    }
    return;
  }
  go(State::gate);
  if (gate_open_) prestart_from(0);
}

/// Asks the first hook from `hook` on that has not said that it is done.
void TaskMachine::prestart_from(std::size_t hook) {
  go(State::prestart);
  phase_ = HookPhase::PRESTART;
  for (hook_ = hook; hook_ < hooks_->size(); ++hook_) {
    if (!is_asked(hook_) || record_.hook((*hooks_)[hook_].name).done) continue;
    act(AskWanted{round_, hook_});
    return;
  }
  prestart_over();
}

void TaskMachine::hook_wanted(Round round, bool wanted, EventTime now) {
  if (!is_current(round, now)) return;
  if (phase_ != HookPhase::PRESTART) {
    if (wanted) {
      act(RunHook{round_, hook_, phase_});
      return;
    }
    ++hook_;
    ask_next_hook();
    return;
  }
  if (!wanted) {
    prestart_from(hook_ + 1);
    return;
  }
  const auto& hook = (*hooks_)[hook_];
  if (!hook.announcement.empty() && record_.hook(hook.name).data.empty()) {
    record_.add(event::message(event::task_setup, now_.unix, hook.announcement));
    publish();
  }
  act(RunHook{round_, hook_, HookPhase::PRESTART});
}

void TaskMachine::prestart_done(Round round, HookRecord left, EventTime now) {
  if (!is_current(round, now)) return;
  const auto& name = (*hooks_)[hook_].name;
  if (record_.hook(name) != left) {
    record_.leave(name, std::move(left));
    save_later();
  }
  if (killed_)
    next_run();
  else
    prestart_from(hook_ + 1);
}

void TaskMachine::prestart_failed(Round round, const Error& err, EventTime now) {
  if (!is_current(round, now)) return;
  if (killed_) {
    next_run();
    return;
  }
  const auto& hook = (*hooks_)[hook_];
  record_.add(event::hook_failure(
      now_.unix, hook.failure_event.empty() ? event::hook_failed : hook.failure_event, hook.name,
      err.what));
  tracker_.note_start_error(is_recoverable(err));
  if (has_process_)
    end_process();
  else
    decide();
}

void TaskMachine::prestart_over() {
  if (killed_ || should_stop())
    next_run();
  else if (has_process_)
    poststart();
  else if (!terms_.schedule_error.empty())
    fail_validation(terms_.schedule_error);
  else if (must_pause())
    pause();
  else
    configure();
}

void TaskMachine::configure() {
  record_.run_id
      = fmt::format("{}/{}/{:08x}", traits_.alloc_id, traits_.name, random_.next() & 0xffffffffU);
  go(State::configuring);
  act(Configure{round_});
}

void TaskMachine::configured(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (!outcome) {
    record_.run_id.clear();
    fail_validation(outcome.error().what);
    return;
  }
  go(State::saving_run);
  save();
}

void TaskMachine::fail_validation(const std::string& why) {
  record_.add(event::validation_failed(now_.unix, why));
  tracker_.note_start_error(/*recoverable=*/false);
  decide();
}

void TaskMachine::saved(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (state_ == State::saving_run) {
    if (!outcome) {
      fail_start(outcome.error().within("saving local state"), /*recoverable=*/true);
    } else if (killed_) {
      fail_start({Errc::cancelled, "killed"}, /*recoverable=*/false);
    } else {
      go(State::starting);
      act(Start{round_});
    }
  } else if (state_ == State::saving_start) {
    act(Publish{record_.state});
    poststart();
  } else {
    go(State::destroying);
    act(Destroy{round_});
  }
}

void TaskMachine::started(Round round, TaskHandle handle, DriverNetwork network, EventTime now) {
  if (!is_current(round, now)) return;
  has_process_ = true;
  record_.has_handle = true;
  record_.handle = std::move(handle);
  record_.network = std::move(network);
  record_.add(event::make(event::started, now_.unix));
  record_.enter(TaskRunState::RUNNING, now_.unix);
  answer_restarts({});  // Of one that was lost.
  go(State::saving_start);
  save();
}

void TaskMachine::start_failed(Round round, const Error& err, bool recoverable, EventTime now) {
  if (!is_current(round, now)) return;
  fail_start(err, recoverable);
}

void TaskMachine::fail_start(const Error& err, bool recoverable) {
  record_.run_id.clear();
  exit_.reset();  // The driver may have told the end of what it then says it has not started.
  if (killed_) {
    die();
    return;
  }
  record_.add(event::driver_failed(now_.unix, err.what));
  tracker_.note_start_error(recoverable);
  decide();
}

void TaskMachine::poststart() {
  go(State::poststart);
  if (record_.state->state != TaskRunState::RUNNING) {
    record_.enter(TaskRunState::RUNNING, now_.unix);
    save_later();
    publish();
  }
  ask_hooks(HookPhase::POSTSTART);
}

void TaskMachine::running() {
  go(State::running);
  if (exit_)
    process_ended();
  else if (killed_ || restarting_ || is_pause(record_.state->paused))
    end_process();  // Whom the last agent was pausing may be on its way out.
  else
    follow_schedule();
}

}  // namespace nomad::workload
