#include "actors/client/alloc_tasks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/client/tools/countdown.hpp"
#include "actors/client/tools/kept_usage.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/task_record.hpp"

namespace nomad::client {

namespace event = workload::task_event;

void end_abandoned(actor::Self* self,
                   const TaskParts& parts,
                   const std::string& alloc_id,
                   schema::Task::Reader task,
                   std::function<void(bool ended)> then) {
  const driver::TaskId id{alloc_id, copy(task.getName())};
  actor::send_urgent(self, parts.driver_manager, driver_manager::Leave{id});
  const auto owner = parts.drivers->find(copy(task.getDriver()));
  if (owner == parts.drivers->end()) return then(true);
  const auto failed = [then, id](const Error& err) {
    log::error("client", "what is left of a task may still run",
               {{"alloc", id.alloc_id}, {"task", id.task}, {"error", err}});
    then(false);
  };
  self->request(owner->second.driver, std::chrono::minutes{1}, driver::destroy_task(id))
      .then(
          [then, failed](const driver::Answered& answer) {
            if (const auto refusal = driver::refusal_of(answer, driver::DriverAnswer::DONE))
              failed(refusal->error);
            else
              then(true);
          },
          failed);
}

void AllocTasks::spawn(const Parts& parts, const Saved& saved, bool restored, bool may_run) {
  parts_ = parts.runners;
  const auto group = *workload::find_group(*facts_.job, facts_.alloc->task_group());
  std::vector<workload::Stage> stages;
  std::vector<workload::KillStages::Task> to_kill;
  for (const auto task : group.getTasks()) {
    TaskSetup setup{.parts = parts_,
                    .alloc = facts_.alloc,
                    .job = facts_.job,
                    .index = tasks_.size(),
                    .parent = self_,
                    .agent = self_,
                    .saved = {},
                    .may_run = may_run};
    TaskStatePtr state = std::make_shared<workload::TaskState>();
    for (const auto& [name, record] : saved)
      if (name == view(task.getName())) {
        setup.saved = record;
        setup.may_run = false;
        state = workload::to_task_record(*record).state;
      }
    const auto lifecycle = task.getLifecycle();
    const auto stage = workload::stage_of(view(lifecycle.getHook()), lifecycle.getSidecar());
    stages.push_back(stage);
    to_kill.push_back({.name = copy(task.getName()),
                       .leader = task.getLeader(),
                       .sidecar = lifecycle.getSidecar(),
                       .poststop = stage == workload::Stage::poststop});
    auto runner = spawn_task_runner(self_, std::move(setup));
    tasks_.push_back({.name = copy(task.getName()),
                      .stage = stage,
                      .runner = std::move(runner),
                      .state = std::move(state),
                      .counters = {}});
    if (parts.metrics != nullptr)
      tasks_.back().counters = std::make_unique<TaskCounters>(
          *parts.metrics, task_labels(*facts_.alloc, *facts_.job, tasks_.back().name));
  }
  coordinator_.emplace(std::move(stages));
  kill_stages_.emplace(std::move(to_kill));
  if (restored) coordinator_->restore(views());
}

// -- what they say and are -----------------------------------------------------------------------

void AllocTasks::changed(const task_runner::Changed& msg) {
  auto& task = tasks_[msg.index];
  const auto before = std::exchange(task.state, msg.state);
  if (task.counters) task.counters->count(workload::steps_between(*before, *task.state));
}

void AllocTasks::ended(const task_runner::Ended& msg) {
  tasks_[msg.index].runner = TaskRunner{};
  tasks_[msg.index].history = msg.history;
  kill_stages_->ended(msg.index);
}

bool AllocTasks::child_down(const actor::Address& source) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].has_ended() || tasks_[i].runner.address() != source) continue;
    auto state = std::make_shared<workload::TaskState>(*tasks_[i].state);
    state->append(event::driver_failed(unix_now(), "the task's runner failed").failing_task());
    state->enter(schema::TaskRunState::DEAD, unix_now());
    changed({i, std::move(state)});
    ended({i});
    if (const auto task = workload::find_task(*facts_.alloc, *facts_.job, tasks_[i].name))
      end_abandoned(self_, *parts_, facts_.id, *task, [](bool) {});
    return true;
  }
  return false;
}

