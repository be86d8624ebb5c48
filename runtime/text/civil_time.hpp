// Times as people read them: the parts of an instant in a zone, and two forms of writing it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

inline constexpr std::array<std::string_view, 12> month_names{
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
/// From 0, which is Sunday.
inline constexpr std::array<std::string_view, 7> day_names{
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

/// Civil time in a zone `offset` seconds east of UTC.
struct CivilTime {
  std::int64_t year = 1;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int nanosecond = 0;
  int offset = 0;

  /// In UTC.
  static CivilTime of_unix(std::int64_t unix_nanoseconds);

  /// Whether the month has the day, and the day the time.
  bool is_valid() const;
  int weekday() const;
  /// From 1.
  int year_day() const;

  /// 1 to 12.
  int hour12() const { return hour % 12 == 0 ? 12 : hour % 12; }

  /// As if the zone were UTC.
  std::int64_t seconds_since_1970() const;
  CivilTime plus(std::int64_t nanoseconds) const;
  /// "2026-11-21T13:00:00Z", without fractions of a second.
  std::string to_rfc3339() const;
};

/// With `fill` in front until it has `width` digits; the sign, if any, is no digit.
std::string padded(std::int64_t value, std::size_t width, char fill = '0');

/// RFC 3339; the error says what part is wrong.
Result<CivilTime> parse_timestamp(std::string_view text);

/// One of YAML's timestamp forms.
std::optional<CivilTime> parse_yaml_timestamp(std::string_view text);

}  // namespace nomad
