#include "actors/client/hooks/api_hook.hpp"

#include <fmt/format.h>

#include "actors/client/hooks/function_hook.hpp"
#include "actors/client/tools/task_owner.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/task/task_socket.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

constexpr const char* socket_name = "api.sock";
constexpr const char* socket_variable = "NOMAD_UNIX_ADDR";

std::string name_of(const HookCall& call) {
  return TaskSockets::name_of(view(call.target().getAllocId()), view(call.target().getTask()));
}

std::string secrets_of(const HookCall& call) {
  return copy(call.target().getTask()) + "/secrets";
}

Result<> open_socket(TaskSockets& sockets,
                     const HookCall& call,
                     schema::Task::Reader task,
                     const workload::TaskEnv& env) {
  return sockets.open(name_of(call), {.root = copy(call.target().getAllocRoot()),
                                      .directory = secrets_of(call),
                                      .file = socket_name,
                                      .owner = owner_of_secrets(task, env)});
}

Result<HookResult> give_socket(TaskSockets& sockets, const HookCall& call) {
  const auto task
      = workload::find_task(*call.scope.alloc, *call.scope.job, view(call.target().getTask()));
  if (!task) return HookResult{};
  const auto& env = call.env();
  if (const auto opened = open_socket(sockets, call, *task, env); !opened) {
    log::warn("client", "a task runs without a socket for the API",
              {{"alloc", view(call.target().getAllocId())},
               {"task", view(call.target().getTask())},
               {"error", opened.error()}});
    return HookResult{};
  }
  for (const auto given : task->getEnv())
    if (view(given.getKey()) == socket_variable) return HookResult{};
  const auto secrets = env.variables().find("NOMAD_SECRETS_DIR");
  if (secrets == env.variables().end()) return HookResult{};
  return HookResult{
      .env = {{socket_variable, fmt::format("unix://{}/{}", secrets->second, socket_name)}}};
}

Result<HookResult> take_socket(TaskSockets& sockets, const HookCall& call) {
  sockets.remove(name_of(call));
  const auto root = host::Beneath::open(copy(call.target().getAllocRoot()), false);
  if (!root) return HookResult{};  // it has gone with its directory
  if (const auto removed = host::remove_from_task(*root, secrets_of(call), socket_name); !removed)
    log::debug("client", "the socket for the API is not removed",
               {{"alloc", view(call.target().getAllocId())},
                {"task", view(call.target().getTask())},
                {"error", removed.error()}});
  return HookResult{};
}

}  // namespace

HookEntry api_hook(std::shared_ptr<TaskSockets> sockets, BlockingPool steps) {
  return {.name = "api",
          .phases = {HookPhase::PRESTART, HookPhase::STOP},
          .keeps_nothing = true,
          .reads_environment = {HookPhase::PRESTART},
          .wanted = [has = sockets != nullptr](const HookScope&) { return has; },
          .spawn = function_hook(
              std::move(steps),
              {{HookPhase::PRESTART,
                [sockets](const HookCall& call) { return give_socket(*sockets, call); }},
               {HookPhase::STOP,
                [sockets](const HookCall& call) { return take_socket(*sockets, call); }}})};
}

}  // namespace nomad::client
