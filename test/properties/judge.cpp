#include "test/properties/judge.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "runtime/object/draft.hpp"
#include "test/properties/rules.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::ClientStatus;
using Node = schema::Node::Reader;

struct Amounts {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t disk = 0;

  void add(const Amounts& other) {
    cpu += other.cpu;
    memory += other.memory;
    disk += other.disk;
  }

  static Amounts most(const Amounts& a, const Amounts& b) {
    return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory), std::max(a.disk, b.disk)};
  }
};

/// Tasks of a group run in three phases, and some beside all of them.
struct Phases {
  Amounts before, main, after, always;

  Amounts& of(schema::Lifecycle::Reader lifecycle, bool has_one) {
    const auto hook = has_one ? view(lifecycle.getHook()) : std::string_view{};
    if (hook == "prestart") return lifecycle.getSidecar() ? always : before;
    return hook == "poststop" ? after : main;
  }

  Amounts peak() const {
    auto peak = Amounts::most(Amounts::most(before, main), after);
    peak.add(always);
    return peak;
  }
};

Amounts taken_by(schema::AllocatedResources::Reader resources) {
  Phases phases;
  for (const auto task : resources.getTasks()) {
    schema::Lifecycle::Reader lifecycle;
    bool has_one = false;
    for (const auto entry : resources.getTaskLifecycles()) {
      if (view(entry.getKey()) != view(task.getKey())) continue;
      lifecycle = entry.getValue();
      has_one = entry.hasValue();
    }
    phases.of(lifecycle, has_one)
        .add({task.getValue().getCpu().getCpuShares(), task.getValue().getMemory().getMemoryMb(),
              0});
  }
  auto sum = phases.peak();
  sum.disk = resources.getShared().getDiskMb();
  return sum;
}

Amounts offered_by(Node node) {
  const auto all = node.getNodeResources();
  const auto kept = node.getReservedResources();
  return {all.getCpu().getCpuShares() - static_cast<std::int64_t>(kept.getCpu().getCpuShares()),
          all.getMemory().getMemoryMb() - static_cast<std::int64_t>(kept.getMemory().getMemoryMb()),
          all.getDisk().getDiskMb() - static_cast<std::int64_t>(kept.getDisk().getDiskMb())};
}

std::string exceeds(const Amounts& used, const Amounts& offered) {
  const auto more = [](const char* what, std::int64_t used_up, std::int64_t there) {
    return std::string{what} + ": " + std::to_string(used_up) + " of " + std::to_string(there);
  };
  if (used.cpu > offered.cpu) return more("cpu", used.cpu, offered.cpu);
  if (used.memory > offered.memory) return more("memory", used.memory, offered.memory);
  if (used.disk > offered.disk) return more("disk", used.disk, offered.disk);
  return {};
}

/// "22,8001-8002" as inventory.cpp writes it.
bool keeps_port(std::string_view ranges, std::int32_t port) {
  while (!ranges.empty()) {
    const auto comma = ranges.find(',');
    const std::string item{ranges.substr(0, comma)};
    const auto dash = item.find('-');
    const auto first = std::stoi(item);
    const auto last = dash == std::string::npos ? first : std::stoi(item.substr(dash + 1));
    if (port >= first && port <= last) return true;
    if (comma == std::string_view::npos) break;
    ranges.remove_prefix(comma + 1);
  }
  return false;
}

/// Whether the node keeps the port of an address for itself; nothing if it has no such address.
std::optional<bool> keeps(Node node, std::string_view ip, std::int32_t port) {
  for (const auto network : node.getNodeResources().getNodeNetworks()) {
    for (const auto address : network.getAddresses()) {
      if (view(address.getAddress()) != ip) continue;
      return keeps_port(view(address.getReservedPorts()), port)
             || keeps_port(view(node.getReservedResources().getNetworks().getReservedHostPorts()),
                           port);
    }
  }
  return std::nullopt;
}

/// What is given out by name: each to one only.
struct Handed {
  std::set<std::string> ports;
  std::set<std::int32_t> cores;
  std::set<std::string> devices;
};

std::string take_ports(Node node, schema::AllocatedResources::Reader resources, Handed& handed) {
  for (const auto port : resources.getShared().getPorts()) {
    const auto name = copy(port.getHostIp()) + ":" + std::to_string(port.getValue());
    const auto kept = keeps(node, view(port.getHostIp()), port.getValue());
    if (!kept) return "port " + name + " of no address of the node";
    if (*kept) return "port " + name + " is kept by the node";
    if (!handed.ports.insert(name).second) return "port " + name + " is used twice";
  }
  return {};
}

