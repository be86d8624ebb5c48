#include "runtime/hcl/value/number.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

namespace nomad::hcl {

namespace {

Number number(std::string_view text) {
  const auto out = Number::parse(text);
  REQUIRE_MESSAGE(out.has_value(), text);
  return *out;
}

}  // namespace

TEST_CASE("Number: text to number to the shortest text") {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"007", "7"},
      {"1.10", "1.1"},
      {"3.0", "3"},
      {"1e6", "1000000"},
      {"1E-3", "0.001"},
      {"2.5e-3", "0.0025"},
      {"-0.5", "-0.5"},
      {"+7", "7"},
      {".5", "0.5"},
      {"5.", "5"},
      {"0.1", "0.1"},
      {"inf", "+Inf"},
      {"-Inf", "-Inf"},
      {"1p3", "8"},
      {"9007199254740993", "9007199254740993"},
      {"123456789012345678901234567890.125", "123456789012345678901234567890.125"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"-9223372036854775808", "-9223372036854775808"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.first);
    CHECK(number(each.first).to_string() == each.second);
  }
}

TEST_CASE("Number: text that is no number") {
  for (const char* text : {"", " 5", "5 ", "0x10", "1_000", "1e", "1.2.3", "--1", "e5", ".", "abc",
                           "1e999999999999"}) {
    CAPTURE(text);
    CHECK(!Number::parse(text).has_value());
  }
}

TEST_CASE("Number: a literal has 512 bits, a computed whole number 64") {
  const auto third = Number::divide(number("1"), number("3"));
  REQUIRE(third.has_value());
  CHECK(third->to_string() == "0." + std::string(154, '3') + "5");

  const auto coarse = Number::divide(Number{1}, Number{3});
  REQUIRE(coarse.has_value());
  CHECK(coarse->to_string() == "0.33333333333333333334");
}

TEST_CASE("Number: arithmetic agrees with 64-bit integers where these suffice") {
  std::mt19937_64 random{7};
  for (int i = 0; i < 2'000; ++i) {
    const auto a = static_cast<std::int64_t>(random() >> (random() % 63)) - 1000;
    const auto b = static_cast<std::int64_t>(random() >> (random() % 63)) - 1000;
    CAPTURE(a);
    CAPTURE(b);
    if (std::int64_t sum = 0; !__builtin_add_overflow(a, b, &sum))
      CHECK(Number::add(Number{a}, Number{b})->to_int64() == sum);
    CHECK((Number{a} < Number{b}) == (a < b));
    if (std::int64_t product = 0; !__builtin_mul_overflow(a, b, &product))
      CHECK(Number::multiply(Number{a}, Number{b})->to_int64() == product);
    CHECK(number(std::to_string(a)) == Number{a});
  }
}

TEST_CASE("Number: doubles survive, and text is the shortest that gives them back") {
  std::mt19937_64 random{9};
  std::uniform_real_distribution<double> values{-1e6, 1e6};
  for (int i = 0; i < 500; ++i) {
    const double value = values(random);
    const Number exact = Number::from_double(value);
    CHECK(exact.to_double() == value);
    CHECK(std::stod(exact.to_string()) == value);
  }
}

TEST_CASE("Number: whole and fractional") {
  CHECK(number("5").is_whole());
  CHECK(number("5.0").to_int64() == 5);
  CHECK(!number("5.5").is_whole());
  CHECK(number("-1.5").floor().to_int64() == -2);
  CHECK(number("-1.5").ceil().to_int64() == -1);
  CHECK(number("1.5").floor().to_int64() == 1);
  CHECK(number("1.5").ceil().to_int64() == 2);
  CHECK(number("18446744073709551615").to_uint64() == std::numeric_limits<std::uint64_t>::max());
  CHECK(!number("18446744073709551616").to_uint64().has_value());
  CHECK(!number("9223372036854775808").to_int64().has_value());
}

TEST_CASE("Number: operations without a value") {
  const Number infinity = Number::infinity(false);
  CHECK(!Number::divide(number("0"), number("0")).has_value());
  CHECK(!Number::subtract(infinity, infinity).has_value());
  CHECK(!Number::multiply(infinity, number("0")).has_value());
  CHECK(Number::divide(number("1"), number("0"))->is_infinite());
  CHECK(Number::modulo(number("7"), number("0"))->to_int64() == 7);
}

TEST_CASE("Number: growing without bound ends in infinity") {
  Number value = number("1e1000");
  for (int i = 0; i < 20; ++i)
    value = *Number::multiply(value, value);

  CHECK(value.is_infinite());
}

TEST_CASE("Number: formats") {
  CHECK(number("1234.5678").format('e', 3) == "1.235e+03");
  CHECK(number("1234.5678").format('f', 2) == "1234.57");
  CHECK(number("0.00001").format('g', -1) == "1e-05");
  CHECK(number("100000").format('g', -1) == "100000");
  CHECK(number("1000000").format('g', -1) == "1e+06");
  CHECK(number("2.5").format('f', 0) == "2");
  CHECK(number("3.5").format('f', 0) == "4");
  CHECK(number("255").integer_digits(16) == "ff");
  CHECK(number("-5").integer_digits(2) == "-101");
  CHECK(Number::parse_integer("zZ", 62)->to_int64() == 35 * 62 + 61);
}

}  // namespace nomad::hcl
