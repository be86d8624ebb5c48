// saturated_sum: sums of amounts that users choose. What no number holds is the greatest one: it
// fits nowhere, where a sum that wraps would fit anywhere.
#pragma once

#include <cstdint>
#include <limits>

namespace nomad {

inline std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return a < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

}  // namespace nomad
