#include "actors/client/fingerprint/node_builder.hpp"

#include <algorithm>

#include <unistd.h>

#include "actors/client/volumes/csi_objects.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::client {
namespace {

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

void write_networks(const host::NodeFacts& facts, schema::NodeResources::Builder to) {
  auto node_networks = to.initNodeNetworks(facts.node_networks.size());
  for (unsigned i = 0; i < node_networks.size(); ++i) {
    const auto& from = facts.node_networks[i];
    node_networks[i].setMode(text(from.mode));
    node_networks[i].setDevice(text(from.device));
    node_networks[i].setMacAddress(text(from.mac_address));
    node_networks[i].setSpeed(static_cast<std::int64_t>(from.speed));
    if (from.addresses.empty()) continue;
    auto addresses = node_networks[i].initAddresses(from.addresses.size());
    for (unsigned j = 0; j < addresses.size(); ++j) {
      addresses[j].setFamily(text(from.addresses[j].family));
      addresses[j].setAlias(text(from.addresses[j].alias));
      addresses[j].setAddress(text(from.addresses[j].address));
      addresses[j].setReservedPorts(text(from.addresses[j].reserved_ports));
    }
  }
  auto networks = to.initNetworks(facts.networks.size());
  for (unsigned i = 0; i < networks.size(); ++i) {
    networks[i].setMode(text(facts.networks[i].mode));
    networks[i].setDevice(text(facts.networks[i].device));
    networks[i].setCidr(text(facts.networks[i].cidr));
    networks[i].setIp(text(facts.networks[i].ip));
    networks[i].setMBits(static_cast<std::int64_t>(facts.networks[i].mbits));
  }
}

void write_devices(const host::NodeFacts& facts, schema::NodeResources::Builder to) {
  if (facts.devices.empty()) return;
  auto groups = to.initDevices(facts.devices.size());
  for (unsigned i = 0; i < groups.size(); ++i) {
    const auto& from = facts.devices[i];
    groups[i].setVendor(text(from.vendor));
    groups[i].setType(text(from.type));
    groups[i].setName(text(from.name));
    if (!from.attributes.empty()) groups[i].setAttributes(text(from.attributes));
    auto instances = groups[i].initInstances(from.instances.size());
    for (unsigned j = 0; j < instances.size(); ++j) {
      instances[j].setId(text(from.instances[j].id));
      instances[j].setHealthy(from.instances[j].healthy);
      instances[j].setHealthDescription(text(from.instances[j].health_description));
    }
  }
}

void write_resources(const ClientOptions& options,
                     const host::NodeFacts& facts,
                     schema::Node::Builder node) {
  auto resources = node.initNodeResources();
  auto cpu = resources.initCpu();
  cpu.setCpuShares(static_cast<std::int64_t>(facts.cpu_total_compute));
  cpu.setTotalCpuCores(facts.cpu_cores);
  auto cores = cpu.initReservableCpuCores(facts.reservable_cores.size());
  for (unsigned i = 0; i < cores.size(); ++i)
    cores.set(i, facts.reservable_cores[i]);
  resources.initMemory().setMemoryMb(static_cast<std::int64_t>(facts.memory_mb));
  resources.initDisk().setDiskMb(static_cast<std::int64_t>(facts.disk_mb));
  resources.setMinDynamicPort(options.min_dynamic_port);
  resources.setMaxDynamicPort(options.max_dynamic_port);
  write_networks(facts, resources);
  write_devices(facts, resources);

  const auto& reserved = options.reserved;
  auto kept = node.initReservedResources();
  auto kept_cpu = kept.initCpu();
  kept_cpu.setCpuShares(reserved.cpu_mhz);
  if (!reserved.cores.empty()) {
    auto kept_cores = kept_cpu.initReservedCpuCores(reserved.cores.size());
    for (unsigned i = 0; i < kept_cores.size(); ++i)
      kept_cores.set(i, reserved.cores[i]);
  }
  kept.initMemory().setMemoryMb(reserved.memory_mb);
  kept.initDisk().setDiskMb(reserved.disk_mb);
  kept.initNetworks().setReservedHostPorts(text(reserved.ports));
}

void write_drivers(const KnownDrivers& drivers, std::int64_t unix_now, schema::Node::Builder node) {
  const auto counts
      = std::ranges::count_if(drivers, [](const auto& entry) { return !entry.second.retired; });
  auto entries = node.initDrivers(static_cast<unsigned>(counts));
  unsigned at = 0;
  for (const auto& [name, driver] : drivers) {
    if (driver.retired) continue;
    const auto health = driver.feels();
    auto entry = entries[at++];
    entry.setKey(text(name));
    auto info = entry.initValue();
    info.setDetected(health.getDetected());
    info.setHealthy(health.getHealthy());
    info.setHealthDescription(health.getDescription());
    info.setUpdateTime(unix_now);
    std::map<std::string, std::string> attributes;
    read_entries(health.getAttributes(), attributes);
    fill_entries(info.initAttributes(static_cast<unsigned>(attributes.size())), attributes);
  }
}

void write_volumes(const ClientOptions& options, schema::Node::Builder node) {
  if (options.host_volumes.empty()) return;
  auto volumes = node.initHostVolumes(options.host_volumes.size());
  unsigned at = 0;
  for (const auto& [name, volume] : options.host_volumes) {
    auto entry = volumes[at++];
    entry.setKey(text(name));
    auto value = entry.initValue();
    value.setName(text(name));
    value.setPath(text(volume.path));
    value.setReadOnly(volume.read_only);
  }
}

void write_host_networks(const ClientOptions& options, schema::Node::Builder node) {
  if (options.fingerprint.host_networks.empty()) return;
  auto networks = node.initHostNetworks(options.fingerprint.host_networks.size());
  auto sorted = options.fingerprint.host_networks;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (unsigned i = 0; i < networks.size(); ++i) {
    networks[i].setKey(text(sorted[i].name));
    auto value = networks[i].initValue();
    value.setName(text(sorted[i].name));
    value.setCidr(text(sorted[i].cidr));
    value.setInterface(text(sorted[i].interface));
    value.setReservedPorts(text(sorted[i].reserved_ports));
  }
}

/// Where tasks' control groups are, as the node shows it.
std::string cgroup_parent(const ClientOptions& options, const host::NodeFacts& facts) {
  if (!options.cgroup_parent.empty()) return options.cgroup_parent;
  const auto version = facts.attributes.find("unique.cgroup.version");
  if (version == facts.attributes.end()) return {};
  return version->second == "v2" ? "nomad.slice" : "/nomad";
}

}  // namespace

