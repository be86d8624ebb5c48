#include "actors/client/drivers/exec.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/exec_settings.hpp"
#include "actors/client/drivers/executor_tasks.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/isolation/isolation.hpp"
#include "runtime/host/isolation/system_calls.hpp"

namespace nomad::client {
namespace {

using TaskConfig = schema::plugin::TaskConfig;

constexpr ConfigFieldSpec exec_fields[]
    = {{"command", ConfigKind::TEXT, true}, {"args", ConfigKind::TEXTS},
       {"pid_mode", ConfigKind::TEXT},      {"ipc_mode", ConfigKind::TEXT},
       {"cap_add", ConfigKind::TEXTS},      {"cap_drop", ConfigKind::TEXTS}};

constexpr std::string_view usual_path
    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct ExecState {
  static constexpr const char* name = "exec";

  explicit ExecState(ExecutorDriver::pointer self) : tasks{self} {}

  ExecutorTasks tasks;
};

Object<schema::plugin::DriverDescription> describe_exec() {
  Draft<schema::plugin::DriverDescription> draft;
  auto able = draft->initCapabilities();
  able.setFsIsolation("chroot");
  able.setSendSignals(true);
  able.setSecretsInMemory(true);
  able.setExec(true);
  able.setMounts(true);
  write_fields(exec_fields, draft->initConfig(std::size(exec_fields)));
  return draft.freeze();
}

/// The value of a variable in an environment of "NAME=value".
std::string_view variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

/// Makes commands of tasks. Nothing of it changes but the filters that were made.
class CommandMaker {
public:
  CommandMaker(const DriverOptions& options, const ExecSettings& settings)
      : settings_{settings}, chroot_env_{options.chroot_env}, hidden_{options.private_dirs} {
    if (chroot_env_.empty()) chroot_env_ = host::default_chroot_env();
    hidden_.push_back(options.alloc_dir);
    // Compared with where the entries of chroot_env really are.
    for (auto& directory : hidden_) {
      std::error_code failure;
      const auto real = std::filesystem::weakly_canonical(directory, failure);
      directory = host::task_path(failure ? directory : real.string());
    }
    if (!host::missing_for_isolation().empty()) return;  // Nothing will be started.
    const auto overlay = host::try_overlay(options.alloc_dir + "/.overlay-test");
    use_overlays_ = overlay.has_value();
    if (!overlay)
      log::warn("client", "exec: what chroot_env names is read-only for tasks: {}",
                overlay.error().what);
  }

  Result<host::TaskCommand> make(TaskConfig::Reader config) {
    auto command = NOMAD_TRY(plain_command(config));
    const auto task = NOMAD_TRY(
        read_exec_task(NOMAD_TRY(ConfigReader::parse(view(config.getConfig()))), settings_));
    const auto resources = config.getResources();
    if (resources.getCpuShares() < 2)
      return Error{Errc::invalid_argument,
                   fmt::format("resources.Cpu.CpuShares must be equal to or greater than 2: {}",
                               resources.getCpuShares())};
    if (!command.user) command.user = NOMAD_TRY(host::find_user("nobody"));
    if (variable(command.environment, "HOME").empty())
      command.environment.push_back("HOME=" + command.user->home);
    command.search_path = variable(command.environment, "PATH");
    if (command.search_path.empty()) command.search_path = usual_path;
    set_limits(resources, command.cgroup_limits);
    command.isolation = NOMAD_TRY(isolation_of(config, command, task));
    return command;
  }

private:
  void set_limits(schema::plugin::TaskResources::Reader resources,
                  host::CgroupLimits& limits) const {
    limits.memory_bytes = std::max(resources.getMemoryMaxBytes(), resources.getMemoryBytes());
    limits.memory_soft_bytes = resources.getMemoryMaxBytes() > 0 ? resources.getMemoryBytes() : 0;
    limits.cpu_shares = resources.getCpuShares();
    limits.pids = settings_.pids;
  }

