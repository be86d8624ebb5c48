#include "runtime/state/kinds/quota_use.hpp"

#include <limits>

#include "runtime/base/saturated.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

namespace {

bool takes_alike(const AllocRow& a, const AllocRow& b) {
  return a.demand == b.demand
         && capnp::AnyStruct::Reader{a.alloc->resources()}
                == capnp::AnyStruct::Reader{b.alloc->resources()};
}

QuotaUse use_of_row(const AllocRow& row) {
  return quota_use_of(row.demand, row.alloc->resources());
}

bool is_named_by(std::string_view name, std::string_view device) {
  const auto type = device.find('/') + 1;
  const auto model = device.find('/', type);
  if (name.find('/') == std::string_view::npos) return device.substr(type, model - type) == name;
  return device == name || device.substr(0, model) == name;
}

/// The sum of a quota, to be changed.
QuotaUse& use_for_change(Tables& t, std::string_view quota) {
  auto* use = t.quota_use.find_for_update(quota);
  if (use == nullptr) {
    t.quota_use.insert_or_assign(quota, Shared<QuotaUse>::make());
    use = t.quota_use.find_for_update(quota);
  }
  return use->writable();
}

void drop_if_unused(Tables& t, std::string_view quota) {
  const auto* use = t.quota_use.find(quota);
  if (use != nullptr && (*use)->allocations == 0) t.quota_use.erase(quota);
}

}  // namespace

QuotaUse& QuotaUse::operator+=(const QuotaUse& other) {
  demand += other.demand;
  cores += other.cores;
  allocations += other.allocations;
  for (const auto& [name, count] : other.devices)
    if ((devices[name] += count) == 0) devices.erase(name);
  return *this;
}

QuotaUse& QuotaUse::operator-=(const QuotaUse& other) {
  demand -= other.demand;
  cores -= other.cores;
  allocations -= other.allocations;
  for (const auto& [name, count] : other.devices)
    if ((devices[name] -= count) == 0) devices.erase(name);
  return *this;
}

QuotaUse quota_use_of(const Demand& demand, schema::AllocatedResources::Reader resources) {
  QuotaUse use{.demand = demand, .cores = 0, .allocations = 1, .devices = {}};
  for (const auto task : resources.getTasks()) {
    use.cores += task.getValue().getCpu().getReservedCores().size();
    for (const auto device : task.getValue().getDevices())
      if (const auto count = device.getDeviceIds().size(); count != 0)
        use.devices[copy(device.getVendor()) + "/" + copy(device.getType()) + "/"
                    + copy(device.getName())]
            += count;
  }
  return use;
}

std::int64_t devices_in_use(std::string_view name, const QuotaUse& use) {
  std::int64_t count = 0;
  for (const auto& [device, instances] : use.devices)
    if (is_named_by(name, device)) count += instances;
  return count;
}

std::optional<schema::QuotaLimit::Reader> limit_in(schema::QuotaSpec::Reader quota,
                                                   std::string_view region) {
  for (const auto limit : quota.getLimits())
    if (view(limit.getRegion()) == region) return limit;
  return std::nullopt;
}

std::int64_t mebibytes(std::int64_t count) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(count, std::int64_t{1} << 20, &bytes)
             ? std::numeric_limits<std::int64_t>::max()
             : bytes;
}

std::string count_for_quota(Tables& t, const AllocRow* before, const AllocRow* after) {
  if (t.quota_of_namespaces.empty()) return {};
  const bool was_live = before != nullptr && !before->terminal();
  const bool is_live = after != nullptr && !after->terminal();
  if (!was_live && !is_live) return {};
  if (was_live && is_live && takes_alike(*before, *after)) return {};
  const auto* quota = t.quota_of_namespaces.find((after != nullptr ? after : before)->alloc->ns());
  if (quota == nullptr) return {};
  std::string name = *quota;
  auto& use = use_for_change(t, name);
  if (was_live) use -= use_of_row(*before);
  if (is_live) use += use_of_row(*after);
  drop_if_unused(t, name);
  return name;
}

void change_quota(Tables& t, std::string_view ns, const std::string& from, const std::string& to) {
  if (from == to) return;
  QuotaUse all;
  for (const auto& entry : t.allocs_by_job.prefix(join_key(ns, "")))
    if (!entry.value()->terminal()) all += use_of_row(*entry.value());
  if (!from.empty()) {
    if (all.allocations != 0) use_for_change(t, from) -= all;
    drop_if_unused(t, from);
    t.quota_of_namespaces.erase(ns);
  }
  if (to.empty()) return;
  if (all.allocations != 0) use_for_change(t, to) += all;
  t.quota_of_namespaces.insert_or_assign(ns, to);
}

std::int64_t variable_bytes_of_quota(const Tables& t, std::string_view quota) {
  std::int64_t bytes = 0;
  for (const auto& entry : t.namespaces_by_quota.prefix(join_key(quota, "")))
    if (const auto* own = t.variable_bytes.find(entry.key().substr(quota.size() + 1)))
      bytes = saturated_sum(bytes, *own);
  return bytes;
}

}  // namespace nomad::state
