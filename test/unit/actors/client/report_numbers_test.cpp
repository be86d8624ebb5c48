#include "actors/client/report_numbers.hpp"

#include <limits>

#include <doctest/doctest.h>

using nomad::client::ReportNumbers;

TEST_CASE("ReportNumbers: a later incarnation's are all above an earlier one's") {
  ReportNumbers first{1};
  ReportNumbers second{2};
  const auto number = first.next();
  CHECK(number > 0);
  CHECK(first.next() > number);
  CHECK(second.next() > first.next());
}

TEST_CASE("ReportNumbers: what only another process can have given is gone above") {
  ReportNumbers numbers{1};
  CHECK_FALSE(numbers.heard(0));
  const auto own = numbers.next();
  CHECK_FALSE(numbers.heard(own));
  const auto foreign = ReportNumbers{6}.next();
  CHECK(numbers.heard(foreign) == 7U);
  CHECK(numbers.next() > foreign);
  CHECK_FALSE(numbers.heard(foreign));
}

TEST_CASE("ReportNumbers: a number at the end of their range does no harm") {
  ReportNumbers numbers{3};
  const auto before = numbers.next();
  CHECK_FALSE(numbers.heard(std::numeric_limits<std::uint64_t>::max()));
  CHECK(numbers.next() > before);
}
