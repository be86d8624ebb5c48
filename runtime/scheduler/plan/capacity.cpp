#include "runtime/scheduler/plan/capacity.hpp"

#include <algorithm>

namespace nomad::scheduler {

Capacity Capacity::of(schema::Node::Reader node) {
  const auto total = node.getNodeResources();
  const auto reserved = node.getReservedResources();
  const auto rest
      = [](std::int64_t all, std::uint64_t kept) { return all - static_cast<std::int64_t>(kept); };
  Capacity capacity;
  capacity.total_cpu_mhz = total.getCpu().getCpuShares();
  capacity.total_cores = total.getCpu().getTotalCpuCores();
  capacity.cpu_mhz = rest(total.getCpu().getCpuShares(), reserved.getCpu().getCpuShares());
  capacity.memory_mb = rest(total.getMemory().getMemoryMb(), reserved.getMemory().getMemoryMb());
  capacity.disk_mb = rest(total.getDisk().getDiskMb(), reserved.getDisk().getDiskMb());
  for (const auto core : total.getCpu().getReservableCpuCores())
    capacity.cores.push_back(core);
  std::ranges::sort(capacity.cores);
  return capacity;
}

std::string_view Capacity::exhausted_by(const state::Demand& used) const {
  if (used.cpu_mhz > cpu_mhz) return "cpu";
  if (used.memory_mb > memory_mb) return "memory";
  if (used.disk_mb > disk_mb) return "disk";
  return {};
}

state::Demand Capacity::left(const state::Demand& used) const {
  state::Demand rest;
  rest.cpu_mhz = cpu_mhz - used.cpu_mhz;
  rest.memory_mb = memory_mb - used.memory_mb;
  rest.disk_mb = disk_mb - used.disk_mb;
  return rest;
}

std::int64_t Capacity::shares_of_cores(std::int64_t count) const {
  return total_cores > 0 ? total_cpu_mhz / total_cores * count : 0;
}

FreeShare Capacity::free_share(const state::Demand& used) const {
  const auto share = [](std::int64_t in_use, std::int64_t all) {
    if (all <= 0) return 0.0;
    return 1.0 - static_cast<double>(in_use) / static_cast<double>(all);
  };
  return {share(used.cpu_mhz, cpu_mhz), share(used.memory_mb, memory_mb)};
}

}  // namespace nomad::scheduler
