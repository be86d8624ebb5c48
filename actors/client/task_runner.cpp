#include "actors/client/task_runner.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "actors/client/task_runner_state.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/client_status.hpp"

namespace nomad::client {
namespace detail {

using schema::TaskRunState;
namespace event = workload::task_event;

RunnerState::~RunnerState() {
  for (auto& hook : hooks_)
    actor::stop(hook.handle);
}

void RunnerState::init(TaskSetup setup) {
  setup_ = std::move(setup);
  const auto group = workload::find_group(*setup_.job, view(setup_.alloc->getTaskGroup()));
  const auto task = group->getTasks()[static_cast<unsigned>(setup_.index)];
  task_name_ = copy(task.getName());
  kill_signal_ = copy(task.getKillSignal());
  lifecycle_hook_ = copy(task.getLifecycle().getHook());
  driver_ = setup_.context->drivers.at(copy(task.getDriver()));
  const auto alloc_id = copy(setup_.alloc->getId());
  // With the time in it, so that no run of a later agent gets the id of an earlier one.
  random_ = Random{setup_.context->seed ^ std::hash<std::string>{}(alloc_id + task_name_)
                   ^ static_cast<std::uint64_t>(unix_now())};
  tracker_.emplace(restart_rules_of(*setup_.alloc, *setup_.job, task),
                   workload::restarts_on_success(view(setup_.job->getType()), lifecycle_hook_,
                                                 task.getLifecycle().getSidecar()),
                   now());
  if (setup_.saved)
    local_ = to_task_local(*setup_.saved);
  else
    add(event::make(event::received, unix_now()));
  setup_.saved = {};
}

// -- small ones ----------------------------------------------------------------------------------

void RunnerState::go(Step step) {
  step_ = step;
  ++round_;
}

bool RunnerState::should_stop() const {
  if (workload::is_client_terminal(setup_.alloc->getClientStatus())) return true;
  return lifecycle_hook_ != "poststop"
         && workload::is_server_terminal(setup_.alloc->getDesiredStatus());
}

bool RunnerState::is_system_job() const {
  const auto type = view(setup_.job->getType());
  return type == "system" || type == "sysbatch";
}

schema::Task::Reader RunnerState::task() const {
  return *find_task(*setup_.alloc, *setup_.job, task_name_);
}

const driver::Capabilities& RunnerState::capabilities() const {
  return setup_.context->registry->drivers.at(copy(task().getDriver())).capabilities;
}

TaskScope RunnerState::scope(const std::string& hook) {
  const auto env = [context = setup_.context, alloc = setup_.alloc, job = setup_.job,
                    name = task_name_, driver = capabilities(), local = local_] {
    return std::make_shared<const workload::TaskEnv>(
        make_env(*context, *alloc, *job, *find_task(*alloc, *job, name), driver, local));
  };
  return {.alloc = setup_.alloc,
          .job = setup_.job,
          .task = task_name_,
          .alloc_root = setup_.context->alloc_root(view(setup_.alloc->getId())),
          .driver = capabilities(),
          .data = local_.hook(hook).data,
          .env = env};
}

Nanoseconds RunnerState::kill_timeout() const {
  return std::min(Nanoseconds{task().getKillTimeout()}, setup_.context->max_kill_timeout);
}

void RunnerState::wait(Nanoseconds delay) {
  actor::send_self_after(self_, delay, TimeOver{round_});
}

void RunnerState::add(workload::TaskEvent event) {
  auto state = std::make_shared<workload::TaskState>(*local_.state);
  state->append(std::move(event));
  local_.state = std::move(state);
}

void RunnerState::enter(TaskRunState next) {
  if (local_.state->state == next) return;
  auto state = std::make_shared<workload::TaskState>(*local_.state);
  state->enter(next, unix_now());
  local_.state = std::move(state);
}

void RunnerState::publish() {
  self_->send(setup_.parent, task_runner::Changed{setup_.index, local_.state});
}

storage::ClientBatch RunnerState::row() {
  storage::ClientBatch batch;
  client_db::put_task(batch, copy(setup_.alloc->getId()), task_name_, to_object(local_));
  return batch;
}

void RunnerState::save_later() {
  self_->send(setup_.context->db, client_db::SaveLater{row()});
}

// -- what the parent says ------------------------------------------------------------------------

void RunnerState::launch() {
  if (step_ != Step::idle) return;
  publish();
  if (!setup_failure_.empty()) {
    add(event::setup_failed(unix_now(), setup_failure_).failing_task());
    killed_ = true;
  }
  if (!local_.run_id.empty())
    recover();
  else
    recovered(false);
}

void RunnerState::fail_setup(std::string reason) {
  setup_failure_ = std::move(reason);
}

void RunnerState::set_gate(bool open) {
  gate_open_ = open;
  if (open && step_ == Step::gate) prestart(0);
}

void RunnerState::assign(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  const auto task = find_task(*alloc, *job, task_name_);
  if (!task) {
    log::error("client", "allocation update is missing task {}; killing", task_name_);
    kill({.event = event::make(event::killed, unix_now())
                       .saying("update missing task")
                       .with("kill_reason", "update missing task")
                       .failing_task()});
    return;
  }
  tracker_->set_rules(restart_rules_of(*alloc, *job, *task));
  kill_signal_ = copy(task->getKillSignal());
  setup_.alloc = std::move(alloc);
  setup_.job = std::move(job);
  for (const auto& hook : hooks_)
    self_->send(hook.handle, hook::TaskChanged{setup_.alloc, setup_.job});
}

void RunnerState::tell(workload::TaskEvent event) {
  if (step_ == Step::ended) return;
  add(std::move(event));
  save_later();
  publish();
}

void RunnerState::driver_message(std::string text) {
  tell(event::driver_message(unix_now(), std::move(text)));
}

void RunnerState::servers_contacted() {
  servers_contacted_ = true;
  if (step_ == Step::waiting_for_servers) next_run();
}

void RunnerState::replace_driver(Driver driver) {
  driver_ = std::move(driver);
  if (!has_process_ || exit_) return;
  self_
      ->request(driver_, driver_timeout,
                driver::RecoverTask{
                    {copy(setup_.alloc->getId()), task_name_}, local_.run_id, local_.handle, self_})
      .then([](const driver::Done&) {},
            [this, run_id = local_.run_id](const Error& err) {
              exited({.id = {}, .run_id = run_id, .result = {.code = 1, .error = err.what}});
            });
}

actor::Answer<task_runner::Done> RunnerState::signal(const task_runner::Signal& msg) {
  if (!has_process_ || exit_) return Error{Errc::rejected, "Task not running"};
  tell(event::signal_sent(unix_now()).with("signal", msg.signal));
  auto promise = self_->make_response_promise<task_runner::Done>();
  self_
      ->request(driver_, driver_timeout,
                driver::SignalTask{{copy(setup_.alloc->getId()), task_name_}, msg.signal})
      .then([promise](const driver::Done&) mutable { promise.deliver(task_runner::Done{}); },
            [promise](const Error& err) mutable { promise.deliver(std::move(err)); });
  return promise;
}

actor::Answer<client_api::TaskUsage> RunnerState::stats() {
  if (!has_process_ || exit_) return Error{Errc::not_found, "Task not running"};
  auto promise = self_->make_response_promise<client_api::TaskUsage>();
  self_
      ->request(driver_, driver_timeout,
                driver::TaskStats{{copy(setup_.alloc->getId()), task_name_}})
      .then([promise](client_api::TaskUsage& usage) mutable { promise.deliver(std::move(usage)); },
            [promise](const Error& err) mutable { promise.deliver(std::move(err)); });
  return promise;
}

// -- the way to a running task -------------------------------------------------------------------

void RunnerState::recover() {
  go(Step::recovering);
  ask<driver::Done>(
      driver_, driver_timeout,
      driver::RecoverTask{
          {copy(setup_.alloc->getId()), task_name_}, local_.run_id, local_.handle, self_},
      [this](const driver::Done&) {
        has_process_ = true;
        if (!local_.has_handle) {
          local_.has_handle = true;
          add(event::make(event::started, unix_now()));
        }
        recovered(true);
      },
      [this](const Error& err) { recovery_failed(err); });
}

void RunnerState::recovery_failed(const Error& err) {
  const bool never_started = !local_.has_handle && err.code == Errc::not_found;
  if (!never_started)
    log::warn("client", "cannot recover task {} of allocation {}: {}", task_name_,
              short_id(view(setup_.alloc->getId())), err.what);
  self_
      ->request(driver_, driver_timeout,
                driver::DestroyTask{{copy(setup_.alloc->getId()), task_name_}})
      .then([](const driver::Done&) {}, [](const Error&) {});
  local_.run_id.clear();
  local_.has_handle = false;
  local_.handle.clear();
  if (local_.state->state != TaskRunState::DEAD && !should_stop() && !is_system_job()) {
    waits_for_servers_ = true;
    if (!never_started)
      add(event::make(event::restore_failed, unix_now())
              .saying("failed to restore task; will not run until server is contacted"));
  }
  if (local_.state->state == TaskRunState::RUNNING) enter(TaskRunState::PENDING);
  save_later();
  publish();
  recovered(false);
}

void RunnerState::recovered(bool has_process) {
  if (local_.state->state == TaskRunState::DEAD) {
    if (local_.run_complete)
      finish();
    else if (killed_ || lifecycle_hook_ == "poststop")
      complete();
    else
      go(Step::dead);
    return;
  }
  if (has_process && !killed_ && !should_stop()) {
    prestart(0);  // It has passed its gate already.
    return;
  }
  if (waits_for_servers_ && !servers_contacted_ && !killed_) {
    go(Step::waiting_for_servers);
    return;
  }
  next_run();
}

void RunnerState::next_run() {
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
  if (gate_open_) prestart(0);
}

void RunnerState::prestart(std::size_t index) {
  go(Step::prestart);
  const auto& entries = setup_.context->registry->task_hooks;
  for (std::size_t i = index; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (local_.hook(entry.name).done) continue;
    if (entry.wanted && !entry.wanted(scope(entry.name))) continue;
    run_prestart(i, entry);
    return;
  }
  if (killed_ || should_stop())
    next_run();
  else if (has_process_)
    poststart();
  else
    start();
}

void RunnerState::run_prestart(std::size_t index, const TaskHookEntry& entry) {
  auto input = scope(entry.name);
  if (!entry.announcement.empty() && input.data.empty()) {
    add(event::message(event::task_setup, unix_now(), entry.announcement));
    publish();
  }
  const auto name = entry.name;
  const auto failed = [this, name](const Error& err) { prestart_failed(name, err); };
  if (entry.prestart) {
    ask<step::Outcome>(
        setup_.context->steps, hook_timeout,
        step::make(
            [function = entry.prestart, input = std::move(input)] { return function(input); }),
        [this, index, name](step::Outcome& outcome) {
          prestart_done(index, name, std::move(outcome.as<hook::Prestarted>()));
        },
        failed);
    return;
  }
  auto known = std::find_if(hooks_.begin(), hooks_.end(),
                            [&entry](const auto& hook) { return hook.entry == &entry; });
  if (known == hooks_.end())
    known = hooks_.insert(hooks_.end(), {&entry, entry.spawn(self_->system(), input)});
  ask<hook::Prestarted>(
      known->handle, hook_timeout, hook::Prestart{input.data, input.env()},
      [this, index, name](hook::Prestarted& result) {
        prestart_done(index, name, std::move(result));
      },
      failed);
}

void RunnerState::prestart_done(std::size_t index,
                                const std::string& hook,
                                hook::Prestarted result) {
  HookState state{
      .done = result.done, .data = std::move(result.data), .env = std::move(result.env)};
  auto& known = local_.hook(hook);
  if (known != state) {
    known = std::move(state);
    save_later();
  }
  if (killed_ && !has_process_)
    die();
  else
    prestart(index + 1);
}

void RunnerState::prestart_failed(const std::string& hook, const Error& err) {
  if (killed_) {
    next_run();
    return;
  }
  add(event::message(event::hook_failed, unix_now(), fmt::format("{}: {}", hook, err.what)));
  tracker_->note_start_error(driver::is_recoverable(err));
  if (has_process_)
    end_process();
  else
    decide();
}

void RunnerState::start() {
  const auto current = task();
  const auto env
      = make_env(*setup_.context, *setup_.alloc, *setup_.job, current, capabilities(), local_);
  local_.run_id = fmt::format("{}/{}/{:08x}", view(setup_.alloc->getId()), task_name_,
                              random_.next() & 0xffffffffU);
  auto config = make_config(*setup_.context, *setup_.alloc, current, env, local_.run_id);
  if (!config) {
    local_.run_id.clear();
    add(event::validation_failed(unix_now(), config.error().what));
    tracker_->note_start_error(false);
    decide();
    return;
  }
  go(Step::recording);
  save_then([this, config = std::make_shared<const driver::TaskConfig>(std::move(*config))](
                const Result<>& saved) {
    if (!saved)
      start_failed({Errc::unavailable, "saving local state: " + saved.error().what});
    else if (killed_)
      start_failed({Errc::cancelled, "killed"});
    else
      ask_driver(config);
  });
}

void RunnerState::ask_driver(std::shared_ptr<const driver::TaskConfig> config) {
  NOMAD_FAILPOINT("client.before_start");
  go(Step::starting);
  ask<driver::Started>(
      driver_, start_timeout, driver::StartTask{std::move(config), self_},
      [this](driver::Started& result) { started(std::move(result)); },
      [this](const Error& err) { start_failed(err); });
}

void RunnerState::started(driver::Started result) {
  NOMAD_FAILPOINT("client.after_start");
  has_process_ = true;
  local_.has_handle = true;
  local_.handle = std::move(result.handle);
  local_.network = std::move(result.network);
  add(event::make(event::started, unix_now()));
  enter(TaskRunState::RUNNING);
  // Told to others only when it is recorded; a failure to record does not end a good task.
  save_then([this](const Result<>&) {
    publish();
    poststart();
  });
}

void RunnerState::start_failed(const Error& err) {
  local_.run_id.clear();
  if (killed_) {
    die();
    return;
  }
  add(event::driver_failed(unix_now(), err.what));
  tracker_->note_start_error(driver::is_recoverable(err));
  decide();
}

void RunnerState::poststart() {
  go(Step::poststart);
  if (local_.state->state != TaskRunState::RUNNING) {
    enter(TaskRunState::RUNNING);
    save_later();
    publish();
  }
  ask_hooks<hook::Poststart>(Phase::poststart, [this] { running(); });
}

void RunnerState::running() {
  go(Step::running);
  if (exit_)
    process_ended();
  else if (killed_ || restarting_)
    end_process();
}

// -- the actor -----------------------------------------------------------------------------------

namespace {

RunnerSelf::behavior_type task_runner(RunnerSelf::stateful_pointer<RunnerState> self,
                                      TaskSetup setup) {
  self->state.init(std::move(setup));
  return {
      [self](task_runner::Begin) { self->state.launch(); },
      [self](task_runner::FailSetup& msg) { self->state.fail_setup(std::move(msg.reason)); },
      [self](task_runner::Gate msg) { self->state.set_gate(msg.open); },
      [self](task_runner::Assign& msg) {
        self->state.assign(std::move(msg.alloc), std::move(msg.job));
      },
      [self](task_runner::Kill& msg) { self->state.kill(std::move(msg)); },
      [self](task_runner::SkipDelay) { self->state.skip_delay(); },
      [self](task_runner::Tell& msg) { self->state.tell(std::move(msg.event)); },
      [self](task_runner::ServersContacted) { self->state.servers_contacted(); },
      [self](task_runner::DriverReplaced& msg) {
        self->state.replace_driver(std::move(msg.driver));
      },
      [self](task_runner::Restart& msg) { return self->state.restart(std::move(msg)); },
      [self](const task_runner::Signal& msg) { return self->state.signal(msg); },
      [self](task_runner::Stats) { return self->state.stats(); },
      [self](task_runner::Exec& msg) { return self->state.exec(msg); },
      [self](task_runner::Detach) {
        self->quit();
        return task_runner::Done{};
      },
      [self](const driver::Exited& msg) { self->state.exited(msg); },
      [self](driver::Message& msg) { self->state.driver_message(std::move(msg.text)); },
      [self](TimeOver msg) { self->state.time_over(msg.round); },
  };
}

}  // namespace
}  // namespace detail

TaskRunner spawn_task_runner(actor::System& system, TaskSetup setup) {
  return actor::spawn(system, detail::task_runner, std::move(setup));
}

}  // namespace nomad::client
