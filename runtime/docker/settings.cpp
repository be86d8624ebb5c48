#include "runtime/docker/settings.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::docker {

Error wrong_setting(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

namespace {

const boost::json::object no_members;

bool to_whole(std::string_view text, std::int64_t& to) {
  const auto* const end = text.data() + text.size();
  const auto outcome = std::from_chars(text.data(), end, to);
  return outcome.ec == std::errc{} && outcome.ptr == end;
}

Result<MountSetting> read_mount(const Members& from) {
  const auto volume = from.object("volume_options");
  const auto driver = volume.object("driver_config");
  MountSetting mount{.type = from.text("type", "volume"),
                     .source = from.text("source"),
                     .target = from.text("target"),
                     .read_only = from.flag("readonly"),
                     .propagation = from.object("bind_options").text("propagation"),
                     .tmpfs_bytes = from.object("tmpfs_options").number("size"),
                     .tmpfs_mode = from.object("tmpfs_options").number("mode"),
                     .no_copy = volume.flag("no_copy"),
                     .volume_labels = volume.map("labels"),
                     .volume_driver = driver.text("name"),
                     .volume_options = driver.map("options")};
  if (mount.type.empty()) mount.type = "volume";
  if (mount.type != "volume" && mount.type != "bind" && mount.type != "tmpfs")
    return wrong_setting(fmt::format(
        "invalid mount type, must be \"bind\", \"volume\", \"tmpfs\": \"{}\"", mount.type));
  if (mount.type == "tmpfs" && !mount.source.empty())
    return wrong_setting("invalid source, must be \"\" for tmpfs");
  return mount;
}

Result<DeviceSetting> read_device(const Members& from) {
  DeviceSetting device{.host_path = from.text("host_path"),
                       .container_path = from.text("container_path"),
                       .permissions = from.text("cgroup_permissions")};
  if (device.host_path.empty())
    return wrong_setting("host path must be set in configuration for devices");
  if (device.container_path.empty()) device.container_path = device.host_path;
  if (device.permissions.empty()) device.permissions = "rwm";
  if (device.permissions.find_first_not_of("rwm") != std::string::npos)
    return wrong_setting(
        fmt::format("invalid cgroup permission string: \"{}\"", device.permissions));
  return device;
}

Result<UlimitSetting> read_ulimit(const std::string& name, std::string_view given) {
  if (given.empty())
    return wrong_setting(
        fmt::format("Malformed ulimit specification {}: \"\", cannot be empty", name));
  const auto colon = given.find(':');
  const auto soft = given.substr(0, colon);
  const auto hard = colon == given.npos ? soft : given.substr(colon + 1);
  UlimitSetting limit{.name = name};
  if (!to_whole(soft, limit.soft))
    return wrong_setting(fmt::format("Malformed soft ulimit {}: {}:{}", name, soft, hard));
  if (!to_whole(hard, limit.hard))
    return wrong_setting(fmt::format("Malformed hard ulimit {}: {}:{}", name, soft, hard));
  return limit;
}

/// Nomad's rule: one word without space around it.
Result<> check_command(const std::string& command) {
  const auto trimmed = trim(command, ascii_space);
  if (trimmed.empty()) return wrong_setting(fmt::format("command empty: \"{}\"", command));
  if (trimmed.size() != command.size())
    return wrong_setting(fmt::format("command contains extra white space: \"{}\"", command));
  return {};
}

/// The objects of a list.
std::vector<Members> blocks(const Members& of, std::string_view name) {
  std::vector<Members> found;
  const auto* const value = of.find(name);
  if (value == nullptr || !value->is_array()) return found;
  for (const auto& each : value->get_array())
    if (each.is_object()) found.emplace_back(each.get_object());
  return found;
}

Result<> read_lists(const Members& from, TaskSettings& to) {
  for (const auto* const name : {"mount", "mounts"})
    for (const auto& each : blocks(from, name))
      to.mounts.push_back(NOMAD_TRY(read_mount(each)));
  for (const auto& each : blocks(from, "devices"))
    to.devices.push_back(NOMAD_TRY(read_device(each)));
  for (const auto& [name, limit] : from.map("ulimit")) {
    auto read = read_ulimit(name, limit);
    if (!read) return read.error().within("failed to parse ulimit configuration");
    to.ulimits.push_back(std::move(*read));
  }
  for (const auto& [label, text] : from.map("port_map"))
    if (!to_whole(text, to.port_map[label]))
      return wrong_setting(fmt::format("port_map.{}: expected a port, got \"{}\"", label, text));
  return {};
}

void read_network(const Members& from, TaskSettings& to) {
  to.ports = from.texts("ports");
  to.network_mode = from.text("network_mode");
  to.network_aliases = from.texts("network_aliases");
  to.hostname = from.text("hostname");
  to.ipv4_address = from.text("ipv4_address");
  to.ipv6_address = from.text("ipv6_address");
  to.advertises_ipv6 = from.flag("advertise_ipv6_address");
  to.mac_address = from.text("mac_address");
  to.dns_servers = from.texts("dns_servers");
  to.dns_searches = from.texts("dns_search_domains");
  to.dns_options = from.texts("dns_options");
  to.extra_hosts = from.texts("extra_hosts");
}

void read_limits(const Members& from, TaskSettings& to) {
  to.shm_bytes = from.number("shm_size");
  to.cpu_hard_limit = from.flag("cpu_hard_limit");
  to.cpu_period = from.number("cpu_cfs_period", to.cpu_period);
  to.cpuset = from.text("cpuset_cpus");
  to.memory_hard_mb = from.number("memory_hard_limit");
  to.pids_limit = from.number("pids_limit");
}

void read_rights(const Members& from, TaskSettings& to) {
  to.cap_add = from.texts("cap_add");
  to.cap_drop = from.texts("cap_drop");
  to.privileged = from.flag("privileged");
  to.security_options = from.texts("security_opt");
  to.sysctls = from.map("sysctl");
  to.userns_mode = from.text("userns_mode");
  to.groups = from.texts("group_add");
  to.runtime = from.text("runtime");
  to.ipc_mode = from.text("ipc_mode");
  to.pid_mode = from.text("pid_mode");
  to.uts_mode = from.text("uts_mode");
}

void read_logging(const Members& from, TaskSettings& to) {
  const auto logging = from.object("logging");
  to.log_driver = logging.text("type");
  if (to.log_driver.empty()) to.log_driver = logging.text("driver");
  to.has_log_options = logging.has("config");
  to.log_options = logging.map("config");
}

}  // namespace

// -- Members --------------------------------------------------------------------------------------

const boost::json::value* Members::find(std::string_view name) const {
  const auto* const value = of_.if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Members::text(std::string_view name, std::string_view otherwise) const {
  const auto* const value = find(name);
  if (value == nullptr || !value->is_string()) return std::string{otherwise};
  return {value->get_string().data(), value->get_string().size()};
}

std::int64_t Members::number(std::string_view name, std::int64_t otherwise) const {
  const auto* const value = find(name);
  if (value == nullptr) return otherwise;
  if (const auto* const number = value->if_int64()) return *number;
  if (const auto* const number = value->if_uint64())
    return static_cast<std::int64_t>(std::min<std::uint64_t>(*number, INT64_MAX));
  return otherwise;
}

std::uint64_t Members::count(std::string_view name) const {
  const auto* const value = find(name);
  if (value == nullptr) return 0;
  if (const auto* const number = value->if_uint64()) return *number;
  if (const auto* const number = value->if_int64())
    return *number < 0 ? 0 : static_cast<std::uint64_t>(*number);
  return 0;
}

bool Members::flag(std::string_view name, bool otherwise) const {
  const auto* const value = find(name);
  return value == nullptr || !value->is_bool() ? otherwise : value->get_bool();
}

std::vector<std::string> Members::texts(std::string_view name) const {
  std::vector<std::string> found;
  const auto* const value = find(name);
  if (value == nullptr || !value->is_array()) return found;
  for (const auto& each : value->get_array())
    if (each.is_string()) found.emplace_back(each.get_string().data(), each.get_string().size());
  return found;
}

Texts Members::map(std::string_view name) const {
  Texts found;
  const auto* const value = find(name);
  if (value == nullptr || !value->is_object()) return found;
  for (const auto& [key, each] : value->get_object())
    if (each.is_string())
      found[std::string{key}] = {each.get_string().data(), each.get_string().size()};
  return found;
}

Members Members::object(std::string_view name) const {
  const auto* const value = find(name);
  return Members{value == nullptr || !value->is_object() ? no_members : value->get_object()};
}

// -- a task's -------------------------------------------------------------------------------------

Result<TaskSettings> read_task_settings(const boost::json::object& config) {
  const Members from{config};
  TaskSettings to;
  to.image = from.text("image");
  if (to.image.starts_with("https://")) to.image.erase(0, 8);
  if (to.image.empty()) return wrong_setting("image name required for docker driver");
  to.command = from.text("command");
  if (!to.command.empty()) NOMAD_TRY(check_command(to.command));
  to.args = from.texts("args");
  to.entrypoint = from.texts("entrypoint");
  const auto auth = from.object("auth");
  to.auth = {.username = auth.text("username"),
             .password = auth.text("password"),
             .email = auth.text("email"),
             .server = auth.text("server_address")};
  to.auth_soft_fail = from.flag("auth_soft_fail");
  to.force_pull = from.flag("force_pull");
  to.load = from.text("load");
  to.pull_timeout = Nanoseconds{from.number("image_pull_timeout", to.pull_timeout.count())};
  read_network(from, to);
  to.volumes = from.texts("volumes");
  to.volume_driver = from.text("volume_driver");
  to.storage_options = from.map("storage_opt");
  to.work_dir = from.text("work_dir");
  to.readonly_rootfs = from.flag("readonly_rootfs");
  read_limits(from, to);
  read_rights(from, to);
  to.labels = from.map("labels");
  read_logging(from, to);
  to.no_healthcheck = from.object("healthchecks").flag("disable");
  to.init = from.flag("init");
  to.interactive = from.flag("interactive");
  to.tty = from.flag("tty");
  if (const auto isolation = from.text("isolation"); !isolation.empty())
    return wrong_setting(
        fmt::format("Failed to create container configuration, cannot use isolation mode "
                    "\"{}\" on linux",
                    isolation));
  NOMAD_TRY(read_lists(from, to));
  return to;
}

}  // namespace nomad::docker
