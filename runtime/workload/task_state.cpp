#include "runtime/workload/task_state.hpp"

#include <algorithm>

namespace nomad::workload {
namespace {

bool is_oom_kill(const TaskEvent& event) {
  return event.detail("oom_killed") == "true";
}

/// The first of the events of `now` that `before` did not have. They are kept in their order, and
/// only the oldest go.
auto first_new(const TaskState& before, const TaskState& now) {
  if (before.events.empty()) return now.events.begin();
  const auto last = std::find(now.events.rbegin(), now.events.rend(), before.events.back());
  return last.base();
}

}  // namespace

void TaskState::append(TaskEvent event) {
  if (event.type == task_event::restarting) {
    ++restarts;
    last_restart = event.time;
  }
  append_uncounted(std::move(event));
}

void TaskState::append_uncounted(TaskEvent event) {
  if (event.fails_task()) failed = true;
  if (events.size() >= max_events) events.erase(events.begin());
  events.push_back(std::move(event));
}

void TaskState::enter(TaskRunState next, std::int64_t now) {
  if (next == TaskRunState::RUNNING && state != TaskRunState::RUNNING) started_at = now;
  if (next == TaskRunState::DEAD && finished_at == 0) finished_at = now;
  state = next;
}

TaskSteps steps_between(const TaskState& before, const TaskState& now) {
  const bool entered = before.state != now.state;
  const bool ended = entered && now.state == TaskRunState::DEAD;
  TaskSteps steps;
  steps.running = entered && now.state == TaskRunState::RUNNING ? 1 : 0;
  steps.failed = ended && now.failed ? 1 : 0;
  steps.complete = ended && !now.failed ? 1 : 0;
  steps.restarts = now.restarts - std::min(now.restarts, before.restarts);
  steps.oom_killed = static_cast<std::uint64_t>(
      std::count_if(first_new(before, now), now.events.end(), is_oom_kill));
  return steps;
}

}  // namespace nomad::workload
