#include "actors/client/alloc_runner.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "actors/client/alloc_runner_state.hpp"
#include "actors/client/task_config.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/task_record.hpp"

namespace nomad::client {

Result<> check_alloc(const ClientContext& context,
                     schema::Allocation::Reader alloc,
                     schema::Job::Reader job) {
  const auto group = workload::find_group(job, view(alloc.getTaskGroup()));
  if (!group)
    return Error{Errc::invalid_argument,
                 fmt::format("failed to lookup task group \"{}\"", view(alloc.getTaskGroup()))};
  for (const auto task : group->getTasks()) {
    const auto name = view(task.getName());
    if (!context.drivers.contains(copy(task.getDriver())))
      return Error{Errc::invalid_argument,
                   fmt::format("failed creating runner for task \"{}\": driver \"{}\" not found",
                               name, view(task.getDriver()))};
    bool has_resources = false;
    for (const auto entry : alloc.getAllocatedResources().getTasks())
      has_resources = has_resources || view(entry.getKey()) == name;
    if (!has_resources)
      return Error{Errc::invalid_argument,
                   fmt::format("failed creating runner for task \"{}\": no task resources found on "
                               "allocation",
                               name)};
  }
  return {};
}

namespace detail {

namespace event = workload::task_event;

AllocState::~AllocState() {
  for (auto& hook : hooks_)
    actor::stop(hook.handle);
  for (auto& task : tasks_)
    actor::stop(task.runner);
}

void AllocState::init(AllocSetup setup) {
  setup_ = std::move(setup);
  id_ = copy(setup_.alloc->getId());
  health_ = setup_.saved_health;
  const auto assigned = setup_.alloc->getDeploymentStatus();
  if (!health_ && assigned.getHealthy().isValue())
    health_ = workload::HealthStatus{.healthy = assigned.getHealthy().getValue(),
                                     .timestamp = assigned.getTimestamp()};
  make_tasks();
}

void AllocState::make_tasks() {
  const auto group = *workload::find_group(*setup_.job, view(setup_.alloc->getTaskGroup()));
  std::vector<workload::Stage> stages;
  std::vector<workload::KillStages::Task> to_kill;
  for (const auto task : group.getTasks()) {
    TaskSetup for_task{.context = setup_.context,
                       .alloc = setup_.alloc,
                       .job = setup_.job,
                       .index = tasks_.size(),
                       .parent = self_,
                       .saved = {}};
    TaskStatePtr state = std::make_shared<workload::TaskState>();
    for (const auto& [name, saved] : setup_.saved_tasks)
      if (name == view(task.getName())) {
        for_task.saved = saved;
        state = workload::to_task_record(*saved).state;
      }
    const auto lifecycle = task.getLifecycle();
    const auto stage = workload::stage_of(view(lifecycle.getHook()), lifecycle.getSidecar());
    stages.push_back(stage);
    to_kill.push_back({.name = copy(task.getName()),
                       .leader = task.getLeader(),
                       .sidecar = lifecycle.getSidecar(),
                       .poststop = stage == workload::Stage::poststop});
    auto runner = spawn_task_runner(self_->system(), std::move(for_task));
    self_->monitor(runner);
    tasks_.push_back({.name = copy(task.getName()),
                      .stage = stage,
                      .runner = std::move(runner),
                      .state = std::move(state)});
  }
  setup_.saved_tasks.clear();
  coordinator_.emplace(std::move(stages));
  kill_stages_.emplace(std::move(to_kill));
  if (setup_.restored) coordinator_->restore(views());
}

AllocScope AllocState::scope() const {
  return {.alloc = setup_.alloc,
          .job = setup_.job,
          .alloc_root = setup_.context->alloc_root(id_),
          .health_known = health_.has_value(),
          .unix_now = setup_.context->unix_now};
}

bool AllocState::should_run() const {
  return !workload::is_client_terminal(setup_.alloc->getClientStatus())
         && !workload::is_server_terminal(setup_.alloc->getDesiredStatus())
         && !workload::is_client_terminal(status().status);
}

// -- life ----------------------------------------------------------------------------------------

void AllocState::launch() {
  if (step_ != Step::idle) return;
  step_ = Step::prerun;
  if (should_run())
    prerun(0);
  else
    begin_tasks();
}

void AllocState::prerun(std::size_t index) {
  const auto& entries = setup_.context->registry->alloc_hooks;
  for (std::size_t i = index; i < entries.size() && !cancel_prerun_; ++i) {
    const auto& entry = entries[i];
    const auto about = scope();
    if (entry.wanted && !entry.wanted(about)) continue;
    const auto next = [this, i] { prerun(i + 1); };
    const auto failed = [this, name = entry.name](const Error& err) { prerun_failed(name, err); };
    if (entry.prerun) {
      self_
          ->request(setup_.context->steps, alloc_hook_timeout,
                    step::make([function = entry.prerun, about] { return function(about); }))
          .then([next](const step::Outcome&) { next(); }, failed);
      return;
    }
    if (!entry.spawn) continue;
    hooks_.push_back({&entry, entry.spawn(self_->system(), about, self_)});
    self_->monitor(hooks_.back().handle);
    if ((entry.asked_in & static_cast<std::uint8_t>(Phase::prerun)) == 0) continue;
    self_->request(hooks_.back().handle, alloc_hook_timeout, hook::Prerun{})
        .then([next](const hook::Done&) { next(); }, failed);
    return;
  }
  begin_tasks();
}

void AllocState::prerun_failed(const std::string& hook, const Error& err) {
  log::error("client", "prerun of allocation {} failed: {}: {}", short_id(id_), hook, err.what);
  if (!cancel_prerun_) {
    setup_failed_ = true;
    const auto reason
        = fmt::format("failed to setup alloc: pre-run hook \"{}\" failed: {}", hook, err.what);
    for (auto& task : tasks_)
      self_->send(task.runner, task_runner::FailSetup{reason});
  }
  begin_tasks();
}

void AllocState::begin_tasks() {
  step_ = Step::running;
  for (auto& task : tasks_)
    self_->send(task.runner, task_runner::Begin{});
  open_gates();
}

void AllocState::postrun() {
  ask_hooks<hook::Postrun>(Phase::postrun, [this] { over(); });
}

void AllocState::over() {
  step_ = Step::over;
  for (auto& hook : hooks_)
    actor::stop(hook.handle);
  hooks_.clear();
  report();
  self_->send(setup_.parent, alloc_runner::Status{id_, status().status, true});
  if (!destroy_promises_.empty()) run_destroy(0);
}

actor::Answer<alloc_runner::Done> AllocState::destroy() {
  destroy_promises_.push_back(self_->make_response_promise<alloc_runner::Done>());
  auto answer = destroy_promises_.back();
  if (step_ == Step::over)
    run_destroy(0);
  else if (step_ != Step::destroying)
    start_kill();
  return answer;
}

void AllocState::run_destroy(std::size_t index) {
  step_ = Step::destroying;
  const auto& entries = setup_.context->registry->alloc_hooks;
  for (std::size_t i = index; i < entries.size(); ++i) {
    if (!entries[i].destroy) continue;
    self_
        ->request(setup_.context->steps, alloc_hook_timeout,
                  step::make(
                      [function = entries[i].destroy, about = scope()] { return function(about); }))
        .then([this, i](const step::Outcome&) { run_destroy(i + 1); },
              [this, i, name = entries[i].name](const Error& err) {
                log::warn("client", "removing allocation {}: {}: {}", short_id(id_), name,
                          err.what);
                run_destroy(i + 1);
              });
    return;
  }
  destroyed();
}

void AllocState::destroyed() {
  step_ = Step::gone;
  for (auto& promise : destroy_promises_)
    promise.deliver(alloc_runner::Done{});
  self_->quit();
}

actor::Answer<alloc_runner::Done> AllocState::detach() {
  step_ = Step::gone;  // What happens from now on is the next agent's to tell.
  auto promise = self_->make_response_promise<alloc_runner::Done>();
  auto waiting = std::make_shared<std::size_t>(1);
  auto one_less = [this, promise, waiting]() mutable {
    if (--*waiting > 0) return;
    promise.deliver(alloc_runner::Done{});
    self_->quit();
  };
  for (auto& task : tasks_) {
    if (task.has_ended()) continue;
    ++*waiting;
    self_->request(task.runner, std::chrono::seconds{10}, task_runner::Detach{})
        .then([one_less](const task_runner::Done&) mutable { one_less(); },
              [one_less](const Error&) mutable { one_less(); });
  }
  one_less();
  return promise;
}

// -- changes -------------------------------------------------------------------------------------

void AllocState::assign(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  if (alloc->getAllocModifyIndex() < setup_.alloc->getAllocModifyIndex()) return;
  if (step_ == Step::over || step_ == Step::destroying || step_ == Step::gone) return;
  const bool was_stopping = workload::is_server_terminal(setup_.alloc->getDesiredStatus());
  const bool stops = workload::is_server_terminal(alloc->getDesiredStatus());
  const bool new_deployment
      = view(alloc->getDeploymentId()) != view(setup_.alloc->getDeploymentId());
  setup_.alloc = std::move(alloc);
  setup_.job = std::move(job);

  const auto transition = setup_.alloc->getDesiredTransition().getNoShutdownDelay();
  if (transition.isValue() && transition.getValue()) {
    skips_delay_ = true;
    for (auto& task : tasks_)
      if (!task.has_ended()) self_->send(task.runner, task_runner::SkipDelay{});
  }
  if (!stops) {
    if (new_deployment) {
      health_.reset();
      storage::ClientBatch batch;
      client_db::put_health(batch, id_, health_);
      self_->send(setup_.context->db, client_db::SaveLater{std::move(batch)});
      spawn_health_hook();
    }
    for (const auto& hook : hooks_)
      self_->send(hook.handle, hook::AllocChanged{setup_.alloc, setup_.job});
  }
  for (auto& task : tasks_)
    if (!task.has_ended()) self_->send(task.runner, task_runner::Assign{setup_.alloc, setup_.job});
  if (stops && !was_stopping) start_kill();
}

void AllocState::spawn_health_hook() {
  if (step_ != Step::running) return;  // Prerun starts it, with the allocation as it is now.
  for (const auto& entry : setup_.context->registry->alloc_hooks) {
    if (entry.name != "alloc_health_watcher") continue;
    std::erase_if(hooks_, [&entry](const auto& hook) {
      if (hook.entry != &entry) return false;
      actor::stop(hook.handle);
      return true;
    });
    if (!entry.wanted(scope())) return;
    hooks_.push_back({&entry, entry.spawn(self_->system(), scope(), self_)});
    self_->monitor(hooks_.back().handle);
    request_review();
  }
}

void AllocState::reconnect(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  if (alloc->getAllocModifyIndex() < setup_.alloc->getAllocModifyIndex()) return;
  for (auto& task : tasks_)
    if (!task.has_ended())
      self_->send(task.runner, task_runner::Tell{event::make(event::reconnected, unix_now())});
  setup_.alloc = std::move(alloc);
  setup_.job = std::move(job);
  for (auto& task : tasks_)
    if (!task.has_ended()) self_->send(task.runner, task_runner::Assign{setup_.alloc, setup_.job});
  report_again();  // The servers' copy says "unknown": whatever it is now is news.
}

void AllocState::report_again() {
  if (step_ == Step::destroying || step_ == Step::gone) return;
  again_ = true;
  request_review();
}

void AllocState::servers_contacted() {
  for (auto& task : tasks_)
    if (!task.has_ended()) self_->send(task.runner, task_runner::ServersContacted{});
}

void AllocState::driver_replaced(const alloc_runner::DriverReplaced& msg) {
  for (auto& task : tasks_) {
    const auto found = find_task(*setup_.alloc, *setup_.job, task.name);
    if (!task.has_ended() && found && view(found->getDriver()) == msg.name)
      self_->send(task.runner, task_runner::DriverReplaced{msg.driver});
  }
}

void AllocState::health_decided(const hook::HealthDecided& msg) {
  if (health_ || kill_stages_->is_killing()) return;
  health_ = workload::HealthStatus{.healthy = msg.healthy, .timestamp = unix_now()};
  storage::ClientBatch batch;
  client_db::put_health(batch, id_, health_);
  self_->send(setup_.context->db, client_db::SaveLater{std::move(batch)});
  if (setup_.alloc->getDeploymentId().size() > 0)
    for (const auto& [index, reason] : msg.reasons)
      if (index < tasks_.size() && !tasks_[index].has_ended())
        self_->send(tasks_[index].runner,
                    task_runner::Tell{event::message(event::alloc_unhealthy, unix_now(), reason)});
  request_review();
}

void AllocState::child_down(const actor::Address& source) {
  std::erase_if(hooks_, [&source](const auto& hook) { return hook.handle.address() == source; });
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].has_ended() || tasks_[i].runner.address() != source) continue;
    if (step_ == Step::gone) return;
    // A bug ended the runner. Its task is taken for failed, so that others react.
    auto state = std::make_shared<workload::TaskState>(*tasks_[i].state);
    state->append(event::driver_failed(unix_now(), "the task's runner failed").failing_task());
    state->enter(schema::TaskRunState::DEAD, unix_now());
    task_changed({i, std::move(state)});
    task_ended({i});
  }
}

