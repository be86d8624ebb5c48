// The states of tasks that several tests of this folder speak of.
#pragma once

#include "runtime/workload/client_status.hpp"

namespace nomad::workload {

inline constexpr TaskView pending{TaskRunState::PENDING, false};
inline constexpr TaskView running{TaskRunState::RUNNING, false};
inline constexpr TaskView done{TaskRunState::DEAD, false};
inline constexpr TaskView failed{TaskRunState::DEAD, true};

}  // namespace nomad::workload