std::vector<workload::TaskView> AllocTasks::views() const {
  std::vector<workload::TaskView> views;
  views.reserve(tasks_.size());
  for (const auto& task : tasks_)
    views.push_back(workload::view_of(*task.state));
  return views;
}

TaskRunner AllocTasks::runner_of(std::string_view name) const {
  const auto task = std::ranges::find(tasks_, name, &Task::name);
  return task == tasks_.end() ? TaskRunner{} : task->runner;
}

std::vector<std::string> AllocTasks::names() const {
  std::vector<std::string> names;
  names.reserve(tasks_.size());
  for (const auto& task : tasks_)
    names.push_back(task.name);
  return names;
}

std::vector<std::string> AllocTasks::running() const {
  std::vector<std::string> names;
  for (const auto& task : tasks_)
    if (task.state->state == schema::TaskRunState::RUNNING) names.push_back(task.name);
  return names;
}

std::vector<TaskStatePtr> AllocTasks::states() const {
  std::vector<TaskStatePtr> states;
  states.reserve(tasks_.size());
  for (const auto& task : tasks_)
    states.push_back(task.state);
  return states;
}

workload::StatusSummary AllocTasks::status() const {
  return workload::client_status(views());
}

bool AllocTasks::any_failed() const {
  return std::ranges::any_of(tasks_, [](const Task& task) { return task.state->failed; });
}

std::vector<workload::TaskReport> AllocTasks::reports(bool terminal) {
  std::vector<workload::TaskReport> reports;
  for (auto& task : tasks_) {
    if (terminal && task.state->finished_at == 0) {
      auto ended = std::make_shared<workload::TaskState>(*task.state);
      ended->finished_at = unix_now();
      task.state = std::move(ended);
    }
    reports.push_back({task.name, task.state.get()});
  }
  std::ranges::sort(reports, {}, &workload::TaskReport::name);
  return reports;
}

// -- starting and telling ------------------------------------------------------------------------

void AllocTasks::tell_one(std::string_view name, workload::TaskEvent event) {
  const auto task = std::ranges::find(tasks_, name, &Task::name);
  if (task == tasks_.end()) return;
  if (!task->has_ended()) {
    self_->send(task->runner, task_runner::Tell{std::move(event)});
    return;
  }
  auto state = std::make_shared<workload::TaskState>(*task->state);
  state->append(std::move(event));
  task->state = std::move(state);
}

void AllocTasks::driver_replaced(const alloc_runner::DriverReplaced& msg) {
  for (const auto& task : tasks_) {
    const auto found = workload::find_task(*facts_.alloc, *facts_.job, task.name);
    if (!task.has_ended() && found && view(found->getDriver()) == msg.name)
      self_->send(task.runner, task_runner::DriverReplaced{msg.driver});
  }
}

void AllocTasks::begin() {
  tell(task_runner::Begin{});
  open_gates();
}

void AllocTasks::open_gates() {
  for (auto& task : tasks_) {
    const bool open = coordinator_->is_open(task.stage);
    if (task.has_ended() || open == task.gate_open) continue;
    task.gate_open = open;
    self_->send(task.runner, task_runner::Gate{open});
  }
}

// -- killing -------------------------------------------------------------------------------------

bool AllocTasks::react_to_deaths() {
  const auto states = views();
  for (const auto index : kill_stages_->take_idle(states))
    self_->send(tasks_[index].runner, task_runner::Kill{});
  const auto reason = kill_stages_->reason(states, unix_now());
  if (!reason) return false;
  for (const auto& task : tasks_)
    if (task.is_live() && !task.has_ended() && !task.is_poststop())
      self_->send(task.runner, task_runner::Tell{*reason});
  return true;
}

void AllocTasks::advance() {
  coordinator_->update(views());
  open_gates();
  kill(kill_stages_->advance());
}

Nanoseconds AllocTasks::kill_timeout(const Task& task) const {
  const auto found = workload::find_task(*facts_.alloc, *facts_.job, task.name);
  const Nanoseconds own{found ? found->getKillTimeout() : 0};
  return std::min(own, parts_->max_kill_timeout);
}

