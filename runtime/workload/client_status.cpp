#include "runtime/workload/client_status.hpp"

namespace nomad::workload {

StatusSummary client_status(std::span<const TaskView> tasks) {
  bool failed = false, running = false, pending = false, dead = false;
  for (const auto& task : tasks) {
    switch (task.state) {
      case TaskRunState::RUNNING:
        running = true;
        break;
      case TaskRunState::PENDING:
        pending = true;
        break;
      case TaskRunState::DEAD:
        (task.failed ? failed : dead) = true;
        break;
    }
  }
  if (failed) return {ClientStatus::FAILED, "Failed tasks"};
  if (running) return {ClientStatus::RUNNING, "Tasks are running"};
  if (pending) return {ClientStatus::PENDING, "No tasks have started"};
  if (dead) return {ClientStatus::COMPLETE, "All tasks have completed"};
  return {};
}

}  // namespace nomad::workload
