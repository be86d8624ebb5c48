#include "runtime/base/duration.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace std::chrono_literals;
using nomad::format_duration;
using nomad::Nanoseconds;
using nomad::parse_duration;

TEST_CASE("duration: reads what Go reads") {
  const std::pair<const char*, Nanoseconds> cases[] = {
      {"0", 0ns},
      {"5s", 5s},
      {"1h30m", 90min},
      {"1.5s", 1500ms},
      {"-3ms", -3ms},
      {"+7us", 7us},
      {"2\u00b5s", 2us},
      {".5m", 30s},
      {"1h1m1s", 3661s},
      {"0.1ns", 0ns},
      {"2562047h47m16s", 9223372036s},
  };
  for (const auto& [text, expected] : cases) {
    const auto& shown = text;
    CAPTURE(shown);
    auto parsed = parse_duration(text);
    REQUIRE(parsed.has_value());
    CHECK(*parsed == expected);
  }
}

TEST_CASE("duration: refuses what Go refuses, in Go's words") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "time: invalid duration \"\""},
      {"5", "time: missing unit in duration \"5\""},
      {"5q", "time: unknown unit \"q\" in duration \"5q\""},
      {"s", "time: invalid duration \"s\""},
      {"\"\u00e9\n", "time: invalid duration \"\\\"\\xc3\\xa9\\x0a\""},
      {"9999999h", "time: invalid duration \"9999999h\""},
  };
  for (const auto& [text, expected] : cases) {
    const auto& shown = text;
    CAPTURE(shown);
    auto parsed = parse_duration(text);
    REQUIRE(parsed.has_error());
    CHECK(parsed.error().what == expected);
  }
}

TEST_CASE("duration: is written as Go writes it, and reads back the same") {
  CHECK(format_duration(0ns) == "0s");
  CHECK(format_duration(90min) == "1h30m0s");
  CHECK(format_duration(1500ms) == "1.5s");
  CHECK(format_duration(300ms) == "300ms");
  CHECK(format_duration(-1us) == "-1\u00b5s");
  CHECK(format_duration(15234us) == "15.234ms");

  const std::uint64_t seed = 20261121;
  CAPTURE(seed);
  nomad::Random random{seed};
  for (int i = 0; i < 1000; ++i) {
    const Nanoseconds value{static_cast<std::int64_t>(random.next() >> (random.below(50) + 12))};
    CAPTURE(value.count());
    CHECK(*parse_duration(format_duration(value)) == value);
  }
}

TEST_CASE("rfc3339: round trips, and knows Go's zero time") {
  CHECK(nomad::format_rfc3339(0) == "0001-01-01T00:00:00Z");
  CHECK(nomad::format_rfc3339(1'700'000'000'500'000'000) == "2023-11-14T22:13:20.5Z");
  CHECK(*nomad::parse_rfc3339("2023-11-14T22:13:20.5Z") == 1'700'000'000'500'000'000);
  CHECK(*nomad::parse_rfc3339("2023-11-14T23:13:20.5+01:00") == 1'700'000'000'500'000'000);
  CHECK(*nomad::parse_rfc3339("0001-01-01T00:00:00Z") == 0);
  for (const char* bad : {"", "2023-11-14", "2023-13-14T22:13:20Z", "2023-11-14T22:13:20"}) {
    CAPTURE(bad);
    CHECK(nomad::parse_rfc3339(bad).error().what
          == "parsing time \"" + std::string{bad} + "\": not in the form of RFC 3339");
  }
}
