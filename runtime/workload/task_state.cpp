#include "runtime/workload/task_state.hpp"

namespace nomad::workload {

void TaskState::append(TaskEvent event) {
  if (event.fails_task()) failed = true;
  if (event.type == task_event::restarting) {
    ++restarts;
    last_restart = event.time;
  }
  if (events.size() >= max_events) events.erase(events.begin());
  events.push_back(std::move(event));
}

void TaskState::enter(TaskRunState next, std::int64_t now) {
  if (next == TaskRunState::RUNNING && state != TaskRunState::RUNNING) started_at = now;
  if (next == TaskRunState::DEAD && finished_at == 0) finished_at = now;
  state = next;
}

}  // namespace nomad::workload
