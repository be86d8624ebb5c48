#include "runtime/text/decimal.hpp"

#include <doctest/doctest.h>

using namespace nomad;

namespace {

/// 0.digits · 10^point
Decimal decimal(std::string digits, std::int64_t point) {
  return {std::move(digits), point};
}

std::string rounded(Decimal value, std::int64_t count) {
  value.round(count);
  return value.fixed();
}

}  // namespace

TEST_CASE("decimal: rounding is half to even, and carries") {
  CHECK(rounded(decimal("25", 1), 1) == "2");
  CHECK(rounded(decimal("35", 1), 1) == "4");
  CHECK(rounded(decimal("251", 1), 1) == "3");
  CHECK(rounded(decimal("999", 1), 2) == "10");
  CHECK(rounded(decimal("1004", 1), 3) == "1");
}

TEST_CASE("decimal: layouts") {
  CHECK(decimal("15", 1).fixed() == "1.5");
  CHECK(decimal("15", -1).fixed() == "0.015");
  CHECK(decimal("15", 4).fixed(1) == "1500.0");
  CHECK(decimal("", 0).fixed() == "0");
  CHECK(decimal("15", 7).scientific('e') == "1.5e+06");
  CHECK(decimal("15", -11).scientific(3, 'E') == "1.500E-12");
  CHECK(decimal("", 0).scientific(2, 'e') == "0.00e+00");
}

TEST_CASE("decimal: %g chooses by the exponent") {
  CHECK(decimal("1", 6).general(-1, 'e') == "100000");
  CHECK(decimal("1", 7).general(-1, 'e') == "1e+06");
  CHECK(decimal("1", -3).general(-1, 'e') == "0.0001");
  CHECK(decimal("1", -4).general(-1, 'e') == "1e-05");
  CHECK(decimal("12345678", 4).general(3, 'G') == "1.23G+03");
  CHECK(decimal("", 0).general(4, 'e') == "0");
}
