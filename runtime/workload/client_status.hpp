// The status of an allocation as its client sees it, computed from its tasks' states.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/workload/task_state.hpp"

namespace nomad::workload {

struct StatusSummary {
  ClientStatus status = ClientStatus::PENDING;
  std::string_view description;
};

/// Failed before running before pending before complete: one failed task makes the allocation
/// failed, one running task makes it running.
StatusSummary client_status(std::span<const TaskView> tasks);

}  // namespace nomad::workload
