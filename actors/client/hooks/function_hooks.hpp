// The built-in hooks that are functions: those that make and remove directories, and small checks.
#pragma once

#include "actors/client/hooks/hook.hpp"
#include "actors/client/hooks/user_rules.hpp"
#include "actors/client/tools/blocking_pool.hpp"

namespace nomad::client {

/// "alloc_dir": makes the part that a group's tasks share, forgets secrets that are kept in memory
/// when all tasks have ended, and removes the whole tree at the end.
HookEntry alloc_dir_hook(BlockingPool steps);

/// "validate": refuses tasks whose user is not allowed with their driver, root with exec.
HookEntry validate_hook(BlockingPool steps, const UserRules& rules);

/// "task_dir": makes a task's directories.
HookEntry task_dir_hook(BlockingPool steps);

/// "volumes": finds the volumes of the host that a task mounts; refuses them if its driver can't.
HookEntry volumes_hook(BlockingPool steps);

/// "dispatch_payload": writes the payload of a dispatched job to the file that the task names.
HookEntry dispatch_payload_hook(BlockingPool steps);

}  // namespace nomad::client
