#include "runtime/plugin/bridge/task_objects.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin::bridge {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;
constexpr unsigned most_processes = 1000;  ///< Of a task, whose usage is told by themselves.

void copy_texts(google::protobuf::RepeatedPtrField<std::string>* to,
                capnp::List<capnp::Text>::Reader from) {
  for (const auto each : from)
    to->Add(copy(each));
}

void copy_resources(drivers::Resources& to, schema::plugin::TaskConfig::Reader from) {
  const auto given = from.getResources();
  const auto limit = std::max(given.getMemoryBytes(), given.getMemoryMaxBytes());
  auto& allocated = *to.mutable_allocated_resources();
  allocated.mutable_cpu()->set_cpu_shares(static_cast<std::int64_t>(given.getCpuShares()));
  allocated.mutable_memory()->set_memory_mb(
      static_cast<std::int64_t>(given.getMemoryBytes() / mebibyte));
  allocated.mutable_memory()->set_memory_max_mb(
      static_cast<std::int64_t>(given.getMemoryMaxBytes() / mebibyte));
  auto& linux = *to.mutable_linux_resources();
  linux.set_memory_limit_bytes(static_cast<std::int64_t>(limit));
  linux.set_cpu_shares(static_cast<std::int64_t>(given.getCpuShares()));
  linux.set_cpuset_cpus(copy(given.getCpuset()));
  if (given.getNodeCpuShares() > 0)
    linux.set_percentticks(static_cast<double>(given.getCpuShares())
                           / static_cast<double>(given.getNodeCpuShares()));
  for (const auto port : from.getPorts()) {
    auto& made = *to.add_ports();
    made.set_label(copy(port.getLabel()));
    made.set_value(port.getValue());
    made.set_to(port.getTo());
    made.set_host_ip(copy(port.getHostIp()));
  }
}

void copy_location(drivers::TaskConfig& to, schema::plugin::TaskConfig::Reader from) {
  for (const auto mount : from.getMounts()) {
    auto& made = *to.add_mounts();
    made.set_task_path(copy(mount.getTaskPath()));
    made.set_host_path(copy(mount.getHostPath()));
    made.set_readonly(mount.getReadOnly());
    made.set_propagation_mode(copy(mount.getPropagation()));
  }
  for (const auto device : from.getDevices()) {
    auto& made = *to.add_devices();
    made.set_task_path(copy(device.getTaskPath()));
    made.set_host_path(copy(device.getHostPath()));
    made.set_cgroup_permissions(copy(device.getPermissions()));
  }
  if (from.getNetworkNamespace().size() > 0) {
    auto& network = *to.mutable_network_isolation_spec();
    network.set_mode(drivers::NetworkIsolationSpec::GROUP);
    network.set_path(copy(from.getNetworkNamespace()));
    if (from.getHostname().size() > 0)
      network.mutable_hostsconfig()->set_hostname(copy(from.getHostname()));
  }
  if (from.hasDns()) {
    const auto dns = from.getDns();
    copy_texts(to.mutable_dns()->mutable_servers(), dns.getServers());
    copy_texts(to.mutable_dns()->mutable_searches(), dns.getSearches());
    copy_texts(to.mutable_dns()->mutable_options(), dns.getOptions());
  }
}

void copy_origin(drivers::TaskConfig& to, schema::plugin::TaskOrigin::Reader from) {
  to.set_task_group_name(copy(from.getGroup()));
  to.set_job_name(copy(from.getJobName()));
  to.set_job_id(copy(from.getJobId()));
  to.set_namespace_(copy(from.getNamespace()));
  to.set_node_name(copy(from.getNodeName()));
  to.set_node_id(copy(from.getNodeId()));
  to.set_parent_job_id(copy(from.getParentJobId()));
}

std::int64_t unix_time(const google::protobuf::Timestamp& from) {
  return from.seconds() * 1'000'000'000 + from.nanos();
}

template <class Fields, class Name>
void fill_measured(capnp::List<capnp::Text>::Builder to, const Fields& from, const Name& name) {
  for (unsigned i = 0; i < to.size(); ++i)
    to.set(i, name(from.Get(static_cast<int>(i))));
}

const char* memory_name(int field) {
  switch (field) {
    case drivers::MemoryUsage::RSS:
      return "RSS";
    case drivers::MemoryUsage::CACHE:
      return "Cache";
    case drivers::MemoryUsage::MAX_USAGE:
      return "Max Usage";
    case drivers::MemoryUsage::KERNEL_USAGE:
      return "Kernel Usage";
    case drivers::MemoryUsage::KERNEL_MAX_USAGE:
      return "Kernel Max Usage";
    case drivers::MemoryUsage::USAGE:
      return "Usage";
    case drivers::MemoryUsage::SWAP:
      return "Swap";
    default:
      return "";
  }
}

const char* cpu_name(int field) {
  switch (field) {
    case drivers::CPUUsage::SYSTEM_MODE:
      return "System Mode";
    case drivers::CPUUsage::USER_MODE:
      return "User Mode";
    case drivers::CPUUsage::TOTAL_TICKS:
      return "Total Ticks";
    case drivers::CPUUsage::THROTTLED_PERIODS:
      return "Throttled Periods";
    case drivers::CPUUsage::THROTTLED_TIME:
      return "Throttled Time";
    case drivers::CPUUsage::PERCENT:
      return "Percent";
    default:
      return "";
  }
}

