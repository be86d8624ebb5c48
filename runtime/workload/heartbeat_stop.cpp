#include "runtime/workload/heartbeat_stop.hpp"

#include <algorithm>

namespace nomad::workload {

namespace {

/// A late look is harmless, so that a heartbeat need not move a timer.
constexpr Nanoseconds longest_look = std::chrono::seconds{5};

}  // namespace

std::vector<std::string> HeartbeatStop::expire(Nanoseconds now) {
  std::vector<std::string> over;
  std::erase_if(patience_, [&](const auto& entry) {
    const bool is_over = now > last_ok_ + entry.second;
    if (is_over) over.push_back(entry.first);
    return is_over;
  });
  return over;
}

std::optional<Nanoseconds> HeartbeatStop::shortest() const {
  if (patience_.empty()) return std::nullopt;
  Nanoseconds shortest = patience_.begin()->second;
  for (const auto& [id, patience] : patience_)
    shortest = std::min(shortest, patience);
  return shortest;
}

std::optional<Nanoseconds> HeartbeatStop::next_look(Nanoseconds now) const {
  const auto patience = shortest();
  if (!patience) return std::nullopt;
  const auto left = last_ok_ + *patience - now + std::chrono::milliseconds{1};
  return std::clamp<Nanoseconds>(left, std::chrono::milliseconds{1}, longest_look);
}

}  // namespace nomad::workload
