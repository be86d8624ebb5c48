#include "runtime/scheduler/explain/obstacle.hpp"

#include <doctest/doctest.h>

using namespace nomad::scheduler::explain;

TEST_CASE("obstacle: an id says what it is and which one, in the order of what it is") {
  const auto id = reason_id(Obstacle::driver, 70'000);
  CHECK(obstacle_of(id) == Obstacle::driver);
  CHECK(index_of(id) == 70'000);
  CHECK(reason_id(Obstacle::status, 9) < reason_id(Obstacle::drain));
  CHECK(to_string(Obstacle::distinct_hosts) == "distinct-hosts");
  CHECK(is_amount(Obstacle::cores));
  CHECK_FALSE(is_amount(Obstacle::port));
}
