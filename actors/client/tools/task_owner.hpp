// Whose the secrets of a task are: the owner of its socket and of the files with its tokens.
#pragma once

#include "runtime/host/beneath.hpp"
#include "runtime/workload/task_env.hpp"

namespace nomad::client {

/// Who is in the task, as far as this machine knows him: the user that the job names, else the one
/// as whom the task's driver runs. Nobody, for users of images and of drivers that are not ours.
/// May block.
host::FileOwner owner_of_secrets(schema::Task::Reader task, const workload::TaskEnv& env);

}  // namespace nomad::client
