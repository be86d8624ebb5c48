#include "runtime/raft/patience.hpp"

#include <algorithm>

namespace nomad::raft {

void Patience::waited(Time now, Time wait) {
  move_to(now);
  longest_ = std::max(longest_, wait);
}

void Patience::move_to(Time now) {
  const auto span = now / memory;
  if (span == span_) return;
  before_ = span == span_ + 1 ? longest_ : Time{0};
  longest_ = Time{0};
  span_ = span;
}

Time Patience::at(Time now) const {
  auto moved = *this;
  moved.move_to(now);
  const auto longest = std::min(std::max(moved.longest_, moved.before_), bound());
  return std::clamp(of_longest * longest, least_, bound());
}

}  // namespace nomad::raft
