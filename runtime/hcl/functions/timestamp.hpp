// Points in time with their zone offset, as the date functions read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace nomad::hcl {

/// Civil time in a zone `offset` seconds east of UTC.
struct Timestamp {
  std::int64_t year = 1;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int nanosecond = 0;
  int offset = 0;

  /// 0 is Sunday.
  int weekday() const;
  Timestamp plus(std::int64_t nanoseconds) const;
  /// "2026-11-21T13:00:00Z", without fractions of a second.
  std::string to_rfc3339() const;
};

/// With zeros in front until it has `width` digits; the sign, if any, is no digit.
std::string padded(std::int64_t value, std::size_t width);

/// RFC 3339; the error says what part is wrong.
std::variant<Timestamp, std::string> parse_timestamp(std::string_view text);

/// One of YAML's timestamp forms, as RFC 3339.
std::optional<std::string> parse_yaml_timestamp(std::string_view text);

}  // namespace nomad::hcl
