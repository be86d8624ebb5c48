#include "actors/client/drivers/raw_exec.hpp"

#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/executor_tasks.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::client {
namespace {

constexpr ConfigFieldSpec config_fields[]
    = {{"command", ConfigKind::TEXT, true}, {"args", ConfigKind::TEXTS}};

struct RawExecState {
  static constexpr const char* name = "raw_exec";

  explicit RawExecState(ExecutorDriver::pointer self) : tasks{self} {}

  ExecutorTasks tasks;
};

Object<schema::plugin::DriverDescription> describe_raw_exec() {
  Draft<schema::plugin::DriverDescription> draft;
  auto able = draft->initCapabilities();
  able.setFsIsolation("none");
  able.setSendSignals(true);
  able.setSecretsInMemory(true);
  able.setExec(true);
  write_fields(config_fields, draft->initConfig(std::size(config_fields)));
  return draft.freeze();
}

ExecutorTraits raw_exec_traits(const DriverOptions& options) {
  const auto is_set = [&options](const char* key) {
    const auto found = options.config.find(key);
    return found != options.config.end() && (found->second == "true" || found->second == "1");
  };
  const bool enabled = is_set("enabled");
  const bool use_cgroups = !is_set("no_cgroups");
  return {.attribute = "driver.raw_exec",
          .state_dir = options.state_dir + "/executors",
          .handle_version = 1,
          .description = describe_raw_exec(),
          .enabled = enabled,
          .use_cgroups = use_cgroups,
          .problem = enabled ? "" : "disabled",
          .make_command
          = [use_cgroups](schema::plugin::TaskConfig::Reader config) -> Result<host::TaskCommand> {
            auto command = NOMAD_TRY(plain_command(config));
            command.use_cgroup = use_cgroups;
            return command;
          }};
}

ExecutorDriver::behavior_type raw_exec(ExecutorDriver::stateful_pointer<RawExecState> self,
                                       const DriverOptions& options) {
  self->state.tasks.init(options, raw_exec_traits(options));
  return self->state.tasks.behavior();
}

}  // namespace

DriverEntry raw_exec_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, raw_exec, options);
  }};
}

}  // namespace nomad::client
