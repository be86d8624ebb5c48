#include "runtime/telemetry/identity_counters.hpp"

namespace nomad::telemetry {
namespace {

/// Between looks for idle series: each look goes through all of them.
constexpr std::chrono::seconds sweep_pause{10};

}  // namespace

Counter* IdentityCounters::find(std::string_view name, std::string_view identity, Time now) {
  if (const auto known = series_.find(KeyView{name, identity}); known != series_.end()) {
    known->second.used = now;
    return known->second.counter.get();
  }
  if (series_.size() >= most_ && now >= next_sweep_) {
    next_sweep_ = now + sweep_pause;
    std::erase_if(series_,
                  [now](const auto& entry) { return now - entry.second.used > idle_after; });
  }
  if (series_.size() >= most_) return nullptr;
  auto counter = registry_->passing_counter(name, {{"identity", std::string{identity}}});
  return series_
      .emplace(Key{std::string{name}, std::string{identity}}, Series{std::move(counter), now})
      .first->second.counter.get();
}

void IdentityCounters::count(std::string_view name, std::string_view identity, Time now) {
  if (identity.empty()) return registry_->counter(name).add();
  const std::lock_guard lock{guard_};
  if (auto* counter = find(name, identity, now)) return counter->add();
  registry_->counter(name, {{"identity", std::string{other}}}).add();
}

std::size_t IdentityCounters::size() const {
  const std::lock_guard lock{guard_};
  return series_.size();
}

}  // namespace nomad::telemetry