void fill_memory(schema::plugin::MemoryUsage::Builder to, const drivers::MemoryUsage& from) {
  to.setRss(from.rss());
  to.setCache(from.cache());
  to.setSwap(from.swap());
  to.setUsage(from.usage());
  to.setMaxUsage(from.max_usage());
  to.setKernelUsage(from.kernel_usage());
  to.setKernelMaxUsage(from.kernel_max_usage());
  fill_measured(to.initMeasured(static_cast<unsigned>(from.measured_fields_size())),
                from.measured_fields(), memory_name);
}

void fill_cpu(schema::plugin::CpuUsage::Builder to, const drivers::CPUUsage& from) {
  to.setSystemMode(from.system_mode());
  to.setUserMode(from.user_mode());
  to.setTotalTicks(from.total_ticks());
  to.setPercent(from.percent());
  to.setThrottledPeriods(from.throttled_periods());
  to.setThrottledTime(from.throttled_time());
  fill_measured(to.initMeasured(static_cast<unsigned>(from.measured_fields_size())),
                from.measured_fields(), cpu_name);
}

std::string attribute_text(const drivers::Attribute& from) {
  switch (from.value_case()) {
    case drivers::Attribute::kFloatVal:
      return fmt::format("{}{}", from.float_val(), from.unit());
    case drivers::Attribute::kIntVal:
      return fmt::format("{}{}", from.int_val(), from.unit());
    case drivers::Attribute::kStringVal:
      return from.string_val() + from.unit();
    case drivers::Attribute::kBoolVal:
      return from.bool_val() ? "true" : "false";
    case drivers::Attribute::VALUE_NOT_SET:
      break;
  }
  return {};
}

/// In the order of their keys, so that what says the same is the same.
template <class Map>
std::map<std::string, std::string> ordered(const Map& from) {
  return {from.begin(), from.end()};
}

}  // namespace

std::string remote_id(const TaskId& id, std::string_view run_id) {
  std::string signs;
  for (const char sign : run_id)
    if (sign != '-' && signs.size() < 8) signs += sign;
  return fmt::format("{}/{}/{}", id.alloc_id, id.task, signs);
}

drivers::TaskConfig task_config(schema::plugin::TaskConfig::Reader from,
                                std::string driver_config,
                                const LogPaths& logs) {
  drivers::TaskConfig to;
  const auto id = task_id(from.getId());
  to.set_id(remote_id(id, view(from.getRunId())));
  to.set_name(id.task);
  to.set_alloc_id(id.alloc_id);
  to.set_msgpack_driver_config(std::move(driver_config));
  for (const auto variable : from.getEnvironment()) {
    const auto text = view(variable);
    const auto end = text.find('=');
    if (end != std::string_view::npos)
      (*to.mutable_env())[std::string{text.substr(0, end)}] = std::string{text.substr(end + 1)};
  }
  copy_resources(*to.mutable_resources(), from);
  to.set_user(copy(from.getUser()));
  to.set_alloc_dir(copy(from.getAllocRoot()));
  to.set_stdout_path(logs.out);
  to.set_stderr_path(logs.errors);
  copy_location(to, from);
  copy_origin(to, from.getOrigin());
  return to;
}

workload::ExitResult run_end(const drivers::WaitTaskResponse& from) {
  return {.code = from.result().exit_code(),
          .signal = from.result().signal(),
          .oom_killed = from.result().oom_killed(),
          .error = from.err()};
}

void fill_network(schema::plugin::DriverNetwork::Builder to, const drivers::NetworkOverride& from) {
  auto ports = to.initPorts(static_cast<unsigned>(from.port_map_size()));
  const std::map<std::string, int> ordered_ports{from.port_map().begin(), from.port_map().end()};
  unsigned i = 0;
  for (const auto& [label, port] : ordered_ports) {
    ports[i].setKey(text_of(label));
    ports[i++].setValue(port);
  }
  to.setIp(text_of(from.addr()));
  to.setAutoAdvertise(from.auto_advertise());
}

void fill_usage(schema::plugin::TaskUsage::Builder to, const drivers::TaskStats& from) {
  fill_memory(to.initMemory(), from.agg_resource_usage().memory());
  fill_cpu(to.initCpu(), from.agg_resource_usage().cpu());
  to.setTimestamp(unix_time(from.timestamp()));
  std::map<int, const drivers::TaskResourceUsage*> processes;
  for (const auto& [text, usage] : from.resource_usage_by_pid()) {
    int pid = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (read.ec == std::errc{} && processes.size() < most_processes) processes[pid] = &usage;
  }
  auto made = to.initProcesses(static_cast<unsigned>(processes.size()));
  unsigned i = 0;
  for (const auto& [pid, usage] : processes) {
    made[i].setPid(pid);
    fill_memory(made[i].initMemory(), usage->memory());
    fill_cpu(made[i++].initCpu(), usage->cpu());
  }
}

void fill_fingerprint(schema::plugin::Fingerprint::Builder to,
                      const drivers::FingerprintResponse& from) {
  to.setDetected(from.health() != drivers::FingerprintResponse::UNDETECTED);
  to.setHealthy(from.health() == drivers::FingerprintResponse::HEALTHY);
  to.setDescription(text_of(from.health_description()));
  std::map<std::string, std::string> attributes;
  for (const auto& [name, value] : from.attributes())
    attributes[name] = attribute_text(value);
  fill_entries(to.initAttributes(static_cast<unsigned>(attributes.size())), attributes);
}

void fill_event(schema::plugin::Event::Builder to, const drivers::DriverTaskEvent& from) {
  to.setType("Driver");
  to.setTime(unix_time(from.timestamp()));
  to.setMessage(text_of(from.message()));
  const auto details = ordered(from.annotations());
  fill_entries(to.initDetails(static_cast<unsigned>(details.size())), details);
}

}  // namespace nomad::plugin::bridge
