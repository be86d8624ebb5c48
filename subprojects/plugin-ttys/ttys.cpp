// Devices: the serial ports of a node, each for one task at a time:
//
//     device "port/serial" { count = 1 }
//
// The task finds its ports by SERIAL_PORTS. The driver must be one that can show devices, as `exec`
// and `docker`.
#include <filesystem>

#include <sys/stat.h>

#include <glob.h>
#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;

namespace {

std::string pattern;

std::string directory() {
  return std::filesystem::path{pattern}.parent_path().string();
}

/// All that are there now. One that was pulled out is gone from the node at the next look.
Result<std::vector<DeviceGroup>> find_ports(Agent&) {
  DeviceGroup ports{.name = "port", .attributes = {{"directory", directory()}}};
  glob_t found{};
  const int outcome = glob(pattern.c_str(), 0, nullptr, &found);
  for (std::size_t i = 0; outcome == 0 && i < found.gl_pathc; ++i) {
    struct stat status {};

    const bool is_port = stat(found.gl_pathv[i], &status) == 0 && S_ISCHR(status.st_mode);
    ports.instances.push_back({.id = std::filesystem::path{found.gl_pathv[i]}.filename().string(),
                               .healthy = is_port,
                               .health_description = is_port ? "" : "no character device"});
  }
  globfree(&found);
  if (outcome != 0 && outcome != GLOB_NOMATCH) return Error{Errc::io, "can't look for " + pattern};
  if (ports.instances.empty()) return std::vector<DeviceGroup>{};
  return std::vector<DeviceGroup>{ports};
}

Result<HookAnswer> reserve_ports(HookRunner&, const HookCall&, const ReservedDevices& got) {
  HookAnswer answer;
  auto& list = answer.environment["SERIAL_PORTS"];
  for (const auto& id : got.ids) {
    const auto path = directory() + '/' + id;
    answer.devices.push_back({.task_path = path, .host_path = path, .permissions = "rw"});
    list += (list.empty() ? "" : " ") + path;
  }
  return answer;
}

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("ttys", "1.0.0");
  plugin.config({{.name = "pattern"}});
  plugin.on_configure([](const Config& config) -> Result<> {
    pattern = config.text("pattern", "/dev/ttyUSB*");
    if (!pattern.starts_with("/dev/"))
      return Error{Errc::invalid_argument, "pattern: a path below /dev is expected"};
    return {};
  });
  plugin.devices("ttys", {.vendor = "port", .type = "serial", .interval = std::chrono::seconds{10}},
                 find_ports, reserve_ports);
}

NOMADCTL_PLUGIN(describe)
