#include "runtime/state/usage.hpp"

#include <algorithm>

#include "runtime/base/saturated.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::state {

namespace {

Demand demand_of_task(schema::AllocatedTaskResources::Reader task) {
  const auto memory = task.getMemory();
  return {.cpu_mhz = task.getCpu().getCpuShares(),
          .memory_mb = memory.getMemoryMb(),
          .memory_max_mb = std::max(memory.getMemoryMb(), memory.getMemoryMaxMb()),
          .disk_mb = 0};
}

Demand largest(const Demand& a, const Demand& b) {
  return {.cpu_mhz = std::max(a.cpu_mhz, b.cpu_mhz),
          .memory_mb = std::max(a.memory_mb, b.memory_mb),
          .memory_max_mb = std::max(a.memory_max_mb, b.memory_max_mb),
          .disk_mb = std::max(a.disk_mb, b.disk_mb)};
}

/// Calls `visit(address, port)` for each port that the allocation takes: its port mappings, or,
/// where there are none, the ports of its networks.
template <class Visit>
void for_each_port(schema::AllocatedResources::Reader resources, Visit visit) {
  const auto in_range = [](std::int32_t port) { return port > 0 && port < 65536; };
  const auto shared = resources.getShared();
  if (shared.getPorts().size() > 0) {
    for (auto port : shared.getPorts())
      if (in_range(port.getValue()))
        visit(view(port.getHostIp()), static_cast<std::uint16_t>(port.getValue()));
    return;
  }
  const auto visit_network = [&](schema::NetworkResource::Reader network) {
    for (auto ports : {network.getReservedPorts(), network.getDynamicPorts()})
      for (auto port : ports)
        if (in_range(port.getValue()))
          visit(view(network.getIp()), static_cast<std::uint16_t>(port.getValue()));
  };
  for (auto network : shared.getNetworks())
    visit_network(network);
  for (auto task : resources.getTasks())
    for (auto network : task.getValue().getNetworks())
      visit_network(network);
}

template <class Visit>
void for_each_core(schema::AllocatedResources::Reader resources, Visit visit) {
  for (auto task : resources.getTasks())
    for (auto core : task.getValue().getCpu().getReservedCores())
      visit(core);
}

template <class Visit>
void for_each_device(schema::AllocatedResources::Reader resources, Visit visit) {
  for (auto task : resources.getTasks())
    for (auto device : task.getValue().getDevices())
      for (auto id : device.getDeviceIds())
        visit(copy(device.getVendor()) + "/" + copy(device.getType()) + "/" + copy(device.getName())
              + "/" + copy(id));
}

template <class T>
void insert_sorted(std::vector<T>& sorted, T value) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), std::move(value));
}

/// Removes one occurrence; false if there is none.
template <class T>
bool erase_sorted(std::vector<T>& sorted, const T& value) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (found == sorted.end() || *found != value) return false;
  sorted.erase(found);
  return true;
}

}  // namespace

Demand& Demand::operator+=(const Demand& other) {
  cpu_mhz = saturated_sum(cpu_mhz, other.cpu_mhz);
  memory_mb = saturated_sum(memory_mb, other.memory_mb);
  memory_max_mb = saturated_sum(memory_max_mb, other.memory_max_mb);
  disk_mb = saturated_sum(disk_mb, other.disk_mb);
  return *this;
}

Demand& Demand::operator-=(const Demand& other) {
  cpu_mhz -= other.cpu_mhz;
  memory_mb -= other.memory_mb;
  memory_max_mb -= other.memory_max_mb;
  disk_mb -= other.disk_mb;
  return *this;
}

Demand demand_of(schema::AllocatedResources::Reader resources) {
  Demand sidecars, before, main, after;
  const auto lifecycles = resources.getTaskLifecycles();
  for (auto task : resources.getTasks()) {
    const Demand demand = demand_of_task(task.getValue());
    const auto position = find_entry(lifecycles, view(task.getKey()));
    const auto lifecycle
        = position ? lifecycles[*position].getValue() : schema::Lifecycle::Reader{};
    const std::string_view hook = view(lifecycle.getHook());
    if (hook == "prestart")
      (lifecycle.getSidecar() ? sidecars : before) += demand;
    else if (hook == "poststop")
      after += demand;
    else
      main += demand;
  }
  Demand total = largest(largest(before, main), after);
  total += sidecars;
  total.disk_mb = resources.getShared().getDiskMb();
  return total;
}

void UsedPorts::insert(std::uint16_t port) {
  ++size_;
  if (contains(port)) {
    insert_sorted(again_, port);
    return;
  }
  const unsigned index = port / 64;
  auto& part = parts_[index / part_words];
  if (!part) part = Shared<Part>::make();
  part.writable()[index % part_words] |= std::uint64_t{1} << (port % 64);
}

void UsedPorts::erase(std::uint16_t port) {
  if (!contains(port)) return;
  --size_;
  if (erase_sorted(again_, port)) return;
  const unsigned index = port / 64;
  parts_[index / part_words].writable()[index % part_words] &= ~(std::uint64_t{1} << (port % 64));
}

bool UsedPorts::is_shared(std::uint16_t port) const {
  return std::ranges::binary_search(again_, port);
}

const UsedPorts* NodeUsage::ports(std::string_view host_ip) const {
  for (const auto& address : addresses_)
    if (address.ip == host_ip) return &address.ports;
  return nullptr;
}

bool NodeUsage::port_taken(std::string_view host_ip, std::uint16_t port) const {
  const UsedPorts* taken = ports(host_ip);
  return taken != nullptr && taken->contains(port);
}

UsedPorts& NodeUsage::ports_for_change(std::string_view host_ip) {
  for (auto& address : addresses_)
    if (address.ip == host_ip) return address.ports;
  return addresses_.emplace_back(Address{std::string{host_ip}, {}}).ports;
}

void NodeUsage::add(const Demand& demand, schema::AllocatedResources::Reader resources) {
  total_ += demand;
  ++allocations_;
  for_each_port(resources, [&](std::string_view ip, std::uint16_t port) {
    ports_for_change(ip).insert(port);
  });
  for_each_core(resources, [&](std::uint16_t core) { insert_sorted(cores_, core); });
  for_each_device(resources, [&](std::string id) { insert_sorted(devices_, std::move(id)); });
}

void NodeUsage::remove(const Demand& demand, schema::AllocatedResources::Reader resources) {
  total_ -= demand;
  --allocations_;
  for_each_port(resources,
                [&](std::string_view ip, std::uint16_t port) { ports_for_change(ip).erase(port); });
  for_each_core(resources, [&](std::uint16_t core) { erase_sorted(cores_, core); });
  for_each_device(resources, [&](const std::string& id) { erase_sorted(devices_, id); });
}

}  // namespace nomad::state
