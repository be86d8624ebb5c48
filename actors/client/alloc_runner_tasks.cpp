// What follows from the states of an allocation's tasks: which are killed, which may start, and
// what the servers hear.
#include <algorithm>
#include <utility>

#include "actors/client/alloc_runner_state.hpp"
#include "actors/client/task_config.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/client_status.hpp"

namespace nomad::client::detail {

using schema::TaskRunState;
namespace event = workload::task_event;

void AllocState::task_changed(const task_runner::Changed& msg) {
  tasks_[msg.index].state = msg.state;
  request_review();
}

void AllocState::task_ended(const task_runner::Ended& msg) {
  auto& task = tasks_[msg.index];
  task.ended = true;
  task.runner = TaskRunner{};
  request_review();
}

void AllocState::request_review() {
  if (review_sent_) return;
  review_sent_ = true;
  actor::send_self(self_, Review{});
}

std::vector<workload::TaskView> AllocState::views() const {
  std::vector<workload::TaskView> views;
  views.reserve(tasks_.size());
  for (const auto& task : tasks_)
    views.push_back(workload::view_of(*task.state));
  return views;
}

workload::StatusSummary AllocState::status() const {
  return workload::client_status(views());
}

void AllocState::review() {
  review_sent_ = false;
  if (step_ == Step::gone) return;
  react_to_deaths();
  coordinator_->update(views());
  open_gates();
  advance_kill();
  report();

  std::vector<TaskStatePtr> states;
  for (const auto& hook : hooks_) {
    if (states.empty())
      for (const auto& task : tasks_)
        states.push_back(task.state);
    self_->send(hook.handle, hook::TasksChanged{states, setup_failed_});
  }
  const bool all_ended
      = std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task.ended; });
  if (!all_ended || step_ != Step::running) return;
  step_ = Step::postrun;
  if (killing_ == Killing::no)
    ask_hooks<hook::PreKill>(Phase::pre_kill, [this] { postrun(); });
  else
    postrun();
}

// -- deaths --------------------------------------------------------------------------------------

void AllocState::react_to_deaths() {
  std::optional<workload::TaskEvent> cause;
  bool live = false, has_sidecars = false, live_main = false;
  for (const auto& task : tasks_) {
    if (task.is_poststop()) continue;
    has_sidecars = has_sidecars || task.sidecar;
    if (task.is_live()) {
      live = true;
      live_main = live_main || !task.sidecar;
    } else if (task.state->failed) {
      if (!cause) cause = event::failed_sibling(unix_now(), task.name);
    } else if (task.leader) {
      cause = event::make(event::leader_dead, unix_now());
    }
  }
  if (!live) {
    kill_idle_tasks();
    return;
  }
  if (!cause && has_sidecars && !live_main) cause = event::make(event::main_dead, unix_now());
  if (!cause || killing_ != Killing::no) return;
  for (auto& task : tasks_)
    if (task.is_live() && !task.ended && !task.is_poststop())
      self_->send(task.runner, task_runner::Tell{*cause});
  start_kill();
}

/// Every task that can run has died: those that wait for a restart need not any longer.
void AllocState::kill_idle_tasks() {
  for (auto& task : tasks_) {
    if (task.ended || task.is_poststop() || task.kill_sent) continue;
    task.kill_sent = true;
    self_->send(task.runner, task_runner::Kill{});
  }
}

// -- killing -------------------------------------------------------------------------------------

void AllocState::start_kill() {
  if (killing_ != Killing::no || step_ > Step::running) return;
  if (step_ == Step::idle || step_ == Step::prerun) {
    cancel_prerun_ = true;
    for (const auto& hook : hooks_)
      actor::send_urgent(self_, hook.handle, hook::Cancel{});
  }
  launch();  // Does nothing unless it is still idle; then the tasks end before they start.
  killing_ = Killing::pre_kill;
  ask_hooks<hook::PreKill>(Phase::pre_kill, [this] {
    killing_ = Killing::leader;
    for (auto& task : tasks_)
      if (task.leader) kill_task(task);
    advance_kill();
  });
}

Nanoseconds AllocState::kill_timeout(const Task& task) const {
  const auto found = find_task(*setup_.alloc, *setup_.job, task.name);
  const Nanoseconds own{found ? found->getKillTimeout() : 0};
  return std::min(own, setup_.context->max_kill_timeout);
}

void AllocState::kill_task(Task& task) {
  if (task.ended || task.kill_sent) return;
  task.kill_sent = true;
  self_->send(task.runner,
              task_runner::Kill{.event = event::killing_within(unix_now(), kill_timeout(task)),
                                .skip_delay = skips_delay_});
}

/// Goes on to the next stage once every task of the current one has ended.
void AllocState::advance_kill() {
  const auto is_over = [this](auto belongs) {
    return std::all_of(tasks_.begin(), tasks_.end(),
                       [&belongs](const auto& task) { return task.ended || !belongs(task); });
  };
  const auto is_other
      = [](const Task& task) { return !task.leader && !task.sidecar && !task.is_poststop(); };
  const auto is_sidecar
      = [](const Task& task) { return task.sidecar && !task.leader && !task.is_poststop(); };
  if (killing_ == Killing::leader && is_over([](const Task& task) { return task.leader; })) {
    killing_ = Killing::others;
    for (auto& task : tasks_)
      if (is_other(task)) kill_task(task);
  }
  if (killing_ == Killing::others && is_over(is_other)) {
    killing_ = Killing::sidecars;
    for (auto& task : tasks_)
      if (is_sidecar(task)) kill_task(task);
  }
  if (killing_ == Killing::sidecars && is_over(is_sidecar)) killing_ = Killing::all;
}

// -- starting and telling ------------------------------------------------------------------------

void AllocState::open_gates() {
  for (auto& task : tasks_) {
    const bool open = coordinator_->is_open(task.stage);
    if (task.ended || open == task.gate_open) continue;
    task.gate_open = open;
    self_->send(task.runner, task_runner::Gate{open});
  }
}

void AllocState::report() {
  const auto summary = status();
  workload::AllocReport about{.alloc_id = id_,
                              .node_id = setup_.context->node_id,
                              .status = summary.status,
                              .description = summary.description,
                              .tasks = {},
                              .health = health_,
                              .assigned = *setup_.alloc};
  const bool terminal = workload::is_client_terminal(summary.status);
  if (terminal && summary.status == schema::ClientStatus::FAILED && !health_
      && setup_.alloc->getDeploymentId().size() > 0)
    health_ = about.health = workload::HealthStatus{.healthy = false, .timestamp = unix_now()};
  for (auto& task : tasks_) {
    if (terminal && task.state->finished_at == 0) {
      auto ended = std::make_shared<workload::TaskState>(*task.state);
      ended->finished_at = unix_now();
      task.state = std::move(ended);
    }
    about.tasks.push_back({task.name, task.state.get()});
  }
  std::sort(about.tasks.begin(), about.tasks.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });

  const bool again = std::exchange(again_, false);
  sync::StateChanged change{id_, ++version_, workload::make_update(about, unix_now()), again};
  if (reported_ == summary.status && !again) {
    self_->send(setup_.context->sync, std::move(change));
    return;
  }
  actor::send_urgent(self_, setup_.context->sync, std::move(change));
  if (std::exchange(reported_, summary.status) != summary.status)
    self_->send(setup_.parent, alloc_runner::Status{id_, summary.status, false});
}

}  // namespace nomad::client::detail