std::string take_cores(Node node, schema::AllocatedResources::Reader resources, Handed& handed) {
  const auto cpu = node.getNodeResources().getCpu();
  for (const auto task : resources.getTasks()) {
    for (const auto core : task.getValue().getCpu().getReservedCores()) {
      if (!any(cpu.getReservableCpuCores(), [core](auto other) { return other == core; }))
        return "core " + std::to_string(core) + " is not to be reserved";
      if (!handed.cores.insert(core).second)
        return "core " + std::to_string(core) + " is used twice";
    }
  }
  return {};
}

bool has_instance(Node node, schema::AllocatedDevice::Reader device, std::string_view id) {
  for (const auto group : node.getNodeResources().getDevices()) {
    if (view(group.getVendor()) != view(device.getVendor())
        || view(group.getType()) != view(device.getType())
        || view(group.getName()) != view(device.getName()))
      continue;
    for (const auto instance : group.getInstances())
      if (view(instance.getId()) == id) return true;
  }
  return false;
}

std::string take_devices(Node node, schema::AllocatedResources::Reader resources, Handed& handed) {
  for (const auto task : resources.getTasks()) {
    for (const auto device : task.getValue().getDevices()) {
      for (const auto id : device.getDeviceIds()) {
        if (!has_instance(node, device, view(id))) return "device " + copy(id) + " is not there";
        if (!handed.devices.insert(copy(device.getName()) + "/" + copy(id)).second)
          return "device " + copy(id) + " is used twice";
      }
    }
  }
  return {};
}

bool matches_name(std::string_view wanted, schema::NodeDeviceGroup::Reader group) {
  const auto type = copy(group.getType());
  const auto typed = copy(group.getVendor()) + "/" + type;
  return wanted == type || wanted == typed || wanted == typed + "/" + copy(group.getName());
}

bool suits(schema::RequestedDevice::Reader wanted, schema::NodeDeviceGroup::Reader group) {
  if (!matches_name(view(wanted.getName()), group)) return false;
  for (const auto constraint : wanted.getConstraints())  // of the model alone
    if (view(group.getName()) != view(constraint.getRTarget())) return false;
  return true;
}

/// Whether some group of devices has as many healthy ones that are not in `handed`.
bool offers(Node node, schema::RequestedDevice::Reader wanted, const Handed& handed) {
  for (const auto group : node.getNodeResources().getDevices()) {
    if (!suits(wanted, group)) continue;
    std::uint64_t free = 0;
    for (const auto instance : group.getInstances())
      if (instance.getHealthy()
          && !handed.devices.contains(copy(group.getName()) + "/" + copy(instance.getId())))
        ++free;
    if (free >= wanted.getCount()) return true;
  }
  return false;
}

std::string_view alias_of(schema::Port::Reader port) {
  return port.getHostNetwork().size() == 0 ? "default" : view(port.getHostNetwork());
}

std::optional<std::string_view> address_of(Node node, std::string_view alias) {
  for (const auto network : node.getNodeResources().getNodeNetworks())
    for (const auto address : network.getAddresses())
      if (view(address.getAlias()) == alias) return view(address.getAddress());
  return std::nullopt;
}

bool all_hold(capnp::List<schema::Constraint>::Reader constraints, Node node) {
  for (const auto constraint : constraints) {
    if (view(constraint.getOperand()).starts_with("distinct_")) continue;
    if (!holds(view(constraint.getLTarget()), view(constraint.getOperand()),
               view(constraint.getRTarget()), node))
      return false;
  }
  return true;
}

/// "d*2" and the like: the patterns of inventory.cpp.
bool in_datacenter(std::string_view pattern, std::string_view name) {
  return pattern == "*" || pattern == name || (pattern == "d*2" && name == "dc2");
}

/// One of a job's distinct constraints.
struct Distinct {
  bool hosts = false;
  bool whole_job = false;
  std::string property;
  std::size_t limit = 1;
};

std::vector<Distinct> distincts(schema::Job::Reader job, schema::TaskGroup::Reader group) {
  std::vector<Distinct> found;
  const auto collect = [&found](capnp::List<schema::Constraint>::Reader constraints, bool whole) {
    for (const auto constraint : constraints) {
      const auto value = copy(constraint.getRTarget());
      if (view(constraint.getOperand()) == "distinct_hosts" && value != "false")
        found.push_back({true, whole, {}, 1});
      if (view(constraint.getOperand()) == "distinct_property") {
        auto name = copy(constraint.getLTarget()).substr(2);
        name.pop_back();
        found.push_back({false, whole, name, value.empty() ? 1 : std::stoul(value)});
      }
    }
  };
  collect(job.getConstraints(), true);
  collect(group.getConstraints(), false);
  return found;
}