workload::NodeMeta fixed_meta(const ClientOptions& options) {
  workload::NodeMeta meta{
      {"connect.sidecar_image", "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"},
      {"connect.gateway_image", "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"},
      {"connect.log_level", "info"},
      {"connect.proxy_concurrency", "1"}};
  for (const auto& [key, value] : options.meta)
    meta[key] = value;
  return meta;
}

Object<schema::Node> build_node(const ClientOptions& options,
                                const NodeIdentity& identity,
                                const host::NodeFacts& facts,
                                const KnownDrivers& drivers,
                                const workload::NodeMeta& meta,
                                const CsiStandings& csi,
                                std::int64_t unix_now) {
  Draft<schema::Node> draft;
  auto& node = *draft;
  node.setId(text(identity.id));
  node.setSecretId(text(identity.secret));
  node.setDatacenter(text(options.datacenter));
  auto name = options.node_name.empty() ? host_name() : options.node_name;
  node.setName(text(name.empty() ? identity.id : name));
  node.setNodeClass(text(options.node_class));
  node.setNodePool(text(options.node_pool));
  node.setHttpAddr(text(options.http_address));
  node.setTlsEnabled(options.tls);
  node.setCgroupParent(text(cgroup_parent(options, facts)));
  node.setStatus(schema::NodeStatus::INITIALIZING);

  auto attributes = facts.attributes;
  for (const auto& [name, driver] : drivers) {
    if (driver.retired || !driver.feels().getDetected()) continue;
    attributes["driver." + name] = "1";
    read_entries(driver.feels().getAttributes(), attributes);
  }
  fill_entries(node.initAttributes(attributes.size()), attributes);

  fill_entries(node.initMeta(meta.size()), meta);
  node.initLinks(0);

  write_resources(options, facts, node);
  write_drivers(drivers, unix_now, node);
  write_volumes(options, node);
  write_host_networks(options, node);
  write_standings(csi, node);
  return draft.freeze();
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    auto part = text.substr(0, comma);
    text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
    while (part.starts_with(' '))
      part.remove_prefix(1);
    while (part.ends_with(' '))
      part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

bool is_allowed(const ClientOptions& options, const std::string& kind, const std::string& name) {
  const auto list_of = [&options, &kind](const char* which) {
    const auto found = options.options.find(kind + which);
    return found == options.options.end() ? std::vector<std::string>{} : split_list(found->second);
  };
  const auto allowed = list_of(".allowlist");
  const auto denied = list_of(".denylist");
  const auto is_in = [&name](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return (allowed.empty() || is_in(allowed)) && !is_in(denied);
}

}  // namespace nomad::client
