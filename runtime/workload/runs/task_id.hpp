// TaskId: a task's name on its node, as a value.
#pragma once

#include <compare>
#include <string>

namespace nomad {

struct TaskId {
  std::string alloc_id;
  std::string task;

  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

}  // namespace nomad
