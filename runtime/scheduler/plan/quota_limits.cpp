#include "runtime/scheduler/plan/quota_limits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/state/kinds/namespace_kinds.hpp"

namespace nomad::scheduler {
namespace {

/// What bounds a namespace whose quota is not there.
Object<schema::QuotaSpec> nothing_allowed(std::string_view region) {
  constexpr std::int64_t none = -1;
  Draft<schema::QuotaSpec> spec;
  auto limit = spec->initLimits(1)[0];
  limit.setRegion(text(region));
  auto resources = limit.initRegionLimit();
  resources.setCpu(none);
  resources.setCores(none);
  resources.setMemoryMb(none);
  resources.setMemoryMaxMb(none);
  resources.setAllocations(none);
  return spec.freeze();
}

}  // namespace

std::optional<QuotaLimits> QuotaLimits::of(const state::Snapshot& state,
                                           std::string_view ns,
                                           std::string_view region) {
  QuotaLimits limits;
  limits.name_ = state.quota_of(ns);
  if (limits.name_.empty()) return std::nullopt;
  limits.spec_ = state.row<state::kind::Quotas>(limits.name_);
  limits.is_known_ = static_cast<bool>(limits.spec_);
  if (!limits.is_known_) limits.spec_ = nothing_allowed(region);
  const auto limit = state::limit_in(*limits.spec_, region);
  if (!limit) return std::nullopt;
  limits.limits_ = limit->getRegionLimit();
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
  if (!is_known_ && !exceeded.empty()) return {"the quota is not known in this region"};
  return exceeded;
}

std::vector<std::string> QuotaBudget::exceeded_with(const state::QuotaUse& more) const {
  auto after = now;
  after += more;
  return limits.exceeded(before, after);
}

}  // namespace nomad::scheduler
