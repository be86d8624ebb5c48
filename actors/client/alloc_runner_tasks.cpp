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
  tasks_[msg.index].runner = TaskRunner{};
  kill_stages_->ended(msg.index);
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
  kill(kill_stages_->advance());
  report();

  std::vector<TaskStatePtr> states;
  for (const auto& hook : hooks_) {
    if (states.empty())
      for (const auto& task : tasks_)
        states.push_back(task.state);
    self_->send(hook.handle, hook::TasksChanged{states, setup_failed_});
  }
  if (!kill_stages_->all_ended() || step_ != Step::running) return;
  step_ = Step::postrun;
  if (kill_stages_->is_killing())
    postrun();
  else
    ask_hooks<hook::PreKill>(Phase::pre_kill, [this] { postrun(); });
}

// -- deaths --------------------------------------------------------------------------------------

void AllocState::react_to_deaths() {
  const auto states = views();
  for (const auto index : kill_stages_->take_idle(states))
    self_->send(tasks_[index].runner, task_runner::Kill{});
  const auto reason = kill_stages_->reason(states, unix_now());
  if (!reason) return;
  for (auto& task : tasks_)
    if (task.is_live() && !task.has_ended() && !task.is_poststop())
      self_->send(task.runner, task_runner::Tell{*reason});
  start_kill();
}

// -- killing -------------------------------------------------------------------------------------

void AllocState::start_kill() {
  if (kill_stages_->is_killing() || step_ > Step::running) return;
  if (step_ == Step::idle || step_ == Step::prerun) {
    cancel_prerun_ = true;
    for (const auto& hook : hooks_)
      actor::send_urgent(self_, hook.handle, hook::Cancel{});
  }
  launch();  // Does nothing unless it is still idle; then the tasks end before they start.
  kill_stages_->begin();
  ask_hooks<hook::PreKill>(Phase::pre_kill, [this] { kill(kill_stages_->hooks_answered()); });
}

Nanoseconds AllocState::kill_timeout(const Task& task) const {
  const auto found = find_task(*setup_.alloc, *setup_.job, task.name);
  const Nanoseconds own{found ? found->getKillTimeout() : 0};
  return std::min(own, setup_.context->max_kill_timeout);
}

void AllocState::kill(const std::vector<std::size_t>& tasks) {
  for (const auto index : tasks)
    self_->send(
        tasks_[index].runner,
        task_runner::Kill{.event = event::killing_within(unix_now(), kill_timeout(tasks_[index])),
                          .skip_delay = skips_delay_});
}

// -- starting and telling ------------------------------------------------------------------------

void AllocState::open_gates() {
  for (auto& task : tasks_) {
    const bool open = coordinator_->is_open(task.stage);
    if (task.has_ended() || open == task.gate_open) continue;
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