// -- requests of the API -------------------------------------------------------------------------

actor::Answer<client_api::Done> AllocState::restart(const client_api::RestartTask& msg) {
  if (!msg.task.empty() && msg.all_tasks)
    return Error{Errc::invalid_argument, "task name cannot be set when restarting all tasks"};
  if (msg.task.empty()) return restart_tasks(msg.all_tasks);
  for (auto& task : tasks_) {
    if (task.name != msg.task) continue;
    if (task.has_ended()) return Error{Errc::rejected, "Task not running"};
    auto promise = self_->make_response_promise<client_api::Done>();
    self_
        ->request(task.runner, std::chrono::minutes{10},
                  task_runner::Restart{
                      event::restart_asked(unix_now(), "User requested task to restart")})
        .then([promise](const task_runner::Done&) mutable { promise.deliver(client_api::Done{}); },
              [promise](const Error& err) mutable { promise.deliver(std::move(err)); });
    return promise;
  }
  return Error{Errc::not_found, "Could not find task runner for task: " + msg.task};
}

actor::Answer<client_api::Done> AllocState::restart_tasks(bool all_tasks) {
  if (!should_run() || kill_stages_->is_killing())
    return Error{Errc::rejected, "restart of an alloc that should not run"};
  if (all_tasks) coordinator_->restart();
  auto promise = self_->make_response_promise<client_api::Done>();
  auto go = [this, promise, all_tasks]() mutable {
    auto waiting = std::make_shared<std::size_t>(1);
    auto one_less = [promise, waiting]() mutable {
      if (--*waiting == 0) promise.deliver(client_api::Done{});
    };
    const auto reason = all_tasks ? "User requested all tasks to restart"
                                  : "User requested running tasks to restart";
    for (auto& task : tasks_) {
      if (task.has_ended()) continue;
      ++*waiting;
      self_
          ->request(task.runner, std::chrono::minutes{10},
                    task_runner::Restart{.event = event::restart_asked(unix_now(), reason),
                                         .force = all_tasks})
          .then([one_less](const task_runner::Done&) mutable { one_less(); },
                [one_less](const Error&) mutable { one_less(); });  // Not running: fine.
    }
    one_less();
  };
  ask_hooks<hook::PreTaskRestart>(Phase::pre_task_restart, std::move(go));
  if (all_tasks) request_review();
  return promise;
}

