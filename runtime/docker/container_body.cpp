#include "runtime/docker/container_body.hpp"

#include <algorithm>
#include <cctype>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fnmatch.h>

#include "runtime/base/ip_network.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::docker {
namespace {

using boost::json::array;
using boost::json::object;

Error forbidden(std::string what) {
  return {Errc::rejected, std::move(what)};
}

array texts(const std::vector<std::string>& from) {
  array to;
  for (const auto& each : from)
    to.emplace_back(each);
  return to;
}

void put(object& to, const char* name, const std::string& value) {
  if (!value.empty()) to[name] = value;
}

void put(object& to, const char* name, const std::vector<std::string>& values) {
  if (!values.empty()) to[name] = texts(values);
}

void put(object& to, const char* name, const Texts& values) {
  if (values.empty()) return;
  object all;
  for (const auto& [key, value] : values)
    all[key] = value;
  to[name] = std::move(all);
}

/// Nomad's glob: stars alone have a meaning.
bool matches(const std::string& pattern, const char* name) {
  return ::fnmatch(pattern.c_str(), name, FNM_NOESCAPE) == 0;
}

object make_labels(const ContainerSpec& spec, const AgentSettings& agent) {
  object to;
  for (const auto& [name, value] : spec.settings.labels)
    to[name] = value;
  to[label::alloc] = spec.alloc_id;
  to[label::task] = spec.task;
  to[label::run] = spec.run_id;
  to[label::agent] = spec.agent;
  const auto& origin = spec.origin;
  const std::pair<const char*, const std::string&> extra[]
      = {{"job_name", origin.job_name},
         {"job_id", origin.job_id},
         {"parent_job_id", origin.parent_job_id},
         {"task_group_name", origin.group},
         {"task_name", spec.task},
         {"namespace", origin.namespace_name},
         {"node_name", origin.node_name},
         {"node_id", origin.node_id}};
  for (const auto& [name, value] : extra)
    for (const auto& pattern : agent.extra_labels)
      if (matches(pattern, name) && (!value.empty() || std::string_view{name} != "parent_job_id"))
        to[fmt::format("com.hashicorp.nomad.{}", name)] = value;
  return to;
}

Result<> put_memory(const ContainerSpec& spec, object& host) {
  constexpr std::int64_t megabyte = 1024 * 1024;
  const auto& task = spec.settings;
  const auto asked = static_cast<std::int64_t>(spec.memory_bytes);
  const auto most
      = std::max(task.memory_hard_mb * megabyte, static_cast<std::int64_t>(spec.memory_max_bytes));
  const auto limit = most > 0 ? most : asked;
  host["Memory"] = limit;
  if (most > 0) host["MemoryReservation"] = asked;
  host["MemorySwap"] = limit;
  host["MemorySwappiness"] = 0;
  return {};
}

Result<> put_cpu(const ContainerSpec& spec, object& host) {
  const auto& task = spec.settings;
  host["CpuShares"] = static_cast<std::int64_t>(spec.cpu_shares);
  put(host, "CpusetCpus", task.cpuset.empty() ? spec.cpuset : task.cpuset);
  if (!task.cpu_hard_limit) return {};
  if (task.cpu_period < 0 || task.cpu_period > 1000000)
    return wrong_setting("invalid value for cpu_cfs_period");
  if (spec.node_cpu_shares == 0)
    return Error{Errc::unavailable,
                 "cpu_hard_limit: it is not known how many MHz the node has; say it in "
                 "client.cpu_total_compute"};
  const auto period = task.cpu_period == 0 ? 100000 : task.cpu_period;
  const auto part
      = static_cast<double>(spec.cpu_shares) / static_cast<double>(spec.node_cpu_shares);
  host["CpuPeriod"] = period;
  host["CpuQuota"] = static_cast<std::int64_t>(part * static_cast<double>(period))
                     * static_cast<std::int64_t>(spec.cores);
  return {};
}

Result<> put_pids(const TaskSettings& task, const AgentSettings& agent, object& host) {
  if (task.pids_limit > 0 && agent.pids_limit > 0 && task.pids_limit > agent.pids_limit)
    return forbidden(fmt::format(
        "pids_limit cannot be greater than nomad plugin config pids_limit: {}", agent.pids_limit));
  host["PidsLimit"] = task.pids_limit > 0 ? task.pids_limit : agent.pids_limit;
  return {};
}

/// As in Nomad a profile is any file of the host. What is no regular one is not opened, for a FIFO
/// would stop the reader, and a device may do whatever it does.
Result<std::string> read_profile(const std::string& path) {
  constexpr std::int64_t largest = 1024 * 1024;
  const auto wrong = [&path](std::string_view why) {
    return wrong_setting(fmt::format("opening seccomp profile ({}) failed: {}", path, why));
  };
  const host::UniqueFd found{::open(path.c_str(), O_PATH | O_CLOEXEC)};

  struct stat status {};

  if (!found || ::fstat(found.get(), &status) != 0) return wrong("no such file can be read");
  if (!S_ISREG(status.st_mode)) return wrong("it is no regular file");
  if (status.st_size > largest) return wrong(fmt::format("it has more than {} bytes", largest));
  // The very file that was looked at. Those of the kernel have no size, and may have no end.
  const auto same = fmt::format("/proc/self/fd/{}", found.get());
  const host::UniqueFd file{::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const auto got = file ? ::pread(file.get(), text.data(), text.size(), 0) : -1;
  if (got != status.st_size) return wrong("no such file can be read");
  return text;
}

Result<std::vector<std::string>> security_options(const std::vector<std::string>& given) {
  std::vector<std::string> options;
  for (const auto& option : given) {
    auto sign = option.find('=');
    if (sign == std::string::npos && option != "no-new-privileges") sign = option.find(':');
    if (sign == std::string::npos && option != "no-new-privileges")
      return wrong_setting(fmt::format("invalid security_opt: {}", quote(option)));
    const auto name = option.substr(0, sign);
    const auto value = sign == std::string::npos ? std::string{} : option.substr(sign + 1);
    if (name != "seccomp" || value == "unconfined") {
      options.push_back(option);
      continue;
    }
    const auto profile = parse_json(NOMAD_TRY(read_profile(value)));
    if (!profile)
      return wrong_setting(fmt::format("compacting json for seccomp profile ({}) failed: {}", value,
                                       profile.error().what));
    options.push_back("seccomp=" + boost::json::serialize(*profile));
  }
  return options;
}

Result<> put_rights(const ContainerSpec& spec, const AgentSettings& agent, object& host) {
  const auto& task = spec.settings;
  if (task.privileged && !agent.allows_privileged)
    return forbidden("Docker privileged mode is disabled on this Nomad agent");
  if (task.privileged) host["Privileged"] = true;
  if (!task.runtime.empty()
      && std::ranges::find(agent.runtimes, task.runtime) == agent.runtimes.end())
    return forbidden(fmt::format("requested runtime {} is not allowed", quote(task.runtime)));
  put(host, "Runtime", task.runtime);
  const auto delta = NOMAD_TRY(capability_delta(task, agent.allowed));
  put(host, "CapAdd", delta.add);
  put(host, "CapDrop", delta.drop);
  auto options = security_options(task.security_options);
  if (!options) return options.error().within("failed to parse security_opt configuration");
  put(host, "SecurityOpt", *options);
  put(host, "GroupAdd", task.groups);
  put(host, "UsernsMode", task.userns_mode);
  put(host, "IpcMode", task.ipc_mode);
  put(host, "PidMode", task.pid_mode);
  put(host, "UTSMode", task.uts_mode);
  put(host, "Sysctls", task.sysctls);
  if (task.readonly_rootfs) host["ReadonlyRootfs"] = true;
  array ulimits;
  for (const auto& limit : task.ulimits)
    ulimits.push_back(object{{"Name", limit.name}, {"Soft", limit.soft}, {"Hard", limit.hard}});
  if (!ulimits.empty()) host["Ulimits"] = std::move(ulimits);
  array devices;
  const auto add = [&devices](const auto& host_path, const auto& path, const auto& permissions) {
    devices.push_back(object{
        {"PathOnHost", host_path}, {"PathInContainer", path}, {"CgroupPermissions", permissions}});
  };
  for (const auto& device : task.devices)
    add(device.host_path, device.container_path, device.permissions);
  for (const auto& device : spec.devices)
    add(device.host_path, device.task_path, device.permissions);
  if (!devices.empty()) host["Devices"] = std::move(devices);
  return {};
}

void put_logging(const TaskSettings& task, const AgentSettings& agent, object& host) {
  const bool says_nothing = task.log_driver.empty() && !task.has_log_options;
  object config;
  config["Type"] = says_nothing ? agent.log_driver : task.log_driver;
  config["Config"] = object{};
  put(config, "Config", says_nothing ? agent.log_options : task.log_options);
  host["LogConfig"] = std::move(config);
}

/// A number of the container's and where it is reached on the host, for tcp and udp.
void publish(const PortBinding& port, std::int64_t to, object& exposed, object& bindings) {
  const object binding{{"HostIp", port.host_ip}, {"HostPort", std::to_string(port.value)}};
  for (const auto* const protocol : {"tcp", "udp"}) {
    const auto key = fmt::format("{}/{}", to, protocol);
    exposed[key] = object{};
    auto& all = bindings[key];
    if (!all.is_array()) all = array{};
    all.get_array().push_back(binding);
  }
}

/// Of a task's own network: `port_map` names the port in the container.
std::int64_t port_inside(const TaskSettings& task, const PortBinding& port) {
  const auto mapped = task.port_map.find(port.label);
  return mapped == task.port_map.end() ? port.value : mapped->second;
}

/// A task of the old kind finds the port in its container in NOMAD_PORT_<label>.
std::vector<std::string> environment_of(const ContainerSpec& spec) {
  auto variables = spec.environment;
  for (const auto& port : spec.task_ports) {
    if (!spec.settings.port_map.contains(port.label)) continue;
    auto name = "NOMAD_PORT_" + port.label + '=';
    std::ranges::replace_if(  // As names of variables are made of labels everywhere.
        name.begin(), name.end() - 1,
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.'; }, '_');
    for (auto& variable : variables)
      if (variable.starts_with(name))
        variable = name + std::to_string(port_inside(spec.settings, port));
  }
  return variables;
}

Result<> put_ports(const ContainerSpec& spec, bool shares_network, object& body, object& host) {
  const auto& task = spec.settings;
  const bool has_own = !spec.task_ports.empty() && (task.ports.empty() || spec.ports.empty());
  if (!task.port_map.empty() && !has_own)
    return wrong_setting(spec.ports.empty()
                             ? "Trying to map ports but no network interface is available"
                             : "'port_map' cannot map group network ports, use 'ports' instead");
  if (shares_network) return {};
  object exposed;
  object bindings;
  if (has_own)
    for (const auto& port : spec.task_ports)
      publish(port, port_inside(task, port), exposed, bindings);
  for (const auto& name : has_own ? std::vector<std::string>{} : task.ports) {
    const auto port = std::ranges::find(spec.ports, name, &PortBinding::label);
    if (port == spec.ports.end())
      return wrong_setting(fmt::format("Port {} not found, check network block", quote(name)));
    publish(*port, port->to > 0 ? port->to : port->value, exposed, bindings);
  }
  if (exposed.empty()) return {};
  body["ExposedPorts"] = std::move(exposed);
  host["PortBindings"] = std::move(bindings);
  return {};
}

Result<> put_network(const ContainerSpec& spec, object& body, object& host) {
  const auto& task = spec.settings;
  std::string mode = task.network_mode;
  if (mode.empty())
    mode = spec.network_container.empty() ? "default" : "container:" + spec.network_container;
  host["NetworkMode"] = mode;
  const bool shares = mode.starts_with("container:");
  NOMAD_TRY(put_ports(spec, shares, body, host));
  put(body, "Hostname", task.hostname);
  put(body, "MacAddress", task.mac_address);
  for (const auto& server : task.dns_servers)
    if (server.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos)
      return wrong_setting(fmt::format("dns_servers: invalid ip address {}", quote(server)));
  put(host, "Dns", task.dns_servers);
  put(host, "DnsSearch", task.dns_searches);
  put(host, "DnsOptions", task.dns_options);
  // In the network of a group the names are in the file that is shown at /etc/hosts.
  if (!shares || !task.network_mode.empty()) put(host, "ExtraHosts", task.extra_hosts);
  if (task.network_aliases.empty() && task.ipv4_address.empty() && task.ipv6_address.empty())
    return {};
  object endpoint;
  put(endpoint, "Aliases", task.network_aliases);
  object ipam;
  put(ipam, "IPv4Address", task.ipv4_address);
  put(ipam, "IPv6Address", task.ipv6_address);
  if (!ipam.empty()) endpoint["IPAMConfig"] = std::move(ipam);
  object endpoints;
  endpoints[mode] = std::move(endpoint);
  body["NetworkingConfig"] = object{{"EndpointsConfig", std::move(endpoints)}};
  return {};
}

void put_process(const ContainerSpec& spec, object& body, object& host) {
  const auto& task = spec.settings;
  body["Image"] = spec.image;
  put(body, "Entrypoint", task.entrypoint);
  auto command = task.args;
  if (!task.command.empty()) command.insert(command.begin(), task.command);
  put(body, "Cmd", command);
  put(body, "Env", environment_of(spec));
  put(body, "User", spec.user);
  put(body, "WorkingDir", task.work_dir);
  if (task.tty) body["Tty"] = true;
  if (task.interactive) body["OpenStdin"] = true;
  if (task.init) host["Init"] = true;
  if (task.no_healthcheck) body["Healthcheck"] = object{{"Test", array{"NONE"}}};
}

}  // namespace

std::string container_name(std::string_view task, std::string_view alloc_id) {
  std::string name{task};
  std::ranges::replace(name, '/', '_');
  return fmt::format("{}-{}", name, alloc_id);
}

std::string infra_name(std::string_view alloc_id) {
  return fmt::format("nomad_init_{}", alloc_id);
}

bool joins_group_network(const TaskSettings& settings) {
  return settings.network_mode.empty();
}

Result<CapabilityDelta> capability_delta(const TaskSettings& task, host::CapabilitySet allowed) {
  const auto add = NOMAD_TRY(host::parse_capabilities(task.cap_add));
  const auto drop = NOMAD_TRY(host::parse_capabilities(task.cap_drop));
  const auto missing = add.without(allowed);
  if (!missing.empty())
    return forbidden("driver does not allow the following capabilities: " + host::to_text(missing));
  const auto names = [](host::CapabilitySet set) {
    std::vector<std::string> list;
    const auto text = host::to_text(set);
    for (const auto name : split(text, ','))
      if (!trim(name).empty()) list.emplace_back(trim(name));
    return list;
  };
  // The engine's own defaults are ours and NET_RAW.
  const auto engine = host::default_capabilities()
                      | NOMAD_TRY(host::parse_capabilities(std::vector<std::string>{"net_raw"}));
  const auto is_all = [](const std::string& name) { return to_lower(name) == "all"; };
  CapabilityDelta delta;
  delta.add
      = std::ranges::any_of(task.cap_add, is_all) ? std::vector<std::string>{"all"} : names(add);
  if (std::ranges::any_of(task.cap_drop, is_all))
    delta.drop = {"all"};
  else
    delta.drop = names((drop | engine.without(allowed)).without(add));
  return delta;
}

Result<object> container_body(const ContainerSpec& spec, const AgentSettings& agent) {
  object body;
  object host;
  put_process(spec, body, host);
  body["Labels"] = make_labels(spec, agent);
  host["Binds"] = texts(NOMAD_TRY(container_binds(spec, agent)));
  auto mounts = NOMAD_TRY(container_mounts(spec, agent));
  if (!mounts.empty()) host["Mounts"] = std::move(mounts);
  put(host, "VolumeDriver", spec.settings.volume_driver);
  put(host, "StorageOpt", spec.settings.storage_options);
  NOMAD_TRY(put_memory(spec, host));
  NOMAD_TRY(put_cpu(spec, host));
  NOMAD_TRY(put_pids(spec.settings, agent, host));
  NOMAD_TRY(put_rights(spec, agent, host));
  put_logging(spec.settings, agent, host);
  if (spec.settings.shm_bytes > 0) host["ShmSize"] = spec.settings.shm_bytes;
  NOMAD_TRY(put_network(spec, body, host));
  body["HostConfig"] = std::move(host);
  return body;
}

Result<std::string> with_extra_hosts(std::string hosts, const std::vector<std::string>& entries) {
  for (const auto& entry : entries) {
    const auto colon = entry.find(':');
    if (colon == std::string::npos)
      return wrong_setting(
          fmt::format("invalid hosts entry {}; expected \"name:address\"", quote(entry)));
    const auto address = entry.substr(colon + 1);
    if (!is_ip_address(address))
      return wrong_setting(fmt::format(
          "invalid IP address {}; in the network of a group extra_hosts are names with addresses",
          quote(entry)));
    const auto line = fmt::format("{} {}\n", address, entry.substr(0, colon));
    if (hosts.find(line) == std::string::npos) hosts += line;
  }
  return hosts;
}

object infra_body(const InfraSpec& spec) {
  constexpr const char* program = "/.nomadctl-pause";
  constexpr const char* network = "/.nomadctl-network";
  const auto mount = [](const std::string& source, const char* target) {
    return object{{"Type", "bind"}, {"Source", source}, {"Target", target}, {"ReadOnly", true}};
  };
  object labels;
  labels[label::alloc] = spec.alloc_id;
  labels[label::agent] = spec.agent;
  object body{{"Image", spec.image},
              {"Entrypoint", array{program}},
              {"Cmd", array{"pause", network}},
              {"User", "0:0"},
              {"WorkingDir", "/"},
              {"Labels", std::move(labels)},
              {"Healthcheck", object{{"Test", array{"NONE"}}}}};
  put(body, "Hostname", spec.hostname);
  body["HostConfig"] = object{
      {"NetworkMode", "none"},
      {"ReadonlyRootfs", true},
      {"UsernsMode", "host"},
      {"CapDrop", array{"ALL"}},
      {"CapAdd", array{"SYS_ADMIN"}},
      {"RestartPolicy", object{{"Name", "unless-stopped"}}},
      {"LogConfig", object{{"Type", "json-file"}, {"Config", object{{"max-size", "100k"}}}}},
      {"Mounts", array{mount(spec.program, program), mount(spec.network_namespace, network)}}};
  return body;
}

}  // namespace nomad::docker
