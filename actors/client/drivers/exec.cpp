#include "actors/client/drivers/exec.hpp"

#include "actors/client/drivers/isolated_commands.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::client {
namespace {

constexpr ConfigFieldSpec exec_fields[]
    = {{"command", ConfigKind::TEXT, true}, {"args", ConfigKind::TEXTS},
       {"pid_mode", ConfigKind::TEXT},      {"ipc_mode", ConfigKind::TEXT},
       {"cap_add", ConfigKind::TEXTS},      {"cap_drop", ConfigKind::TEXTS}};

struct ExecState {
  static constexpr const char* name = "exec";

  explicit ExecState(ExecutorDriver::pointer self) : tasks{self} {}

  ExecutorTasks tasks;
};

ExecutorDriver::behavior_type exec(ExecutorDriver::stateful_pointer<ExecState> self,
                                   const DriverOptions& options) {
  self->state.tasks.init(options, isolating_traits(options, {.name = "exec",
                                                             .fields = exec_fields,
                                                             .make_command = plain_command}));
  return self->state.tasks.behavior();
}

}  // namespace

DriverEntry exec_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, exec, options);
  }};
}

}  // namespace nomad::client
