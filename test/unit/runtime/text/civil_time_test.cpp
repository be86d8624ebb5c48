#include "runtime/text/civil_time.hpp"

#include <doctest/doctest.h>

using namespace nomad;

namespace {

std::string timestamp(std::string_view text) {
  const auto time = parse_timestamp(text);
  return time ? time->to_rfc3339() : time.error().what;
}

std::string yaml_timestamp(std::string_view text) {
  const auto time = parse_yaml_timestamp(text);
  return time ? time->to_rfc3339() : "none";
}

}  // namespace

TEST_CASE("civil time: of an instant and back") {
  const CivilTime time = CivilTime::of_unix(1'709'210'096'000'000'005);
  CHECK(time.to_rfc3339() == "2024-02-29T12:34:56Z");
  CHECK(time.nanosecond == 5);
  CHECK(time.weekday() == 4);
  CHECK(time.year_day() == 60);
  CHECK(time.hour12() == 12);
  CHECK(time.seconds_since_1970() == 1'709'210'096);
  CHECK(CivilTime::of_unix(-1).to_rfc3339() == "1969-12-31T23:59:59Z");
  CHECK(CivilTime::of_unix(-1).nanosecond == 999'999'999);
}

TEST_CASE("civil time: adding carries over days, in the same zone") {
  const auto time = parse_timestamp("2023-12-31T23:59:59.9+05:30");
  CHECK(time->plus(200'000'000).to_rfc3339() == "2024-01-01T00:00:00+05:30");
  CHECK(time->plus(-86'400'000'000'000).to_rfc3339() == "2023-12-30T23:59:59+05:30");
}

TEST_CASE("civil time: mistakes name the part") {
  constexpr std::string_view what = "not a valid RFC3339 timestamp: ";
  const auto wrong = [&](std::string_view why) { return std::string{what} + std::string{why}; };
  CHECK(timestamp("2023-13-01T00:00:00Z") == wrong("cannot use \"-01T00:00:00Z\" as month"));
  CHECK(timestamp("2023-01-01 00:00:00Z") == wrong("missing required time introducer 'T'"));
  CHECK(timestamp("2023-01") == wrong("end of string where \"-\" is expected"));
  CHECK(timestamp("2023-02-29T00:00:00Z") == wrong("day out of range"));
  CHECK(timestamp("2023-01-01T00:00:00Zx") == wrong("cannot use \"x\" as timestamp segment"));
}

TEST_CASE("civil time: YAML's forms") {
  CHECK(yaml_timestamp("2001-12-14") == "2001-12-14T00:00:00Z");
  CHECK(yaml_timestamp("2001-1-2t3:4:5.6-05:00") == "2001-01-02T03:04:05-05:00");
  CHECK(yaml_timestamp("2001-12-14 21:59:43.10") == "2001-12-14T21:59:43Z");
  CHECK(yaml_timestamp("2001-02-30") == "none");
  CHECK(yaml_timestamp("2001") == "none");
}

TEST_CASE("civil time: numbers are padded in front") {
  CHECK(padded(7, 3) == "007");
  CHECK(padded(-7, 3) == "-007");
  CHECK(padded(7, 2, ' ') == " 7");
  CHECK(padded(1234, 2) == "1234");
}
