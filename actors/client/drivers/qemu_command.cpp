#include "actors/client/drivers/qemu_command.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "actors/client/drivers/mapped_ports.hpp"
#include "runtime/base/text.hpp"

namespace nomad::client {
namespace {

constexpr std::array<std::string_view, 8> drive_interfaces{"ide",    "scsi",   "sd",     "mtd",
                                                           "floppy", "pflash", "virtio", "none"};
constexpr std::uint64_t least_memory_mib = 128;
constexpr std::uint64_t most_memory_mib = 4'000'000;

/// As the value of one of the emulator's options, which are separated by commas.
std::string option_value(std::string_view value) {
  std::string text;
  for (const char c : value) {
    text += c;
    if (c == ',') text += c;
  }
  return text;
}

Result<> check_arguments(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& allowed) {
  if (allowed.empty()) return {};
  for (const auto& argument : arguments)
    if (trim(argument).starts_with('-') && std::ranges::find(allowed, argument) == allowed.end())
      return Error{Errc::invalid_argument,
                   fmt::format("\"{}\" is not in args_allowlist", argument)};
  return {};
}

/// The network card of the machine; nothing when its `config` asks for none.
Result<std::string> network_device(const ConfigReader& config, const QemuMachine& machine) {
  std::string device;
  if (!machine.name_servers.empty()) device += ",dns=" + option_value(machine.name_servers.front());
  for (const auto& domain : machine.search_domains)
    device += ",dnssearch=" + option_value(domain);
  for (const auto& [label, inside] : NOMAD_TRY(read_port_map(config.map("port_map")))) {
    const auto port = machine.ports.find(label);
    if (port == machine.ports.end())
      return Error{Errc::invalid_argument, fmt::format("Unknown port label \"{}\"", label)};
    for (const char* protocol : {"udp", "tcp"})
      device += fmt::format(",hostfwd={}::{}-:{}", protocol, port->second, inside);
  }
  return device.empty() ? device : "user,id=user.0" + device;
}

}  // namespace

QemuSettings read_qemu_settings(const std::map<std::string, std::string>& config) {
  const auto list = [&config](const char* key) {
    std::vector<std::string> items;
    const auto found = config.find(key);
    if (found != config.end() && !found->second.empty())
      for (const auto item : split(found->second, ','))
        items.emplace_back(item);
    return items;
  };
  return {.image_paths = list("image_paths"), .args_allowlist = list("args_allowlist")};
}

Result<std::vector<std::string>> qemu_arguments(const ConfigReader& config,
                                                const QemuSettings& settings,
                                                const QemuMachine& machine) {
  const auto own = config.texts("args");
  NOMAD_TRY(check_arguments(own, settings.args_allowlist));
  if (machine.memory_mib < least_memory_mib || machine.memory_mib > most_memory_mib)
    return Error{Errc::invalid_argument, "QEMU memory assignment out of bounds"};
  const auto drive = config.text("drive_interface", "ide");
  if (std::ranges::find(drive_interfaces, drive) == drive_interfaces.end())
    return Error{Errc::invalid_argument, "Unsupported drive_interface"};
  const auto accelerator = config.text("accelerator", "tcg");
  const auto name = machine.image.substr(machine.image.rfind('/') + 1);
  std::vector<std::string> arguments{
      "-machine",  "type=pc,accel=" + option_value(accelerator),
      "-name",     option_value(name),
      "-m",        fmt::format("{}M", machine.memory_mib),
      "-drive",    fmt::format("file={},if={}", option_value(machine.image), drive),
      "-nographic"};
  const auto add = [&arguments](std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more);
  };
  if (config.boolean("graceful_shutdown"))
    add({"-monitor", fmt::format("unix:{},server,nowait", qemu_monitor_socket)});
  if (config.boolean("guest_agent"))
    add({"-chardev", fmt::format("socket,path={},server,nowait,id=qga0", qemu_guest_agent_socket),
         "-device", "virtio-serial", "-device",
         "virtserialport,chardev=qga0,name=org.qemu.guest_agent.0"});
  arguments.insert(arguments.end(), own.begin(), own.end());
  if (const auto device = NOMAD_TRY(network_device(config, machine)); !device.empty())
    add({"-netdev", device, "-device", "virtio-net,netdev=user.0"});
  if (accelerator == "kvm") {
    add({"-enable-kvm", "-cpu", "host"});
    if (machine.cores > 0) add({"-smp", std::to_string(machine.cores)});
  }
  return arguments;
}

bool is_image_allowed(std::string_view image, const std::vector<std::string>& directories) {
  return std::ranges::any_of(directories, [image](std::string_view directory) {
    while (directory.ends_with('/'))
      directory.remove_suffix(1);
    return image.starts_with(directory) && image.size() > directory.size()
           && image[directory.size()] == '/';
  });
}

std::string parse_qemu_version(std::string_view output) {
  constexpr std::string_view word = "version ";
  const auto at = output.find(word);
  if (at == output.npos) return {};
  const auto rest = output.substr(at + word.size());
  const auto end = rest.find_first_not_of("0123456789.");
  return std::string{rest.substr(0, end)};
}

}  // namespace nomad::client
