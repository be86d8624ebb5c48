#include "runtime/workload/task_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"

namespace nomad::workload {

using namespace task_action;
namespace event = task_event;
using schema::TaskRunState;

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

Error not_running() {
  return {Errc::rejected, "Task not running"};
}

}  // namespace

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

void TaskMachine::go(Step step) {
  step_ = step;
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
  if (step_ != Step::saving_start) act(Publish{record_.state});  // (3): `saved` does it then.
}

void TaskMachine::note(TaskEvent event) {
  record_.add(std::move(event));
  save_later();
  publish();
}

std::string TaskMachine::described() const {
  return fmt::format("task {} of allocation {}", traits_.name, short_id(traits_.alloc_id));
}

// -- what the allocation's runner says -----------------------------------------------------------

void TaskMachine::begin(EventTime now) {
  now_ = now;
  if (step_ != Step::idle) return;
  const auto exit = was_saved_ && setup_failure_.empty() && !killed_ && !should_stop()
                        ? unjudged_exit()
                        : std::nullopt;
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
    if (was_being_killed()) {  // By this node: the servers' wish is looked at above.
      killed_ = true;
      tracker_.note_killed();
    }
    go(Step::exited);
    return ask_hooks(HookPhase::EXITED);
  }
  go(Step::recovering);
  act(Recover{round_});
}

/// Whether the end that the last agent has saved was a success, if it has not saved what follows.
/// Nothing where somebody had asked for a restart: that follows.
std::optional<bool> TaskMachine::unjudged_exit() const {
  if (!record_.run_id.empty() || record_.state->state != TaskRunState::RUNNING) return {};
  const auto& events = record_.state->events;
  for (auto each = events.rbegin(); each != events.rend() && each->type != event::started; ++each)
    if (each->type == event::restart_signaled) return {};
  const auto last
      = std::ranges::find(events.rbegin(), events.rend(), event::terminated, &TaskEvent::type);
  if (last == events.rend()) return {};
  return last->detail("exit_code") == "0" && last->detail("signal") == "0"
         && last->detail("exit_message").empty();
}

/// Whether the last run was ended because this node killed the task.
bool TaskMachine::was_being_killed() const {
  const auto& events = record_.state->events;
  for (auto each = events.rbegin(); each != events.rend() && each->type != event::started; ++each)
    if (each->type == event::killing) return true;
  return false;
}

void TaskMachine::set_gate(bool open, EventTime now) {
  now_ = now;
  gate_open_ = open;
  if (open && step_ == Step::gate) prestart_from(0);
}

void TaskMachine::set_terms(TaskTerms terms) {
  tracker_.set_rules(terms.restart);
  terms_ = std::move(terms);
}

void TaskMachine::tell(TaskEvent event, EventTime now) {
  now_ = now;
  if (step_ != Step::ended) note(std::move(event));
}

void TaskMachine::servers_contacted(EventTime now) {
  now_ = now;
  servers_contacted_ = true;
  if (step_ == Step::waiting_for_servers) next_run();
}

void TaskMachine::driver_replaced() {
  if (is_alive()) act(Reattach{});
}

void TaskMachine::kill(TaskKill request, EventTime now) {
  now_ = now;
  if (step_ == Step::ended || step_ == Step::stop_hooks) return;
  if (request.skip_delay) skips_delay_ = true;
  if (std::exchange(killed_, true)) return;
  if (request.event) note(std::move(*request.event));

  switch (step_) {
    case Step::waiting_for_servers:
    case Step::gate:
    case Step::restart_delay:
      die();
      return;
    case Step::prestart:
    case Step::poststart:
    case Step::exited:
      act(CancelHook{hook_});
      return;  // It answers soon.
    case Step::dead:
      complete();
      return;
    case Step::running:
      end_process();
      return;
    case Step::pre_kill:
    case Step::shutdown_delay:
    case Step::stopping:
      tracker_.note_killed();  // A restart becomes a kill; its process is being ended already.
      return;
    case Step::idle:
    case Step::recovering:
    case Step::configuring:
    case Step::saving_run:
    case Step::starting:
    case Step::saving_start:
    case Step::saving_exit:
    case Step::destroying:
    case Step::stop_hooks:
    case Step::ended:
      return;  // Looked at when the step is over.
  }
}

void TaskMachine::skip_delay(EventTime now) {
  now_ = now;
  skips_delay_ = true;
  if (step_ == Step::shutdown_delay) stop_process(1);
}

void TaskMachine::restart(TaskRestart request, EventTime now) {
  now_ = now;
  const auto state = record_.state->state;
  const bool may = state == TaskRunState::RUNNING
                   || (request.force && state == TaskRunState::DEAD && !record_.run_complete);
  if (!may || killed_) {
    act(AnswerRestart{request.ticket, not_running()});
    return;
  }
  note(std::move(request.event));
  tracker_.note_restart(request.failure);
  if (step_ == Step::dead) {
    decide();
    act(AnswerRestart{request.ticket, {}});
    return;
  }
  if (step_ == Step::saving_exit || step_ == Step::destroying || step_ == Step::exited) {
    act(AnswerRestart{request.ticket, {}});
    return;
  }
  restarts_.push_back(request.ticket);
  restarting_ = true;
  if (step_ == Step::running) end_process();
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
    act(Log{.is_error = false,
            .text = fmt::format("cannot recover {}: {}", described(), err.what)});
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
      go(Step::stop_hooks);
      ask_hooks(HookPhase::STOP);
    } else if (killed_ || traits_.is_poststop) {
      complete();
    } else {
      go(Step::dead);
    }
    return;
  }
  if (has_process_ && !killed_ && !should_stop())
    prestart_from(0);  // It has passed its gate already.
  else if (waits_for_servers_ && !servers_contacted_ && !killed_)
    go(Step::waiting_for_servers);
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
  go(Step::gate);
  if (gate_open_) prestart_from(0);
}

