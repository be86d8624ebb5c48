#include "actors/client/drivers/isolated_commands.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/host/isolation/isolation.hpp"
#include "runtime/host/isolation/system_calls.hpp"

namespace nomad::client {

using TaskConfig = schema::plugin::TaskConfig;

namespace {

constexpr std::string_view usual_path
    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The value of a variable in an environment of "NAME=value".
std::string_view variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

Object<schema::plugin::DriverDescription> describe(std::span<const ConfigFieldSpec> fields) {
  Draft<schema::plugin::DriverDescription> draft;
  auto able = draft->initCapabilities();
  able.setFsIsolation("chroot");
  able.setSendSignals(true);
  able.setSecretsInMemory(true);
  able.setExec(true);
  able.setMounts(true);
  write_fields(fields, draft->initConfig(static_cast<unsigned>(fields.size())));
  return draft.freeze();
}

/// What this machine lacks for such tasks, in Nomad's words where it has some.
std::optional<Object<schema::plugin::Fingerprint>> lacking_for_isolation(
    const host::Cgroups& cgroups) {
  if (const auto missing = host::missing_for_isolation(); !missing.empty())
    return driver::make_fingerprint(missing != host::needs_root, false, missing);
  if (cgroups.mounts().version == host::CgroupMounts::Version::none)
    return driver::make_fingerprint(true, false, "Failed to discover cgroup mount point");
  if (const auto lacking = cgroups.lacking(); !lacking.empty())
    return driver::make_fingerprint(
        true, false, "tasks can't be limited: control groups lack the controllers " + lacking);
  return std::nullopt;
}

}  // namespace

Isolator::Isolator(const DriverOptions& options, const ExecSettings& settings)
    : settings_{settings},
      driver_{options.name},
      alloc_dir_{options.alloc_dir},
      chroot_env_{options.chroot_env},
      hidden_{options.private_dirs} {
  if (chroot_env_.empty()) chroot_env_ = host::default_chroot_env();
  hidden_.push_back(options.alloc_dir);
  // Compared with where the entries of chroot_env really are.
  for (auto& directory : hidden_) {
    std::error_code failure;
    const auto real = std::filesystem::weakly_canonical(directory, failure);
    directory = host::task_path(failure ? directory : real.string());
  }
}

bool Isolator::can_make_overlays() {
  if (makes_overlays_) return *makes_overlays_;
  const auto tried = host::try_overlay(fmt::format("{}/.overlay-test.{}", alloc_dir_, driver_));
  if (!tried)
    log::warn("client", "what chroot_env names is read-only for tasks",
              {{"driver", driver_}, {"error", tried.error()}});
  return makes_overlays_.emplace(tried.has_value());
}

Result<host::TaskCommand> Isolator::isolate(host::TaskCommand command, TaskConfig::Reader config) {
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

void Isolator::set_limits(schema::plugin::TaskResources::Reader resources,
                          host::CgroupLimits& limits) const {
  limits.memory_bytes = std::max(resources.getMemoryMaxBytes(), resources.getMemoryBytes());
  limits.memory_soft_bytes = resources.getMemoryMaxBytes() > 0 ? resources.getMemoryBytes() : 0;
  limits.cpu_shares = resources.getCpuShares();
  limits.pids = settings_.pids;
}

Result<host::Isolation> Isolator::isolation_of(TaskConfig::Reader config,
                                               const host::TaskCommand& command,
                                               const ExecTaskSettings& task) {
  const bool is_root = command.user->uid == 0;
  host::Isolation isolation{.root = command.task_directory,
                            .pivot = settings_.pivot,
                            .private_pids = task.private_pids,
                            .private_ipc = task.private_ipc,
                            .root_attributes = host::root_attributes(!settings_.no_new_privileges),
                            .programs = host::program_locations(command.command),
                            .capabilities = is_root ? host::root_capabilities() : task.capabilities,
                            .ambient = !is_root,
                            .no_new_privileges = settings_.no_new_privileges};
  isolation.mounts = NOMAD_TRY(host::plan_mounts(NOMAD_TRY(mounts_of(config))));
  if (settings_.filter) isolation.filter = NOMAD_TRY(filter_for(isolation.capabilities));
  return isolation;
}

Result<host::MountInput> Isolator::mounts_of(TaskConfig::Reader config) {
  const auto root = copy(config.getAllocRoot());
  const auto directory = copy(config.getTaskDirectory());
  host::MountInput input{.task_directory = directory,
                         .alloc_directory = root + "/alloc",
                         .work_directory = root + "/.overlays/" + copy(config.getId().getTask()),
                         .chroot = NOMAD_TRY(host::look_at_chroot(chroot_env_, directory)),
                         .hidden = hidden_,
                         .allow_set_user_id = !settings_.no_new_privileges,
                         .use_overlays = can_make_overlays()};
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

Result<std::string> Isolator::filter_for(host::CapabilitySet capabilities) {
  const auto known = filters_.find(capabilities.bits());
  if (known != filters_.end()) return known->second;
  auto made = NOMAD_TRY(host::make_call_filter(capabilities));
  return filters_.emplace(capabilities.bits(), std::move(made)).first->second;
}

ExecutorTraits isolating_traits(const DriverOptions& options, IsolatingDriver driver) {
  ExecutorTraits traits{.attribute = "driver." + driver.name,
                        .state_dir = options.state_dir + "/executors." + driver.name,
                        .handle_version = 1,
                        .description = describe(driver.fields),
                        .limits = true,
                        .make_command = {},
                        .lacking = lacking_for_isolation};
  // So the manager tells drivers that are not allowed here.
  if (const auto enabled = options.config.find("enabled");
      enabled != options.config.end() && enabled->second == "false") {
    traits.enabled = false;
    traits.problem = "disabled";
    return traits;
  }
  const auto settings = read_exec_settings(options.config);
  if (!settings) {
    traits.problem = fmt::format("plugin \"{}\": {}", driver.name, settings.error().what);
    return traits;
  }
  traits.make_command = [isolator = std::make_shared<Isolator>(options, *settings),
                         make = std::move(driver.make_command)](
                            TaskConfig::Reader config) -> Result<host::TaskCommand> {
    return isolator->isolate(NOMAD_TRY(make(config)), config);
  };
  return traits;
}

}  // namespace nomad::client
