#include "runtime/workload/heartbeat_stop.hpp"

#include <algorithm>

namespace nomad::workload {

namespace {

/// A late look is harmless, so that a heartbeat need not move a timer.
constexpr Nanoseconds longest_look = std::chrono::seconds{5};

}  // namespace

void HeartbeatStop::watch(const std::string& alloc_id, Nanoseconds patience) {
  forget(alloc_id);
  patience_.emplace(alloc_id, patience);
  by_patience_.emplace(patience, alloc_id);
}

void HeartbeatStop::forget(const std::string& alloc_id) {
  const auto known = patience_.extract(alloc_id);
  if (known) by_patience_.erase({known.mapped(), alloc_id});
}

std::vector<std::string> HeartbeatStop::expire(Nanoseconds now) {
  std::vector<std::string> over;
  for (const auto& [patience, id] : by_patience_) {
    if (now - last_ok_ <= patience) break;
    over.push_back(id);
  }
  for (const auto& id : over)
    forget(id);
  return over;
}

std::optional<Nanoseconds> HeartbeatStop::shortest() const {
  if (by_patience_.empty()) return std::nullopt;
  return by_patience_.begin()->first;
}

std::optional<Nanoseconds> HeartbeatStop::next_look(Nanoseconds now) const {
  const auto patience = shortest();
  if (!patience) return std::nullopt;
  const auto left = std::min(*patience - (now - last_ok_), longest_look);
  return std::clamp<Nanoseconds>(left + std::chrono::milliseconds{1}, std::chrono::milliseconds{1},
                                 longest_look);
}

}  // namespace nomad::workload