  Result<host::Isolation> isolation_of(TaskConfig::Reader config,
                                       const host::TaskCommand& command,
                                       const ExecTaskSettings& task) {
    const bool is_root = command.user->uid == 0;
    host::Isolation isolation{
        .root = command.task_directory,
        .pivot = settings_.pivot,
        .private_pids = task.private_pids,
        .private_ipc = task.private_ipc,
        .root_attributes = host::root_attributes(!settings_.no_new_privileges),
        .programs = host::program_places(command.command),
        .capabilities = is_root ? host::root_capabilities() : task.capabilities,
        .ambient = !is_root,
        .no_new_privileges = settings_.no_new_privileges};
    isolation.mounts = NOMAD_TRY(host::plan_mounts(NOMAD_TRY(mounts_of(config))));
    if (settings_.filter) isolation.filter = NOMAD_TRY(filter_for(isolation.capabilities));
    return isolation;
  }

  Result<host::MountInput> mounts_of(TaskConfig::Reader config) const {
    const auto root = copy(config.getAllocRoot());
    const auto directory = copy(config.getTaskDirectory());
    host::MountInput input{.task_directory = directory,
                           .alloc_directory = root + "/alloc",
                           .work_directory = root + "/.overlays/" + copy(config.getId().getTask()),
                           .chroot = NOMAD_TRY(host::look_at_chroot(chroot_env_, directory)),
                           .hidden = hidden_,
                           .allow_set_user_id = !settings_.no_new_privileges,
                           .use_overlays = use_overlays_};
    for (const auto mount : config.getMounts())
      input.volumes.push_back({.task_path = copy(mount.getTaskPath()),
                               .host_path = copy(mount.getHostPath()),
                               .read_only = mount.getReadOnly(),
                               .propagation = copy(mount.getPropagation())});
    for (const auto device : config.getDevices())
      input.devices.push_back(
          {.task_path = copy(device.getTaskPath()), .host_path = copy(device.getHostPath())});
    return input;
  }

  Result<std::string> filter_for(host::CapabilitySet capabilities) {
    const auto known = filters_.find(capabilities.bits());
    if (known != filters_.end()) return known->second;
    auto made = NOMAD_TRY(host::make_call_filter(capabilities));
    return filters_.emplace(capabilities.bits(), std::move(made)).first->second;
  }

  ExecSettings settings_;
  std::map<std::string, std::string> chroot_env_;
  std::vector<std::string> hidden_;
  bool use_overlays_ = true;
  std::map<std::uint64_t, std::string> filters_;  ///< By capabilities.
};

/// Nomad's words where it has some.
Object<schema::plugin::Fingerprint> look_at_machine(const host::Cgroups& cgroups) {
  if (const auto missing = host::missing_for_isolation(); !missing.empty())
    return driver::make_fingerprint(missing != host::needs_root, false, missing);
  if (cgroups.mounts().version == host::CgroupMounts::Version::none)
    return driver::make_fingerprint(true, false, "Failed to discover cgroup mount point");
  if (const auto lacking = cgroups.lacking(); !lacking.empty())
    return driver::make_fingerprint(
        true, false, "tasks can't be limited: control groups lack the controllers " + lacking);
  return driver::make_fingerprint(true, true, "Healthy", {{"driver.exec", "true"}});
}

ExecutorTraits exec_traits(const DriverOptions& options) {
  ExecutorTraits traits{.attribute = "driver.exec",
                        .state_dir = options.state_dir + "/executors.exec",
                        .handle_version = 1,
                        .description = describe_exec(),
                        .limits = true,
                        .make_command = {},
                        .look = look_at_machine};
  // So the manager tells drivers that are not allowed here.
  if (const auto enabled = options.config.find("enabled");
      enabled != options.config.end() && enabled->second == "false") {
    traits.enabled = false;
    traits.problem = "disabled";
    return traits;
  }
  const auto settings = read_exec_settings(options.config);
  if (!settings) {
    traits.problem = "plugin \"exec\": " + settings.error().what;
    return traits;
  }
  const auto maker = std::make_shared<CommandMaker>(options, *settings);
  traits.make_command = [maker](TaskConfig::Reader config) { return maker->make(config); };
  return traits;
}

ExecutorDriver::behavior_type exec(ExecutorDriver::stateful_pointer<ExecState> self,
                                   const DriverOptions& options) {
  self->state.tasks.init(options, exec_traits(options));
  return self->state.tasks.behavior();
}

}  // namespace

DriverEntry exec_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, exec, options);
  }};
}

}  // namespace nomad::client
