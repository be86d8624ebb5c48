#include "runtime/workload/task_coordinator.hpp"

#include <algorithm>

namespace nomad::workload {
namespace {

bool is_pending(const TaskView& task) {
  return task.state == TaskRunState::PENDING;
}

bool is_running(const TaskView& task) {
  return task.state == TaskRunState::RUNNING;
}

bool is_dead(const TaskView& task) {
  return task.state == TaskRunState::DEAD;
}

bool is_successful(const TaskView& task) {
  return task.successful();
}

bool has_started(const TaskView& task) {
  return !is_pending(task);
}

}  // namespace

Stage stage_of(std::string_view hook, bool sidecar) {
  if (hook == "prestart") return sidecar ? Stage::prestart_sidecar : Stage::prestart_ephemeral;
  if (hook == "poststart") return sidecar ? Stage::poststart_sidecar : Stage::poststart_ephemeral;
  if (hook == "poststop") return Stage::poststop;
  return Stage::main;
}

TaskCoordinator::TaskCoordinator(std::vector<Stage> stages) : stages_{std::move(stages)} {}

void TaskCoordinator::update(std::span<const TaskView> tasks) {
  for (auto following = next(tasks); following != state_; following = next(tasks))
    state_ = following;
}

void TaskCoordinator::restore(std::span<const TaskView> tasks) {
  state_ = State::prestart;
  update(tasks);
}

bool TaskCoordinator::all(Stage stage,
                          std::span<const TaskView> tasks,
                          bool (*holds)(const TaskView&)) const {
  for (std::size_t i = 0; i < stages_.size() && i < tasks.size(); ++i)
    if (stages_[i] == stage && !holds(tasks[i])) return false;
  return true;
}

TaskCoordinator::State TaskCoordinator::next(std::span<const TaskView> tasks) const {
  bool others_dead = true;
  for (std::size_t i = 0; i < stages_.size() && i < tasks.size(); ++i)
    others_dead = others_dead && (stages_[i] == Stage::poststop || is_dead(tasks[i]));
  if (others_dead) return State::poststop;

  switch (state_) {
    case State::init:
      return std::all_of(tasks.begin(), tasks.end(), is_pending) ? State::prestart : State::init;
    case State::prestart:
      return all(Stage::prestart_ephemeral, tasks, is_successful)
                     && all(Stage::prestart_sidecar, tasks, is_running)
                 ? State::main
                 : State::prestart;
    case State::main:
      return all(Stage::main, tasks, has_started) ? State::poststart : State::main;
    case State::poststart:
      return all(Stage::poststart_ephemeral, tasks, is_dead) ? State::wait_alloc : State::poststart;
    case State::wait_alloc:
      return State::wait_alloc;
    case State::poststop:
      return State::poststop;
  }
  return state_;
}

bool TaskCoordinator::is_open(Stage stage) const {
  switch (state_) {
    case State::init:
      return false;
    case State::prestart:
      return stage == Stage::prestart_ephemeral || stage == Stage::prestart_sidecar;
    case State::main:
      return stage == Stage::prestart_sidecar || stage == Stage::main;
    case State::poststart:
      return stage != Stage::prestart_ephemeral && stage != Stage::poststop;
    case State::wait_alloc:
      return stage == Stage::prestart_sidecar || stage == Stage::main
             || stage == Stage::poststart_sidecar;
    case State::poststop:
      return stage == Stage::poststop;
  }
  return false;
}

}  // namespace nomad::workload
