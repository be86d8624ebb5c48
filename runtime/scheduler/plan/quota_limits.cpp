#include "runtime/scheduler/plan/quota_limits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace nomad::scheduler {

std::optional<QuotaLimits> QuotaLimits::of(const state::Snapshot& state,
                                           std::string_view ns,
                                           std::string_view region) {
  auto spec = state.quota_of(ns);
  if (!spec) return std::nullopt;
  const auto limit = state::limit_in(*spec, region);
  if (!limit) return std::nullopt;
  QuotaLimits limits;
  limits.name_ = copy(spec->getName());
  limits.limits_ = limit->getRegionLimit();
  limits.spec_ = std::move(spec);
  return limits;
}

std::vector<std::string> QuotaLimits::exceeded(const state::QuotaUse& before,
                                               const state::QuotaUse& after) const {
  std::vector<std::string> exceeded;
  const auto check = [&exceeded](std::string_view what, std::int64_t limit, std::int64_t had,
                                 std::int64_t needed) {
    const auto most = std::max<std::int64_t>(limit, 0);
    if (limit == 0 || needed <= std::max(most, had)) return;
    exceeded.push_back(fmt::format("{} exhausted ({} needed > {} limit)", what, needed, most));
  };
  const auto& [demand, cores, allocations, devices] = after;
  check("cpu", limits_.getCpu(), before.demand.cpu_mhz, demand.cpu_mhz);
  check("memory", limits_.getMemoryMb(), before.demand.memory_mb, demand.memory_mb);
  check("memory_max", limits_.getMemoryMaxMb(), before.demand.memory_max_mb, demand.memory_max_mb);
  check("cores", limits_.getCores(), before.cores, cores);
  check("allocations", limits_.getAllocations(), before.allocations, allocations);
  for (const auto device : limits_.getDevices()) {
    const auto name = view(device.getName());
    check(fmt::format("device {}", name), device.getCount(), state::devices_in_use(name, before),
          state::devices_in_use(name, after));
  }
  return exceeded;
}

std::vector<std::string> QuotaBudget::exceeded_with(const state::QuotaUse& more) const {
  auto after = now;
  after += more;
  return limits.exceeded(before, after);
}

}  // namespace nomad::scheduler
