#include "runtime/scheduler/plan/network.hpp"

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler {
namespace {

constexpr std::string_view default_alias = "default";

Error invalid_port(std::int32_t value) {
  return {Errc::conflict, "invalid port " + std::to_string(value) + " (out of range)"};
}

/// While one that was evicted and its successor both hold the port, Nomad blames no one's label.
Error collision(schema::Port::Reader port, std::string_view ip, const state::NodeUsage& usage) {
  const auto* used = usage.ports(ip);
  if (used != nullptr && used->is_shared(static_cast<Port>(port.getValue())))
    return {Errc::conflict, "port collision"};
  return {Errc::conflict, "reserved port collision " + copy(port.getLabel()) + "="
                              + std::to_string(port.getValue())};
}

bool is_valid(std::int32_t value) {
  return value >= 0 && value <= 65'535;
}

Port dynamic_bound(std::int64_t configured, Port fallback) {
  return configured > 0 && configured <= 65'535 ? static_cast<Port>(configured) : fallback;
}

/// The alias that the port is to be on, by its name on this node.
std::string alias_of(schema::Port::Reader port, schema::Node::Reader node) {
  auto alias = interpolate(view(port.getHostNetwork()), node);
  return alias.empty() ? std::string{default_alias} : alias;
}

AssignedPort describe_static(schema::Port::Reader port, std::string_view ip) {
  return {view(port.getLabel()), view(port.getHostNetwork()), ip, port.getValue(),
          port.getTo(),          port.getIgnoreCollision()};
}

AssignedPort describe_dynamic(schema::Port::Reader port, std::string_view ip, Port value) {
  const std::int32_t to = port.getTo() == -1 ? value : port.getTo();
  return {view(port.getLabel()), view(port.getHostNetwork()), ip, value, to};
}

}  // namespace

Result<NodeNetwork> NodeNetwork::make(schema::Node::Reader node) {
  NodeNetwork index;
  const auto resources = node.getNodeResources();
  auto everywhere = NOMAD_TRY(
      parse_port_ranges(view(node.getReservedResources().getNetworks().getReservedHostPorts()))
          .within("error parsing reserved_ports"));
  for (const auto network : resources.getNetworks()) {
    if (network.getDevice().size() == 0) continue;
    index.task_networks_.push_back(
        {view(network.getIp()), view(network.getDevice()), network.getMBits()});
    index.reserve(view(network.getIp()), everywhere);
  }
  for (const auto network : resources.getNodeNetworks()) {
    for (const auto address : network.getAddresses()) {
      const auto ip = view(address.getAddress());
      const auto alias = view(address.getAlias());
      index.aliases_[alias.empty() ? default_alias : alias].push_back(ip);
      index.reserve(ip, everywhere);
      auto own = NOMAD_TRY(parse_port_ranges(view(address.getReservedPorts()))
                               .within("error parsing reserved_ports for network"));
      index.reserve(ip, own);
      if (index.host_ip_.empty() && view(network.getMode()) == "host") index.host_ip_ = ip;
    }
  }
  if (index.host_ip_.empty() && !index.task_networks_.empty())
    index.host_ip_ = index.task_networks_.front().ip;
  index.first_dynamic_ = dynamic_bound(resources.getMinDynamicPort(), index.first_dynamic_);
  index.last_dynamic_ = dynamic_bound(resources.getMaxDynamicPort(), index.last_dynamic_);
  return index;
}

void NodeNetwork::reserve(std::string_view ip, const std::vector<Port>& ports) {
  if (ports.empty()) return;
  auto& reserved = reserved_[ip];
  for (const auto port : ports)
    reserved.insert(port);
}

bool NodeNetwork::is_reserved(std::string_view ip, Port port) const {
  const auto reserved = reserved_.find(ip);
  return reserved != reserved_.end() && reserved->second.contains(port);
}

bool NodeNetwork::is_taken(std::string_view ip, Port port, const state::NodeUsage& usage) const {
  return is_reserved(ip, port) || usage.port_taken(ip, port);
}

std::optional<Port> NodeNetwork::pick(std::string_view ip,
                                      const state::NodeUsage& usage,
                                      const std::vector<Port>& offered,
                                      Random& random) const {
  const auto reserved = reserved_.find(ip);
  const auto* used = usage.ports(ip);
  const auto word = [&](unsigned index) {
    std::uint64_t bits = used != nullptr ? used->word(index) : 0;
    if (reserved != reserved_.end()) bits |= reserved->second.word(index);
    return bits;
  };
  return pick_free_port(word, first_dynamic_, last_dynamic_, offered, random);
}

Result<const NodeNetwork::Addresses*> NodeNetwork::addresses(std::string_view alias) const {
  const auto known = aliases_.find(alias);
  if (known == aliases_.end()) {
    return Error{Errc::not_found, "no addresses available for " + std::string{alias} + " network"};
  }
  return &known->second;
}

/// Only the alias's first address is looked at. Who ignores collisions gets a port that others
/// have, be it the node itself.
Result<AssignedPort> NodeNetwork::assign_static(schema::Port::Reader port,
                                                std::string_view alias,
                                                const state::NodeUsage& usage) const {
  const auto candidates = NOMAD_TRY(addresses(alias));
  if (!is_valid(port.getValue())) return invalid_port(port.getValue());
  const auto ip = candidates->front();
  const bool taken
      = !port.getIgnoreCollision() && is_taken(ip, static_cast<Port>(port.getValue()), usage);
  if (taken) return collision(port, ip, usage);
  return describe_static(port, ip);
}

/// The alias's addresses are tried in order.
Result<AssignedPort> NodeNetwork::assign_dynamic(schema::Port::Reader port,
                                                 std::string_view alias,
                                                 const state::NodeUsage& usage,
                                                 const std::vector<Port>& offered,
                                                 Random& random) const {
  const auto candidates = NOMAD_TRY(addresses(alias));
  for (const auto ip : *candidates) {
    if (const auto value = pick(ip, usage, offered, random))
      return describe_dynamic(port, ip, *value);
  }
  return Error{Errc::overloaded, "dynamic port selection failed"};
}

Result<AssignedNetwork> NodeNetwork::assign(schema::NetworkResource::Reader ask,
                                            schema::Node::Reader node,
                                            const state::NodeUsage& usage,
                                            Random& random) const {
  AssignedNetwork network{{}, host_ip_, {}, {}};
  std::vector<Port> offered;
  for (const auto port : ask.getReservedPorts()) {
    auto assigned = NOMAD_TRY(assign_static(port, alias_of(port, node), usage));
    offered.push_back(static_cast<Port>(assigned.value));
    network.static_ports.push_back(assigned);
  }
  for (const auto port : ask.getDynamicPorts()) {
    auto assigned = NOMAD_TRY(assign_dynamic(port, alias_of(port, node), usage, offered, random));
    offered.push_back(static_cast<Port>(assigned.value));
    network.dynamic_ports.push_back(assigned);
  }
  return network;
}

std::vector<HostPort> NodeNetwork::static_ports(schema::NetworkResource::Reader ask,
                                                schema::Node::Reader node) const {
  std::vector<HostPort> ports;
  for (const auto port : ask.getReservedPorts()) {
    if (port.getIgnoreCollision()) continue;
    const auto found = addresses(alias_of(port, node));
    if (found) ports.push_back({(*found)->front(), port.getValue(), view(port.getLabel())});
  }
  return ports;
}

void add_bandwidth(schema::AllocatedResources::Reader resources, Bandwidth& used) {
  for (const auto entry : resources.getTasks()) {
    for (const auto network : entry.getValue().getNetworks())
      if (network.getMBits() > 0) used[view(network.getDevice())] += network.getMBits();
  }
}

Result<AssignedNetwork> NodeNetwork::assign_task_on(const TaskNetwork& candidate,
                                                    schema::NetworkResource::Reader ask,
                                                    const state::NodeUsage& usage,
                                                    std::vector<Port> offered,
                                                    Random& random) const {
  AssignedNetwork network{candidate.device, candidate.ip, {}, {}};
  for (const auto port : ask.getReservedPorts()) {
    if (!is_valid(port.getValue())) return invalid_port(port.getValue());
    const auto value = static_cast<Port>(port.getValue());
    if (is_taken(candidate.ip, value, usage)) return collision(port, candidate.ip, usage);
    offered.push_back(value);
    network.static_ports.push_back(describe_static(port, candidate.ip));
  }
  for (const auto port : ask.getDynamicPorts()) {
    const auto value = pick(candidate.ip, usage, offered, random);
    if (!value) return Error{Errc::overloaded, "dynamic port selection failed"};
    offered.push_back(*value);
    network.dynamic_ports.push_back(describe_dynamic(port, candidate.ip, *value));
  }
  return network;
}

Result<AssignedNetwork> NodeNetwork::assign_task(schema::NetworkResource::Reader ask,
                                                 const state::NodeUsage& usage,
                                                 const Bandwidth& used,
                                                 std::vector<Port> offered,
                                                 Random& random) const {
  Error last{Errc::not_found, "no networks available"};
  for (const auto& candidate : task_networks_) {
    const auto taken = used.find(candidate.device);
    const auto mbits = ask.getMBits() + (taken == used.end() ? 0 : taken->second);
    if (ask.getMBits() > 0 && mbits > candidate.mbits) {
      last = Error{Errc::overloaded, "bandwidth exceeded"};
      continue;
    }
    auto network = assign_task_on(candidate, ask, usage, offered, random);
    if (network) return network;
    last = network.error();
  }
  return last;
}

}  // namespace nomad::scheduler
