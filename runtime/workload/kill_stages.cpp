#include "runtime/workload/kill_stages.hpp"

#include <algorithm>
#include <utility>

namespace nomad::workload {

KillStages::KillStages(std::vector<Task> tasks) {
  tasks_.reserve(tasks.size());
  for (auto& task : tasks)
    tasks_.push_back({.task = std::move(task)});
}

bool KillStages::all_ended() const {
  return std::ranges::all_of(tasks_, &Known::ended);
}

std::optional<TaskEvent> KillStages::reason(std::span<const TaskView> states,
                                            std::int64_t unix_now) const {
  if (stage_ != Stage::none) return std::nullopt;
  const Task* failed = nullptr;
  bool lives = false, main_lives = false, has_sidecars = false, leader_died = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const auto& task = tasks_[i].task;
    if (task.poststop) continue;
    has_sidecars = has_sidecars || task.sidecar;
    if (states[i].state != TaskRunState::DEAD) {
      lives = true;
      main_lives = main_lives || !task.sidecar;
    } else if (states[i].failed) {
      if (failed == nullptr && !leader_died) failed = &task;
    } else if (task.leader) {
      leader_died = true;
      failed = nullptr;
    }
  }
  if (!lives) return std::nullopt;
  if (failed != nullptr) return task_event::failed_sibling(unix_now, failed->name);
  if (leader_died) return task_event::make(task_event::leader_dead, unix_now);
  if (has_sidecars && !main_lives) return task_event::make(task_event::main_dead, unix_now);
  return std::nullopt;
}

std::vector<std::size_t> KillStages::take_idle(std::span<const TaskView> states) {
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (!tasks_[i].task.poststop && states[i].state != TaskRunState::DEAD) return {};
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    auto& known = tasks_[i];
    if (known.ended || known.task.poststop || std::exchange(known.named, true)) continue;
    idle.push_back(i);
  }
  return idle;
}

bool KillStages::begin() {
  if (stage_ != Stage::none) return false;
  stage_ = Stage::pre_kill;
  return true;
}

std::vector<std::size_t> KillStages::hooks_answered() {
  if (stage_ != Stage::pre_kill) return {};
  stage_ = Stage::leader;
  std::vector<std::size_t> named;
  name_all(stage_, named);
  const auto later = advance();
  named.insert(named.end(), later.begin(), later.end());
  return named;
}

std::vector<std::size_t> KillStages::advance() {
  std::vector<std::size_t> named;
  while (stage_ >= Stage::leader && stage_ < Stage::all && is_over(stage_)) {
    stage_ = static_cast<Stage>(static_cast<std::uint8_t>(stage_) + 1);
    name_all(stage_, named);
  }
  return named;
}

bool KillStages::belongs(const Task& task, Stage stage) const {
  switch (stage) {
    case Stage::leader:
      return task.leader;
    case Stage::others:
      return !task.leader && !task.sidecar && !task.poststop;
    case Stage::sidecars:
      return !task.leader && task.sidecar && !task.poststop;
    case Stage::none:
    case Stage::pre_kill:
    case Stage::all:
      return false;
  }
  return false;
}

bool KillStages::is_over(Stage stage) const {
  return std::ranges::all_of(tasks_, [this, stage](const Known& known) {
    return known.ended || !belongs(known.task, stage);
  });
}

void KillStages::name_all(Stage stage, std::vector<std::size_t>& named) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    auto& known = tasks_[i];
    if (known.ended || !belongs(known.task, stage) || std::exchange(known.named, true)) continue;
    named.push_back(i);
  }
}

}  // namespace nomad::workload
