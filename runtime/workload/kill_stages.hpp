// KillStages: decides which tasks of an allocation have to end, and in which order. Hooks come
// first (they take services away), then the leader, so that others may still serve it while it
// ends, then the others, then sidecars, so that logs are shipped and proxies stand to the last.
// Poststop tasks are not killed: they clean up.
//
// (1) A stage begins when every task of the one before has ended; an empty one is passed at once.
// (2) No task is named twice.
// (3) Killing begins once, and is never taken back.
//
// clang-format off
//
//   none ─begin─▶ pre_kill ─hooks_answered─▶ leader ─advance─▶ others ─advance─▶ sidecars ─advance─▶ all
//
// clang-format on
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/workload/task_event.hpp"
#include "runtime/workload/task_state.hpp"

namespace nomad::workload {

class KillStages {
public:
  enum class Stage : std::uint8_t { none, pre_kill, leader, others, sidecars, all };

  struct Task {
    std::string name;
    bool leader = false;
    bool sidecar = false;
    bool poststop = false;
  };

  /// In the group's order, as are the states passed to the other methods, and what they give.
  explicit KillStages(std::vector<Task> tasks);

  /// The task will never run again.
  void ended(std::size_t task) { tasks_[task].ended = true; }

  bool has_ended(std::size_t task) const { return tasks_[task].ended; }

  bool all_ended() const;

  /// Why the tasks that live have to be killed: one failed, the leader is dead, or only sidecars
  /// are left. Nothing: they need not be, or are being killed already.
  std::optional<TaskEvent> reason(std::span<const TaskView> states, std::int64_t unix_now) const;

  /// The tasks that wait for a restart of all although nothing lives that could still ask for it.
  /// They end at once; hooks need not be asked.
  std::vector<std::size_t> take_idle(std::span<const TaskView> states);

  /// The hooks are to be asked. False: killing has begun already.
  bool begin();

  /// The tasks to kill now.
  std::vector<std::size_t> hooks_answered();
  std::vector<std::size_t> advance();

  bool is_killing() const { return stage_ != Stage::none; }

  Stage stage() const { return stage_; }

private:
  struct Known {
    Task task;
    bool ended = false;
    bool named = false;  ///< To be killed.
  };

  bool belongs(const Task& task, Stage stage) const;
  bool is_over(Stage stage) const;
  void name_all(Stage stage, std::vector<std::size_t>& named);

  std::vector<Known> tasks_;
  Stage stage_ = Stage::none;
};

}  // namespace nomad::workload
