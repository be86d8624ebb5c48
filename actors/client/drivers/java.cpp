#include "actors/client/drivers/java.hpp"

#include "actors/client/drivers/isolated_commands.hpp"
#include "actors/client/drivers/java_command.hpp"
#include "actors/client/drivers/machine_programs.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::client {
namespace {

constexpr ConfigFieldSpec java_fields[]
    = {{"class", ConfigKind::TEXT},    {"class_path", ConfigKind::TEXT},
       {"jar_path", ConfigKind::TEXT}, {"jvm_options", ConfigKind::TEXTS},
       {"args", ConfigKind::TEXTS},    {"pid_mode", ConfigKind::TEXT},
       {"ipc_mode", ConfigKind::TEXT}, {"cap_add", ConfigKind::TEXTS},
       {"cap_drop", ConfigKind::TEXTS}};

struct JavaState {
  static constexpr const char* name = "java";

  explicit JavaState(ExecutorDriver::pointer self) : tasks{self} {}

  ExecutorTasks tasks;
};

Result<host::TaskCommand> java_command(schema::plugin::TaskConfig::Reader config) {
  auto command = NOMAD_TRY(bare_command(config));
  command.arguments
      = NOMAD_TRY(java_arguments(NOMAD_TRY(ConfigReader::parse(view(config.getConfig())))));
  const auto program = find_machine_program("java");
  if (!program) return program.error().within("failed to find java binary");
  command.command = *program;
  return command;
}

/// Without Java the driver is not there, as in Nomad.
Object<schema::plugin::Fingerprint> look_for_java(const std::string& cache_dir) {
  const auto program = find_machine_program("java");
  if (!program) return driver::make_fingerprint(false, false, "");
  const auto said = ask_machine_program(cache_dir, *program, {"-version"});
  if (!said) return driver::make_fingerprint(false, false, said.error().what);
  const auto java = parse_java_version(*said);
  return driver::make_fingerprint(true, true, "Healthy",
                                  {{"driver.java", "true"},
                                   {"driver.java.version", java.version},
                                   {"driver.java.runtime", java.runtime},
                                   {"driver.java.vm", java.machine}});
}

ExecutorDriver::behavior_type java(ExecutorDriver::stateful_pointer<JavaState> self,
                                   const DriverOptions& options) {
  auto traits = isolating_traits(
      options, {.name = "java", .fields = java_fields, .make_command = java_command});
  traits.detect = [cache_dir = options.cache_dir] { return look_for_java(cache_dir); };
  self->state.tasks.init(options, std::move(traits));
  return self->state.tasks.behavior();
}

}  // namespace

DriverEntry java_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, java, options);
  }};
}

}  // namespace nomad::client
