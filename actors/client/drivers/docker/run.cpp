// What docker's runs are made of: the spec of a container from a task, its body, and usage.
#include "actors/client/drivers/docker/run.hpp"

#include <algorithm>
#include <thread>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/host/beneath.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::client {
namespace {

docker::Origin docker_origin(schema::plugin::TaskOrigin::Reader from) {
  return {.namespace_name = copy(from.getNamespace()),
          .job_id = copy(from.getJobId()),
          .job_name = copy(from.getJobName()),
          .parent_job_id = copy(from.getParentJobId()),
          .group = copy(from.getGroup()),
          .node_id = copy(from.getNodeId()),
          .node_name = copy(from.getNodeName())};
}

/// What hooks show to the task. With a network of its own it has that network's names.
void docker_mounts(schema::plugin::TaskConfig::Reader config, docker::ContainerSpec& spec) {
  const bool joins = docker::joins_group_network(spec.settings);
  for (const auto mount : config.getMounts()) {
    const auto path = view(mount.getTaskPath());
    if (!joins && (path == "/etc/hosts" || (path == "/etc/resolv.conf" && !config.hasDns())))
      continue;
    spec.mounts.push_back({.task_path = copy(mount.getTaskPath()),
                           .host_path = copy(mount.getHostPath()),
                           .read_only = mount.getReadOnly(),
                           .propagation = copy(mount.getPropagation())});
  }
  for (const auto device : config.getDevices())
    spec.devices.push_back({.task_path = copy(device.getTaskPath()),
                            .host_path = copy(device.getHostPath()),
                            .permissions = copy(device.getPermissions())});
}

/// In the network of a group the engine writes no hosts; what the task adds goes to the file that
/// it is shown.
Result<> add_extra_hosts(const docker::ContainerSpec& spec) {
  if (spec.settings.extra_hosts.empty()) return {};
  const auto root = NOMAD_TRY(host::Beneath::open(spec.task_directory, false));
  const auto text = NOMAD_TRY(docker::with_extra_hosts(
      NOMAD_TRY(root.read_at("hosts", 0, 1024 * 1024)), spec.settings.extra_hosts));
  return root.write_file("hosts", text, 0644);
}

}  // namespace

Result<docker::ContainerSpec> container_spec(schema::plugin::TaskConfig::Reader config,
                                             const docker::AgentSettings& agent,
                                             const std::string& label) {
  const auto parsed = parse_json(view(config.getConfig()));
  if (!parsed || !parsed->is_object())
    return Error{Errc::invalid_argument, "failed to parse config: no object"};
  const auto resources = config.getResources();
  const auto logs = config.getLogs();
  docker::ContainerSpec spec{
      .alloc_id = copy(config.getId().getAllocId()),
      .task = copy(config.getId().getTask()),
      .run_id = copy(config.getRunId()),
      .agent = label,
      .image = {},
      .settings = NOMAD_TRY(docker::read_task_settings(parsed->get_object())),
      .environment = {},
      .user = copy(config.getUser()),
      .alloc_root = copy(config.getAllocRoot()),
      .task_directory = copy(config.getTaskDirectory()),
      .keeps_logs = agent.collects_logs && !logs.getDisabled(),
      .log_files = logs.getMaxFiles(),
      .log_bytes = logs.getMaxFileBytes(),
      .memory_bytes = resources.getMemoryBytes(),
      .memory_max_bytes = resources.getMemoryMaxBytes(),
      .cpu_shares = resources.getCpuShares(),
      .node_cpu_shares = resources.getNodeCpuShares(),
      .cpuset = copy(resources.getCpuset()),
      .cores = std::max(std::thread::hardware_concurrency(), 1U),
      .ports = {},
      .task_ports = {},
      .mounts = {},
      .devices = {},
      .network_container = {},
      .origin = docker_origin(config.getOrigin())};
  for (const auto variable : config.getEnvironment())
    spec.environment.push_back(copy(variable));
  for (const auto port : config.getPorts())
    spec.ports.push_back({.label = copy(port.getLabel()),
                          .value = port.getValue(),
                          .to = port.getTo(),
                          .host_ip = copy(port.getHostIp())});
  for (const auto port : config.getTaskPorts())
    spec.task_ports.push_back({.label = copy(port.getLabel()),
                               .value = port.getValue(),
                               .to = 0,
                               .host_ip = copy(port.getHostIp())});
  docker_mounts(config, spec);
  return spec;
}

Result<std::string> prepare_container(const docker::ContainerSpec& spec,
                                      const docker::AgentSettings& agent) {
  if (!spec.network_container.empty())
    if (const auto added = add_extra_hosts(spec); !added)
      return added.error().within("failed to build mount for /etc/hosts");
  const auto body = docker::container_body(spec, agent);
  if (!body)
    return body.error().within(fmt::format(
        "Failed to create container configuration for image \"{}\"", spec.settings.image));
  return boost::json::serialize(*body);
}

/// Nomad's words for what the engine measures.
client_api::TaskUsage docker_usage(const docker::Usage& from,
                                   const docker::CpuCounters& before,
                                   std::uint64_t total_mhz,
                                   std::int64_t unix_now) {
  const auto cores = std::max(std::thread::hardware_concurrency(), 1U);
  client_api::TaskUsage usage;
  usage.timestamp = from.timestamp > 0 ? from.timestamp : unix_now;
  usage.memory = {.rss = from.rss,
                  .cache = from.cache,
                  .swap = from.swap,
                  .mapped_file = from.mapped_file,
                  .usage = from.usage,
                  .max_usage = from.max_usage,
                  .measured = {"RSS", "Cache", "Swap", "Usage", "Max Usage"}};
  if (from.is_cgroup2) usage.memory.measured = {"Cache", "Swap", "Usage"};
  auto& cpu = usage.cpu;
  cpu.throttled_periods = from.throttled_periods;
  cpu.throttled_time = from.throttled_time;
  cpu.measured = {"Throttled Periods", "Throttled Time", "Percent"};
  const auto& now = from.cpu;
  cpu.percent = docker::cpu_percent(now.total, before.total, now.system, before.system, cores);
  cpu.system_mode = docker::cpu_percent(now.kernel, before.kernel, now.total, before.total, cores);
  cpu.user_mode = docker::cpu_percent(now.user, before.user, now.total, before.total, cores);
  cpu.total_ticks = cpu.percent / 100 * static_cast<double>(total_mhz) / cores;
  return usage;
}

}  // namespace nomad::client
