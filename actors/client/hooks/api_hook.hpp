// The api hook: gives a task its socket, `secrets/api.sock`, by which it asks this agent what users
// ask by HTTP, with a token always.
//
// The socket is there before the task and stays over its restarts; one that the task removed, or
// that a killed agent left, is made anew at the next start, which the next agent asks of a task
// that it finds running, too. It ends with the task. A task whose socket can't be made runs
// without: that is a warning.
#pragma once

#include <memory>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/tools/task_sockets.hpp"

namespace nomad::client {

/// Without `sockets` no task has one.
HookEntry api_hook(std::shared_ptr<TaskSockets> sockets, BlockingPool steps);

}  // namespace nomad::client
