// Actions: commands that a job has for a task, and that users have run by their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/alloc_view.hpp"
#include "schema/job.capnp.h"

namespace nomad::workload {

struct ActionAsked {
  AllocView alloc;
  schema::Job::Reader job;  ///< The allocation's.
  std::string_view job_id;  ///< What was asked for with it.
  std::string_view task;
  std::string_view action;
};

/// The program of an action and its arguments, as the job has them: nothing is interpolated, as in
/// Nomad. Errors: `invalid_argument` for another job than the allocation's, a task that it does not
/// have, and an action that the task does not have.
Result<std::vector<std::string>> command_of_action(const ActionAsked& asked);

}  // namespace nomad::workload
