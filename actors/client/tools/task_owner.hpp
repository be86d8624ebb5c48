// Whose the secrets of a task are: the owner of its socket and of the files with its tokens.
#pragma once

#include <string>
#include <string_view>

#include "runtime/host/beneath.hpp"
#include "runtime/workload/task_env.hpp"

namespace nomad::client {

/// Who is in the task, as far as this machine knows him: the user that the job names, else the one
/// as whom the task's driver runs. Nobody, for users of images and of drivers that are not ours.
/// May block.
host::FileOwner owner_of_secrets(schema::Task::Reader task, const workload::TaskEnv& env);

/// The same of the job's user in whom nothing is left to be replaced.
host::FileOwner owner_of_secrets_as(schema::Task::Reader task, std::string user);

/// Whether the driver's tasks run as users of this machine: a plugin's may have images, where the
/// same name is another user.
bool has_users_of_machine(std::string_view driver);

}  // namespace nomad::client
