// RespawnDelay: how long to wait before what has died is started again: twice as long each time,
// unless it has lived well for a while. No clock.
#pragma once

#include <algorithm>

#include "runtime/base/duration.hpp"

namespace nomad::workload {

class RespawnDelay {
public:
  static constexpr Nanoseconds shortest = std::chrono::seconds{5};
  static constexpr Nanoseconds longest = std::chrono::minutes{2};

  /// After the death of one that had lived for `lived`; `longest` is well.
  Nanoseconds after(Nanoseconds lived) {
    if (lived >= longest) next_ = shortest;
    const auto delay = next_;
    next_ = std::min(next_ * 2, longest);
    return delay;
  }

private:
  Nanoseconds next_ = shortest;
};

}  // namespace nomad::workload