actor::Answer<client_api::Done> AllocState::signal(const client_api::SignalTask& msg) {
  auto promise = self_->make_response_promise<client_api::Done>();
  auto waiting = std::make_shared<std::size_t>(1);
  auto problems = std::make_shared<std::string>();
  auto one_less = [promise, waiting, problems]() mutable {
    if (--*waiting > 0) return;
    if (problems->empty())
      promise.deliver(client_api::Done{});
    else
      promise.deliver(Error{Errc::rejected, *problems});
  };
  bool found = msg.task.empty();
  for (auto& task : tasks_) {
    if (!msg.task.empty() && task.name != msg.task) continue;
    found = true;
    auto failed = [one_less, problems,
                   name = msg.task.empty() ? task.name : ""](const Error& err) mutable {
      if (!problems->empty()) *problems += "; ";
      *problems += name.empty() ? err.what
                                : fmt::format("Failed to signal task: {}, err: {}", name, err.what);
      one_less();
    };
    ++*waiting;
    if (task.has_ended()) {
      failed({Errc::rejected, "Task not running"});
      continue;
    }
    self_->request(task.runner, std::chrono::minutes{1}, task_runner::Signal{msg.signal})
        .then([one_less](const task_runner::Done&) mutable { one_less(); },
              [failed](const Error& err) mutable { failed(err); });
  }
  if (!found) *problems = "Task not found";
  one_less();
  return promise;
}

