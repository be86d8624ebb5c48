// runtime/jobspec/validate/total_count: the sum is bounded, and never wraps.
#include "runtime/jobspec/validate/total_count.hpp"

#include <doctest/doctest.h>

using nomad::Errc;
using nomad::jobspec::TotalCount;

TEST_CASE("total count: groups add up to the bound, zero is none") {
  TotalCount total;
  CHECK(total.check(1).has_value());
  total.add(2);
  total.add(-5);
  total.add(3);
  CHECK(total.check(5).has_value());
  CHECK(total.check(0).has_value());
  const auto over = total.check(4);
  REQUIRE(over.has_error());
  CHECK(over.error().code == Errc::invalid_argument);
  CHECK(over.error().what == "total count was greater than configured job_max_count: 5 > 4");
}

TEST_CASE("total count: more than a number can hold is still too much") {
  TotalCount total;
  total.add(INT64_MAX);
  total.add(2);
  total.add(1);
  CHECK(total.check(INT64_MAX - 1).has_error());
}
