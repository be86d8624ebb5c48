// Sums that stop at the greatest and the least number.
#include "runtime/base/saturated.hpp"

#include <doctest/doctest.h>

using nomad::saturated_sum;

TEST_CASE("saturated: sums are sums, and stop where numbers end") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  CHECK(saturated_sum(2, -3) == -1);
  CHECK(saturated_sum(most - 1, 1) == most);
  CHECK(saturated_sum(most, 1) == most);
  CHECK(saturated_sum(most, most) == most);
  CHECK(saturated_sum(least, -1) == least);
  CHECK(saturated_sum(least, most) == -1);
}
