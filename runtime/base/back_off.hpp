// BackOff: how long to wait before what failed is tried again: twice as long each time. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace nomad {

class BackOff {
public:
  using Nanoseconds = std::chrono::nanoseconds;

  constexpr BackOff(Nanoseconds first, Nanoseconds longest)
      : first_{first}, longest_{longest}, next_{first} {}

  constexpr Nanoseconds next() { return std::exchange(next_, std::min(next_ * 2, longest_)); }

  /// Something went well.
  constexpr void reset() { next_ = first_; }

private:
  Nanoseconds first_, longest_, next_;
};

}  // namespace nomad