/// Asks the first hook from `hook` on that has not said that it is done.
void TaskMachine::prestart_from(std::size_t hook) {
  go(Step::prestart);
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
  else
    configure();
}

void TaskMachine::configure() {
  record_.run_id
      = fmt::format("{}/{}/{:08x}", traits_.alloc_id, traits_.name, random_.next() & 0xffffffffU);
  go(Step::configuring);
  act(Configure{round_});
}

void TaskMachine::configured(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (!outcome) {
    record_.run_id.clear();
    record_.add(event::validation_failed(now_.unix, outcome.error().what));
    tracker_.note_start_error(/*recoverable=*/false);
    decide();
    return;
  }
  go(Step::saving_run);
  save();
}

void TaskMachine::saved(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (step_ == Step::saving_run) {
    if (!outcome) {
      fail_start(outcome.error().within("saving local state"), /*recoverable=*/true);
    } else if (killed_) {
      fail_start({Errc::cancelled, "killed"}, /*recoverable=*/false);
    } else {
      go(Step::starting);
      act(Start{round_});
    }
  } else if (step_ == Step::saving_start) {
    act(Publish{record_.state});
    poststart();
  } else {
    go(Step::destroying);
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
  go(Step::saving_start);
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
  go(Step::poststart);
  if (record_.state->state != TaskRunState::RUNNING) {
    record_.enter(TaskRunState::RUNNING, now_.unix);
    save_later();
    publish();
  }
  ask_hooks(HookPhase::POSTSTART);
}

void TaskMachine::running() {
  go(Step::running);
  if (exit_)
    process_ended();
  else if (killed_ || restarting_)
    end_process();
}

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
  switch (step_) {
    case Step::poststart:
      running();
      return;
    case Step::pre_kill:
      after_pre_kill();
      return;
    case Step::exited:
      decide();
      return;
    case Step::stop_hooks:
      end();
      return;
    default:
      return;  // Prestart has its own way, and ends in `prestart_over`.
  }
}

// -- ending the process --------------------------------------------------------------------------

void TaskMachine::end_process() {
  go(Step::pre_kill);
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
  go(Step::shutdown_delay);
  wait(delay);
}

void TaskMachine::stop_process(int attempt) {
  if (exit_) {
    process_ended();
    return;
  }
  go(Step::stopping);
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
          .text = fmt::format("stopping {} failed (attempt {}): {}", described(), stop_attempt_,
                              err.what)});
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
  if (step_ == Step::shutdown_delay)
    stop_process(1);
  else if (step_ == Step::restart_delay)
    next_run();
  else if (stop_attempt_ >= max_stop_attempts)
    note_stop_failed({Errc::timeout, "it did not end"});
  else
    stop_process(stop_attempt_ + 1);
}

// -- after its end -------------------------------------------------------------------------------

void TaskMachine::exited(const std::string& run_id, const ExitResult& result, EventTime now) {
  if (step_ == Step::recovering && record_.run_id.empty())
    early_exit_ = std::make_unique<EarlyExit>(run_id, result);
  if (run_id != record_.run_id || run_id.empty() || exit_) return;
  now_ = now;
  exit_ = std::make_unique<const ExitResult>(result);
  if (step_ == Step::running || step_ == Step::shutdown_delay || step_ == Step::stopping)
    process_ended();
}

void TaskMachine::process_ended() {
  go(Step::saving_exit);
  record_.add(event::exited(now_.unix, *exit_));
  tracker_.note_exit(exit_->successful());
  record_.run_id.clear();
  record_.has_handle = false;
  record_.handle = {};
  save();
}

void TaskMachine::destroyed(Round round, const Result<>& outcome, EventTime now) {
  if (!is_current(round, now)) return;
  if (!outcome)
    act(Log{.is_error = false,
            .text = fmt::format("cleaning up after {}: {}", described(), outcome.error().what)});
  has_process_ = false;
  restarting_ = false;
  exit_.reset();
  answer_restarts({});
  go(Step::exited);
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
    case Kind::restart:
      break;
  }
  if (killed_) {
    die();
    return;
  }
  record_.add(event::restarting_in(now_.unix, decision.delay, decision.reason));
  record_.enter(TaskRunState::PENDING, now_.unix);
  save_later();
  publish();
  if (decision.delay.count() == 0) {
    next_run();
    return;
  }
  go(Step::restart_delay);
  wait(decision.delay);
}

void TaskMachine::die() {
  go(Step::dead);
  record_.enter(TaskRunState::DEAD, now_.unix);
  if (killed_ || traits_.is_poststop) {
    complete();
    return;
  }
  save_later();
  publish();
  answer_restarts(not_running());
}

void TaskMachine::complete() {
  record_.run_complete = true;
  save_later();
  publish();
  go(Step::stop_hooks);
  ask_hooks(HookPhase::STOP);
}

void TaskMachine::end() {
  go(Step::ended);
  answer_restarts(not_running());
  act(End{});
}

}  // namespace nomad::workload
