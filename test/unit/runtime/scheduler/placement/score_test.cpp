// The arithmetic of scores.
#include "runtime/scheduler/placement/score.hpp"

#include <doctest/doctest.h>

using namespace nomad::scheduler;

TEST_CASE("bin packing prefers full nodes, spreading empty ones") {
  CHECK(binpack_score({0, 0}) == doctest::Approx(1.0));
  CHECK(binpack_score({1, 1}) == doctest::Approx(0.0));
  CHECK(spread_fit_score({1, 1}) == doctest::Approx(1.0));
  CHECK(spread_fit_score({0, 0}) == doctest::Approx(0.0));
  CHECK(binpack_score({0.5, 0.5}) == doctest::Approx((20 - 2 * 3.16227766) / 18));
  CHECK(binpack_score({2, 2}) == 0.0);
}

TEST_CASE("a part of 0 is not averaged in, except bin packing") {
  Score score;
  CHECK(score.normalized() == 0);
  score.set(ScoreName::binpack, 0.4);
  score.set(ScoreName::job_anti_affinity, 0);
  score.set(ScoreName::node_affinity, 0);
  CHECK(score.normalized() == doctest::Approx(0.4));
  score.set(ScoreName::job_anti_affinity, -0.6);
  CHECK(score.normalized() == doctest::Approx(-0.1));
  Score empty_node;
  empty_node.set(ScoreName::binpack, 0);
  empty_node.set(ScoreName::node_affinity, 1);
  CHECK(empty_node.normalized() == doctest::Approx(0.5));
}

TEST_CASE("anti-affinity") {
  CHECK(anti_affinity_score(0, 4) == 0);
  CHECK(anti_affinity_score(1, 4) == doctest::Approx(-0.5));
  CHECK(anti_affinity_score(3, 4) == doctest::Approx(-1.0));
  CHECK(anti_affinity_score(3, 0) == 0);
}

TEST_CASE("how many nodes are compared") {
  CHECK(node_limit(true, 5000, false, 10) == 2);
  CHECK(node_limit(false, 0, false, 10) == 2);
  CHECK(node_limit(false, 1, false, 10) == 2);
  CHECK(node_limit(false, 4, false, 10) == 2);
  CHECK(node_limit(false, 5, false, 10) == 3);
  CHECK(node_limit(false, 8, false, 10) == 3);
  CHECK(node_limit(false, 9, false, 10) == 4);
  CHECK(node_limit(false, 5000, false, 10) == 13);
  CHECK(node_limit(true, 5000, true, 10) == 100);
  CHECK(node_limit(false, 5000, true, 250) == 250);
}