/// How many of `others` count against `distinct` at the node.
std::size_t counted(const state::Snapshot& state,
                    const Distinct& distinct,
                    Node node,
                    std::string_view group,
                    const Rows& others) {
  std::size_t count = 0;
  for (const auto& other : others) {
    if (!is_live(*other->alloc)) continue;
    if (!distinct.whole_job && other->alloc->task_group() != group) continue;
    const auto where = state.node(other->alloc->node_id());
    if (!where) continue;
    if (distinct.hosts)
      count += view(where->getId()) == view(node.getId()) ? 1 : 0;
    else
      count += fact(*where, distinct.property) == fact(node, distinct.property) ? 1 : 0;
  }
  return count;
}

}  // namespace

bool has_ended(AllocView alloc) {
  const auto status = alloc.client_status();
  return status == ClientStatus::COMPLETE || status == ClientStatus::FAILED
         || status == ClientStatus::LOST;
}

bool is_live(AllocView alloc) {
  return !has_ended(alloc) && alloc.desired_status() == schema::DesiredStatus::RUN;
}

std::string excess(schema::Node::Reader node, const Rows& rows) {
  Amounts sum;
  for (const auto& row : rows)
    sum.add(taken_by(row->alloc->resources()));
  return exceeds(sum, offered_by(node));
}

std::string clash(schema::Node::Reader node, const Rows& rows) {
  Handed handed;
  for (const auto& row : rows)
    for (const auto take : {take_ports, take_cores, take_devices})
      if (auto why = take(node, row->alloc->resources(), handed); !why.empty()) return why;
  return {};
}

std::string unsuitable(schema::Node::Reader node,
                       schema::Job::Reader job,
                       schema::TaskGroup::Reader group) {
  if (view(job.getNodePool()) != "all" && view(job.getNodePool()) != view(node.getNodePool()))
    return "another pool";
  if (!any(job.getDatacenters(),
           [&](auto pattern) { return in_datacenter(view(pattern), view(node.getDatacenter())); }))
    return "another datacenter";
  if (!all_hold(job.getConstraints(), node)) return "a constraint of the job";
  if (!all_hold(group.getConstraints(), node)) return "a constraint of the group";
  for (const auto task : group.getTasks()) {
    if (view(task.getDriver()) != "mock_driver") return "no driver";
    if (!all_hold(task.getConstraints(), node)) return "a constraint of a task";
    for (const auto device : task.getResources().getDevices())
      if (!offers(node, device, {})) return "no such devices";
  }
  for (const auto network : group.getNetworks())
    for (const auto ports : {network.getReservedPorts(), network.getDynamicPorts()})
      for (const auto port : ports)
        if (!address_of(node, alias_of(port))) return "no such network";
  for (const auto entry : group.getVolumes()) {
    bool found = false;
    for (const auto volume : node.getHostVolumes())
      found = found
              || (view(volume.getKey()) == view(entry.getValue().getSource())
                  && (entry.getValue().getReadOnly() || !volume.getValue().getReadOnly()));
    if (!found) return "no such volume";
  }
  return {};
}

namespace {

/// What the group asks for on this node.
Amounts asked_by(Node node, schema::TaskGroup::Reader group, std::size_t& cores) {
  Phases phases;
  const auto cpu = node.getNodeResources().getCpu();
  for (const auto task : group.getTasks()) {
    const auto resources = task.getResources();
    std::int64_t mhz = resources.getCpu();
    if (resources.getCores() > 0) {
      cores += static_cast<std::size_t>(resources.getCores());
      mhz = cpu.getTotalCpuCores() == 0
                ? 0
                : cpu.getCpuShares() / cpu.getTotalCpuCores() * resources.getCores();
    }
    phases.of(task.getLifecycle(), task.hasLifecycle()).add({mhz, resources.getMemoryMb(), 0});
  }
  auto sum = phases.peak();
  sum.disk = group.getEphemeralDisk().getSizeMb();
  return sum;
}

std::string no_port(Node node, schema::TaskGroup::Reader group, Handed handed) {
  const auto resources = node.getNodeResources();
  const auto first = resources.getMinDynamicPort() == 0 ? 20'000 : resources.getMinDynamicPort();
  const auto last = resources.getMaxDynamicPort() == 0 ? 32'000 : resources.getMaxDynamicPort();
  for (const auto network : group.getNetworks()) {
    for (const auto port : network.getReservedPorts()) {
      const auto ip = address_of(node, alias_of(port));
      const auto name = std::string{*ip} + ":" + std::to_string(port.getValue());
      if (*keeps(node, *ip, port.getValue()) || !handed.ports.insert(name).second)
        return "port " + name;
    }
    for (const auto port : network.getDynamicPorts()) {
      const auto ip = address_of(node, alias_of(port));
      bool found = false;
      for (auto value = first; value <= last && !found; ++value)
        found = !*keeps(node, *ip, static_cast<std::int32_t>(value))
                && handed.ports.insert(std::string{*ip} + ":" + std::to_string(value)).second;
      if (!found) return "no dynamic port";
    }
  }
  return {};
}

}  // namespace

