#include "runtime/access/recent_grants.hpp"

#include <atomic>
#include <memory>

namespace nomad::access {

RecentGrants::Slot& RecentGrants::own_slot() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return slots_[number % slots_.size()];
}

GrantRef RecentGrants::find(const TokenHash::Value& key, const NewestIndex& newest, Time now) {
  auto& slot = own_slot();
  const std::lock_guard lock{slot.guard};
  for (auto& entry : slot.entries) {
    if (!entry.grant || entry.key != key) continue;
    if (entry.index == newest.of_known && now < entry.grant->until) return entry.grant;
    entry.grant.reset();
  }
  return {};
}

GrantRef RecentGrants::keep(const TokenHash::Value& key, const Grant& grant, std::uint64_t index) {
  auto own = std::make_shared<const Grant>(grant);
  auto& slot = own_slot();
  const std::lock_guard lock{slot.guard};
  auto& entry = slot.entries[slot.oldest];
  slot.oldest = (slot.oldest + 1) % slot.entries.size();
  entry = {key, own, index};
  return own;
}

}  // namespace nomad::access
