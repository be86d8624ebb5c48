// The way of a command (`alloc exec`) from the client through the allocation's runner to the
// task's, and on to the driver, which answers with the session. Each refuses what it knows better
// than the next; users' scripts match on the sentences.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/client/alloc_runner_state.hpp"
#include "actors/client/client_state.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client::detail {

actor::Answer<client_api::ExecStarted> ClientState::exec(client_api::Exec& msg) {
  if (options_.disable_remote_exec) return Error{Errc::permission_denied, "Permission denied"};
  if (!allocs_.contains(msg.alloc_id)) return unknown(msg.alloc_id);
  if (msg.task.empty()) return Error{Errc::invalid_argument, "must provide task name"};
  if (msg.command.command.empty()) return Error{Errc::invalid_argument, "command is not present"};
  // Never its arguments: they may hold secrets.
  log::info("client", "a command is asked for in allocation {}, task {}: {}{}", msg.alloc_id,
            msg.task, msg.command.command.front(), msg.command.tty ? " (with a terminal)" : "");
  return pass_on<client_api::ExecStarted>(msg);
}

actor::Answer<client_api::ExecStarted> AllocState::exec(client_api::Exec& msg) {
  const auto task = std::ranges::find(tasks_, msg.task, &Task::name);
  if (task == tasks_.end()) return Error{Errc::rejected, "task not found"};
  if (task->state->started_at == 0)
    return Error{Errc::not_found, fmt::format("task \"{}\" not started yet.", msg.task)};
  if (task->has_ended())
    return Error{Errc::not_found, fmt::format("task \"{}\" is not running.", msg.task)};
  return self_->delegate(task->runner, task_runner::Exec{std::move(msg.command)});
}

}  // namespace nomad::client::detail