std::string no_room(schema::Node::Reader node, schema::TaskGroup::Reader group, const Rows& rows) {
  Amounts sum;
  Handed handed;
  for (const auto& row : rows) {
    sum.add(taken_by(row->alloc->resources()));
    for (const auto take : {take_ports, take_cores, take_devices})
      take(node, row->alloc->resources(), handed);
  }
  std::size_t cores = 0;
  sum.add(asked_by(node, group, cores));
  if (auto why = exceeds(sum, offered_by(node)); !why.empty()) return why;
  if (handed.cores.size() + cores > node.getNodeResources().getCpu().getReservableCpuCores().size()
      && cores > 0)
    return "cores";
  for (const auto task : group.getTasks())
    for (const auto device : task.getResources().getDevices())
      if (!offers(node, device, handed)) return "devices";
  return no_port(node, group, std::move(handed));
}

std::string not_distinct(const state::Snapshot& state,
                         const state::AllocRef& row,
                         const Rows& others) {
  const auto group = group_of(*row->job, row->alloc->task_group());
  const auto node = state.node(row->alloc->node_id());
  for (const auto& distinct : distincts(*row->job, group)) {
    if (!distinct.hosts && !fact(*node, distinct.property))
      return "its node has no " + distinct.property;
    if (counted(state, distinct, *node, view(group.getName()), others) >= distinct.limit)
      return distinct.hosts ? "its node has another one"
                            : "too many where " + distinct.property + " is equal";
  }
  return {};
}

bool would_break_distinct(const state::Snapshot& state,
                          schema::Node::Reader node,
                          schema::Job::Reader job,
                          schema::TaskGroup::Reader group,
                          const Rows& others) {
  for (const auto& distinct : distincts(job, group)) {
    if (!distinct.hosts && !fact(node, distinct.property)) return true;
    if (counted(state, distinct, node, view(group.getName()), others) >= distinct.limit)
      return true;
  }
  return false;
}

std::string wrong_resources(schema::Node::Reader node, const state::AllocRow& row) {
  const auto group = group_of(*row.job, row.alloc->task_group());
  const auto given = row.alloc->resources();
  std::size_t cores = 0;
  const auto wanted = asked_by(node, group, cores);
  const auto taken = taken_by(given);
  if (taken.cpu != wanted.cpu || taken.memory != wanted.memory || taken.disk != wanted.disk)
    return "it takes other amounts than it asks for";
  std::size_t given_cores = 0;
  std::size_t given_devices = 0;
  std::size_t wanted_devices = 0;
  for (const auto task : given.getTasks()) {
    given_cores += task.getValue().getCpu().getReservedCores().size();
    for (const auto device : task.getValue().getDevices())
      given_devices += device.getDeviceIds().size();
  }
  for (const auto task : group.getTasks())
    for (const auto device : task.getResources().getDevices())
      wanted_devices += device.getCount();
  if (given_cores != cores) return "it has other cores than it asks for";
  if (given_devices != wanted_devices) return "it has other devices than it asks for";
  std::set<std::string> fixed;
  std::size_t ports = 0;
  for (const auto network : group.getNetworks()) {
    ports += network.getReservedPorts().size() + network.getDynamicPorts().size();
    for (const auto port : network.getReservedPorts())
      fixed.insert(copy(port.getLabel()) + "=" + std::to_string(port.getValue()));
  }
  if (given.getShared().getPorts().size() != ports) return "it has other ports than it asks for";
  for (const auto port : given.getShared().getPorts())
    fixed.erase(copy(port.getLabel()) + "=" + std::to_string(port.getValue()));
  return fixed.empty() ? std::string{} : "it does not have its static port";
}

bool has_group(schema::Job::Reader job, std::string_view name) {
  return any(job.getTaskGroups(), [name](auto group) { return view(group.getName()) == name; });
}

schema::TaskGroup::Reader group_of(schema::Job::Reader job, std::string_view name) {
  for (const auto group : job.getTaskGroups())
    if (view(group.getName()) == name) return group;
  throw std::logic_error{"a job without the group " + std::string{name}};
}

}  // namespace nomad::properties
