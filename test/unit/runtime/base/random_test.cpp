#include "runtime/base/random.hpp"

#include <doctest/doctest.h>

TEST_CASE("random: the same seed gives the same numbers") {
  nomad::Random a{42}, b{42}, c{43};
  const auto first = a.next();
  CHECK(first == b.next());
  CHECK(first != c.next());
}

TEST_CASE("random: below stays below and reaches every value") {
  nomad::Random random{1};
  bool seen[7] = {};
  for (int i = 0; i < 1000; ++i) {
    const auto drawn = random.below(7);
    REQUIRE(drawn < 7);
    seen[drawn] = true;
  }
  for (bool hit : seen)
    CHECK(hit);
  CHECK(random.below(0) == 0);
}
