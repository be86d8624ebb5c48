#include "actors/client/drivers/qemu.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/executor_tasks.hpp"
#include "actors/client/drivers/machine_programs.hpp"
#include "actors/client/drivers/mapped_ports.hpp"
#include "actors/client/drivers/qemu_command.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/workload/node/cpu_sets.hpp"

namespace nomad::client {
namespace {

using TaskConfig = schema::plugin::TaskConfig;

constexpr const char* emulator = "qemu-system-x86_64";
constexpr std::string_view power_down = "system_powerdown\n";

constexpr ConfigFieldSpec qemu_fields[]
    = {{"image_path", ConfigKind::TEXT, true}, {"drive_interface", ConfigKind::TEXT},
       {"accelerator", ConfigKind::TEXT},      {"graceful_shutdown", ConfigKind::BOOLEAN},
       {"guest_agent", ConfigKind::BOOLEAN},   {"args", ConfigKind::TEXTS},
       {"port_map", ConfigKind::MAP}};

struct QemuState {
  static constexpr const char* name = "qemu";

  explicit QemuState(ExecutorDriver::pointer self) : tasks{self} {}

  ExecutorTasks tasks;
};

Object<schema::plugin::DriverDescription> describe_qemu() {
  Draft<schema::plugin::DriverDescription> draft;
  draft->initCapabilities().setFsIsolation("image");
  write_fields(qemu_fields, draft->initConfig(std::size(qemu_fields)));
  return draft.freeze();
}

/// The image's file, wherever links lead to it.
Result<std::string> find_image(const ConfigReader& reader,
                               TaskConfig::Reader config,
                               const std::vector<std::string>& allowed) {
  const std::filesystem::path named = reader.text("image_path");
  if (named.empty()) return Error{Errc::invalid_argument, "image_path must be set"};
  // The emulator is started in the task's directory.
  const auto path = std::filesystem::path{copy(config.getTaskDirectory())} / named;
  std::error_code failure;
  const auto image = std::filesystem::canonical(path, failure);
  if (failure)
    return Error{Errc::not_found,
                 fmt::format("image_path: {}: {}", named.string(), failure.message())};
  std::vector<std::string> directories;
  for (const auto& directory : allowed)
    directories.push_back(std::filesystem::weakly_canonical(directory, failure).string());
  directories.push_back(
      std::filesystem::weakly_canonical(copy(config.getAllocRoot()), failure).string());
  if (!is_image_allowed(image.string(), directories))
    return Error{Errc::rejected, "image_path is not in the allowed paths"};
  return image.string();
}

Result<host::TaskCommand> make_command(TaskConfig::Reader config, const QemuSettings& settings) {
  const auto reader = NOMAD_TRY(ConfigReader::parse(view(config.getConfig())));
  const auto resources = config.getResources();
  QemuMachine machine{.image = NOMAD_TRY(find_image(reader, config, settings.image_paths)),
                      .memory_mib = resources.getMemoryBytes() >> 20,
                      .cores = workload::count_cores(view(resources.getCpuset()))};
  for (const auto port : config.getPorts())
    machine.ports.emplace(copy(port.getLabel()), port.getValue());
  for (const auto port : config.getTaskPorts())
    machine.ports.emplace(copy(port.getLabel()), port.getValue());
  for (const auto server : config.getDns().getServers())
    machine.name_servers.push_back(copy(server));
  for (const auto domain : config.getDns().getSearches())
    machine.search_domains.push_back(copy(domain));
  auto command = NOMAD_TRY(bare_command(config));
  command.arguments = NOMAD_TRY(qemu_arguments(reader, settings, machine));
  command.command = NOMAD_TRY(find_machine_program(emulator));
  put_mapped_ports(NOMAD_TRY(read_port_map(reader.map("port_map"))), command.environment);
  return command;
}

/// Tells the machine to power down, as its button does. The connection stays open until the task
/// has ended, for the emulator may not have read it yet.
host::UniqueFd power_down_machine(const std::string& task_directory) {
  const host::UniqueFd directory{
      ::open(task_directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!directory) return {};
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  // The directory's own path may be longer than that of a socket can be.
  const auto end = fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1,
                                    "/proc/self/fd/{}/{}", directory.get(), qemu_monitor_socket);
  *end.out = '\0';
  host::UniqueFd monitor{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!monitor
      || ::connect(monitor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)
             != 0) {
    if (errno != ENOENT)  // It has no monitor, for it is not to be asked.
      log::warn("client", "no connection to a machine's monitor",
                {{"driver", "qemu"}, {"path", task_directory}, {"error", std::strerror(errno)}});
    return {};
  }
  if (::send(monitor.get(), power_down.data(), power_down.size(), MSG_NOSIGNAL)
      != static_cast<ssize_t>(power_down.size()))
    return {};
  return monitor;
}

Object<schema::plugin::Fingerprint> look_for_qemu(const std::string& cache_dir) {
  const auto program = find_machine_program(emulator);
  if (!program) return driver::make_fingerprint(false, false, "");
  const auto said = ask_machine_program(cache_dir, *program, {"--version"});
  if (!said) return driver::make_fingerprint(false, false, said.error().what);
  const auto version = parse_qemu_version(*said);
  if (version.empty())
    return driver::make_fingerprint(false, false,
                                    "Failed to parse qemu version from " + said->substr(0, 200));
  return driver::make_fingerprint(true, true, "Healthy",
                                  {{"driver.qemu", "true"}, {"driver.qemu.version", version}});
}

/// What is mapped is told only where it is one port, which then is the task's.
workload::DriverNetwork network_of(TaskConfig::Reader config) {
  const auto reader = ConfigReader::parse(view(config.getConfig()));
  workload::DriverNetwork network;
  if (!reader) return network;
  const auto mapped = read_port_map(reader->map("port_map"));
  if (mapped && mapped->size() == 1)
    network.port_map.emplace(mapped->begin()->first, static_cast<int>(mapped->begin()->second));
  return network;
}

ExecutorTraits qemu_traits(const DriverOptions& options) {
  ExecutorTraits traits{
      .attribute = "driver.qemu",
      .state_dir = options.state_dir + "/executors.qemu",
      .handle_version = 1,
      .description = describe_qemu(),
      .make_command = [settings = read_qemu_settings(options.config)](TaskConfig::Reader config) {
        return make_command(config, settings);
      }};
  traits.detect = [cache_dir = options.cache_dir] { return look_for_qemu(cache_dir); };
  traits.network_of = network_of;
  traits.ask_to_end = [alloc_dir = options.alloc_dir](const driver::TaskId& id) {
    return power_down_machine(fmt::format("{}/{}/{}", alloc_dir, id.alloc_id, id.task));
  };
  if (const auto enabled = options.config.find("enabled");
      enabled != options.config.end() && enabled->second == "false") {
    traits.enabled = false;
    traits.problem = "disabled";
  }
  return traits;
}

ExecutorDriver::behavior_type qemu(ExecutorDriver::stateful_pointer<QemuState> self,
                                   const DriverOptions& options) {
  self->state.tasks.init(options, qemu_traits(options));
  return self->state.tasks.behavior();
}

}  // namespace

DriverEntry qemu_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, qemu, options);
  }};
}

}  // namespace nomad::client