void AllocTasks::kill(const std::vector<std::size_t>& tasks) {
  for (const auto index : tasks)
    self_->send(
        tasks_[index].runner,
        task_runner::Kill{.event = event::killing_within(unix_now(), kill_timeout(tasks_[index])),
                          .skip_delay = skips_delay_});
}

void AllocTasks::skip_delay() {
  skips_delay_ = true;
  tell(task_runner::SkipDelay{});
}

void AllocTasks::detach(std::function<void()> then) {
  const Countdown one_less{std::move(then)};
  for (const auto& task : tasks_) {
    if (task.has_ended()) continue;
    one_less.await();
    self_->request(task.runner, std::chrono::seconds{10}, task_runner::Detach{})
        .then([one_less](const task_runner::Done&) { one_less(); },
              [one_less](const Error&) { one_less(); });
  }
  one_less();
}

// -- requests of the API -------------------------------------------------------------------------

actor::Answer<door::NodeReply> AllocTasks::restart_one(const std::string& name) {
  const auto runner = NOMAD_TRY(find_runner(name));
  auto promise = self_->make_response_promise<door::NodeReply>();
  self_
      ->request(
          runner, std::chrono::minutes{10},
          task_runner::Restart{event::restart_asked(unix_now(), "User requested task to restart")})
      .then([promise](const task_runner::Done&) { promise.deliver(door::node_done()); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

void AllocTasks::restart_running(const std::string& name,
                                 const task_runner::Restart& order,
                                 std::function<void()> then) {
  const Countdown one_less{std::move(then)};
  for (const auto& task : tasks_) {
    if (task.has_ended() || (!name.empty() && task.name != name)) continue;
    one_less.await();
    self_->request(task.runner, std::chrono::minutes{10}, task_runner::Restart{order})
        .then([one_less](const task_runner::Done&) { one_less(); },
              [one_less](const Error&) { one_less(); });  // Not running: fine.
  }
  one_less();
}

void AllocTasks::restart(bool all, const actor::Promise<door::NodeReply>& promise) {
  const auto reason
      = all ? "User requested all tasks to restart" : "User requested running tasks to restart";
  restart_running({}, {.event = event::restart_asked(unix_now(), reason), .force = all},
                  [promise] { promise.deliver(door::node_done()); });
}

actor::Answer<door::NodeReply> AllocTasks::signal(schema::door::SignalTasks::Reader order) {
  const auto wanted = copy(order.getTask());  // empty: all
  const auto promise = self_->make_response_promise<door::NodeReply>();
  const auto problems = std::make_shared<std::string>();
  const Countdown one_less{[promise, problems] {
    if (problems->empty())
      promise.deliver(door::node_done());
    else
      promise.deliver(Error{Errc::rejected, *problems});
  }};
  bool found = wanted.empty();
  for (const auto& task : tasks_) {
    if (!wanted.empty() && task.name != wanted) continue;
    found = true;
    const auto failed = [one_less, problems,
                         name = wanted.empty() ? task.name : ""](const Error& err) {
      if (!problems->empty()) *problems += "; ";
      *problems += name.empty() ? err.what
                                : fmt::format("Failed to signal task: {}, err: {}", name, err.what);
      one_less();
    };
    one_less.await();
    if (task.has_ended()) {
      failed({Errc::rejected, "Task not running"});
      continue;
    }
    self_
        ->request(task.runner, std::chrono::minutes{1},
                  task_runner::Signal{copy(order.getSignal())})
        .then([one_less](const task_runner::Done&) { one_less(); }, failed);
  }
  if (!found) *problems = "Task not found";
  one_less();
  return promise;
}

Result<TaskRunner> AllocTasks::find_runner(std::string_view name) const {
  const auto task = std::ranges::find(tasks_, name, &Task::name);
  if (task == tasks_.end())
    return Error{Errc::not_found, fmt::format("Could not find task runner for task: {}", name)};
  if (task->has_ended()) return workload::task_not_running();
  return task->runner;
}

actor::Answer<door::NodeReply> AllocTasks::pause(schema::door::PauseTask::Reader order) {
  const auto runner = NOMAD_TRY(find_runner(view(order.getTask())));
  auto promise = self_->make_response_promise<door::NodeReply>();
  self_->request(runner, std::chrono::minutes{2}, task_runner::Pause{order.getOrder()})
      .then([promise](const task_runner::Done&) { promise.deliver(door::node_done()); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

actor::Answer<door::NodeReply> AllocTasks::read_pause(std::string_view name) {
  const auto runner = NOMAD_TRY(find_runner(name));
  auto promise = self_->make_response_promise<door::NodeReply>();
  self_->request(runner, std::chrono::minutes{1}, task_runner::ReadPause{})
      .then(
          [promise](task_runner::ScheduleState read) {
            promise.deliver(
                door::make_node_reply([read](auto& reply) { reply.setScheduleState(read.state); }));
          },
          [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

actor::Answer<client_api::AllocUsage> AllocTasks::usage(const std::string& asked) {
  const auto is_asked = [&asked](const Task& task) { return asked.empty() || task.name == asked; };
  if (std::ranges::none_of(tasks_, is_asked))
    return Error{Errc::not_found, fmt::format("Unknown task name \"{}\"", asked)};
  const auto promise = self_->make_response_promise<client_api::AllocUsage>();
  const auto usage = std::make_shared<client_api::AllocUsage>();
  const Countdown one_less{[promise, usage] {
    std::ranges::sort(
        usage->tasks, {}, [](const auto& item) -> auto& { return item.first; });
    promise.deliver(std::move(*usage));
  }};
  for (const auto& task : tasks_) {
    if (!is_asked(task) || task.has_ended()) continue;
    one_less.await();
    self_->request(task.runner, std::chrono::seconds{30}, task_runner::ReadUsage{})
        .then(
            [one_less, usage, name = task.name](client_api::TaskUsage& read) {
              usage->tasks.emplace_back(name, std::move(read));
              one_less();
            },
            [one_less](const Error&) { one_less(); });  // It does not run: no usage.
  }
  one_less();
  return promise;
}

actor::Answer<door::NodeReply> AllocTasks::history(const std::string& asked) {
  const auto is_asked = [&asked](const Task& task) { return asked.empty() || task.name == asked; };
  if (std::ranges::none_of(tasks_, is_asked))
    return Error{Errc::not_found, fmt::format("Unknown task name \"{}\"", asked)};
  const auto promise = self_->make_response_promise<door::NodeReply>();
  const auto histories = std::make_shared<std::vector<KeptUsage>>();
  const Countdown one_less{[this, promise, histories] {
    promise.deliver(
        history_reply(*histories, {.steady = self_->now().time_since_epoch(), .unix = unix_now()}));
  }};
  for (const auto& task : tasks_) {
    if (!is_asked(task)) continue;
    const auto position = histories->size();
    histories->push_back({.task = task.name,
                          .usage = task.history.usage,
                          .reserved = reservation_of(*facts_.alloc, task.name)});
    if (task.has_ended()) continue;
    one_less.await();
    self_->request(task.runner, std::chrono::seconds{30}, task_runner::ReadHistory{})
        .then(
            [one_less, histories, position](const task_runner::History& kept) {
              (*histories)[position].usage = kept.usage;
              one_less();
            },
            [one_less](const Error&) { one_less(); });  // It has just ended: shown without.
  }
  one_less();
  return promise;
}

actor::Answer<client_api::ExecStarted> AllocTasks::exec(client_api::Exec& msg) {
  const auto task = std::ranges::find(tasks_, msg.task, &Task::name);
  if (task == tasks_.end()) return Error{Errc::rejected, "task not found"};
  if (task->state->started_at == 0)
    return Error{Errc::not_found, fmt::format("task \"{}\" not started yet.", msg.task)};
  if (task->has_ended())
    return Error{Errc::not_found, fmt::format("task \"{}\" is not running.", msg.task)};
  return self_->delegate(task->runner, task_runner::Exec{std::move(msg.command)});
}

client_api::AllocDir AllocTasks::directory() const {
  client_api::AllocDir answer{.path = parts_->node->alloc_root(facts_.id),
                              .tasks = {},
                              .ended = std::ranges::none_of(tasks_, &Task::is_live)};
  for (const auto& task : tasks_)
    answer.tasks.push_back({.name = task.name,
                            .started = task.state->started_at != 0,
                            .running = task.state->state == schema::TaskRunState::RUNNING});
  return answer;
}

}  // namespace nomad::client
