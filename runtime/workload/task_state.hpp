// TaskState: where a task of an allocation stands, as users and schedulers see it. Changed only by
// the task's runner; others get shared, immutable copies.
//
// Invariants:
//   1. At most `max_events` events are kept, the newest.
//   2. `failed` never goes back to false.
//   3. `finished_at` is set once, when the task is dead for the first time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/object/task_pause.hpp"
#include "runtime/workload/task_event.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::workload {

using schema::ClientStatus;
using schema::TaskRunState;
using schema::TaskScheduleState;

struct TaskState {
  static constexpr std::size_t max_events = 10;

  TaskRunState state = TaskRunState::PENDING;
  bool failed = false;
  std::uint64_t restarts = 0;
  std::int64_t last_restart = 0;  ///< Unix nanoseconds, like the next two; 0: never.
  std::int64_t started_at = 0;
  std::int64_t finished_at = 0;
  std::vector<TaskEvent> events{};  ///< Oldest first.
  TaskScheduleState paused = TaskScheduleState::RUN;

  /// Adds an event. One that fails the task sets `failed`; "Restarting" counts a restart.
  void append(TaskEvent event);

  /// The same, and no restart is counted.
  void append_uncounted(TaskEvent event);

  /// Goes to `next`: entering `running` sets `started_at`, being `dead` sets `finished_at`.
  void enter(TaskRunState next, std::int64_t now);

  /// Ended, and not by failing.
  bool successful() const { return state == TaskRunState::DEAD && !failed; }

  friend bool operator==(const TaskState&, const TaskState&) = default;
};

/// The part of a task's state that decisions about the whole allocation need.
struct TaskView {
  TaskRunState state = TaskRunState::PENDING;
  bool failed = false;

  bool successful() const { return state == TaskRunState::DEAD && !failed; }
};

inline TaskView view_of(const TaskState& state) {
  return {state.state, state.failed};
}

/// What a task went through between two states of it.
struct TaskSteps {
  std::uint64_t running = 0;     ///< It began to run.
  std::uint64_t restarts = 0;    ///< It was told to run again.
  std::uint64_t failed = 0;      ///< It ended for good, failed.
  std::uint64_t complete = 0;    ///< It ended for good otherwise.
  std::uint64_t oom_killed = 0;  ///< It had more memory than it may.

  friend bool operator==(const TaskSteps&, const TaskSteps&) = default;
};

/// `before` is a state that the task had earlier than `now`.
TaskSteps steps_between(const TaskState& before, const TaskState& now);

}  // namespace nomad::workload