actor::Answer<client_api::AllocUsage> AllocState::stats(const client_api::AllocStats& msg) {
  const auto is_asked
      = [&msg](const Task& task) { return msg.task.empty() || task.name == msg.task; };
  if (std::none_of(tasks_.begin(), tasks_.end(), is_asked))
    return Error{Errc::not_found, fmt::format("Unknown task name \"{}\"", msg.task)};
  auto promise = self_->make_response_promise<client_api::AllocUsage>();
  auto usage = std::make_shared<client_api::AllocUsage>();
  auto waiting = std::make_shared<std::size_t>(1);
  auto one_less = [promise, usage, waiting]() mutable {
    if (--*waiting > 0) return;
    std::sort(usage->tasks.begin(), usage->tasks.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    promise.deliver(std::move(*usage));
  };
  for (auto& task : tasks_) {
    if (!is_asked(task) || task.has_ended()) continue;
    ++*waiting;
    self_->request(task.runner, std::chrono::seconds{30}, task_runner::Stats{})
        .then(
            [one_less, usage, name = task.name](client_api::TaskUsage& read) mutable {
              usage->tasks.emplace_back(name, std::move(read));
              one_less();
            },
            [one_less](const Error&) mutable { one_less(); });  // It does not run: no usage.
  }
  one_less();
  return promise;
}

actor::Answer<client_api::AllocDir> AllocState::directory() {
  client_api::AllocDir answer{.path = setup_.context->alloc_root(id_), .tasks = {}};
  for (const auto& task : tasks_)
    answer.tasks.push_back({.name = task.name,
                            .started = task.state->started_at != 0,
                            .running = task.state->state == schema::TaskRunState::RUNNING});
  return answer;
}

namespace {

AllocSelf::behavior_type alloc_runner(AllocSelf::stateful_pointer<AllocState> self,
                                      AllocSetup setup) {
  actor::on_down(self, [self](const actor::Down& down) { self->state.child_down(down.source); });
  self->state.init(std::move(setup));
  return {
      [self](alloc_runner::Begin) { self->state.launch(); },
      [self](alloc_runner::Assign& msg) {
        self->state.assign(std::move(msg.alloc), std::move(msg.job));
      },
      [self](alloc_runner::Reconnect& msg) {
        self->state.reconnect(std::move(msg.alloc), std::move(msg.job));
      },
      [self](alloc_runner::ReportAgain) { self->state.report_again(); },
      [self](alloc_runner::ServersContacted) { self->state.servers_contacted(); },
      [self](const alloc_runner::DriverReplaced& msg) { self->state.driver_replaced(msg); },
      [self](alloc_runner::Destroy) { return self->state.destroy(); },
      [self](alloc_runner::Detach) { return self->state.detach(); },
      [self](const client_api::RestartTask& msg) { return self->state.restart(msg); },
      [self](const client_api::SignalTask& msg) { return self->state.signal(msg); },
      [self](const client_api::AllocStats& msg) { return self->state.stats(msg); },
      [self](const client_api::AllocDirOf&) { return self->state.directory(); },
      [self](client_api::Exec& msg) { return self->state.exec(msg); },
      [self](const task_runner::Changed& msg) { self->state.task_changed(msg); },
      [self](const task_runner::Ended& msg) { self->state.task_ended(msg); },
      [self](const hook::HealthDecided& msg) { self->state.health_decided(msg); },
      [self](Review) { self->state.review(); },
  };
}

}  // namespace
}  // namespace detail

AllocRunner spawn_alloc_runner(actor::System& system, AllocSetup setup) {
  return actor::spawn(system, detail::alloc_runner, std::move(setup));
}

}  // namespace nomad::client
