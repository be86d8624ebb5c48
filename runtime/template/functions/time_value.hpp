// Go's time.Time as a value of templates, and Go's layouts ("2006-01-02T15:04:05Z07:00").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

extern const Type time_type;

/// An instant, and how it is shown.
struct Moment {
  std::int64_t unix_nanoseconds = 0;
  int offset = 0;           ///< Seconds east of UTC.
  std::string zone{"UTC"};  ///< Empty: the offset is all that is known.
};

Value time_value(const Moment& moment);
Moment moment_of(const Value& time);

inline Value time_value(std::int64_t unix_nanoseconds) {
  return time_value(Moment{.unix_nanoseconds = unix_nanoseconds});
}

bool is_time(const Value& value);
std::int64_t nanoseconds_of(const Value& time);

/// Go's Time.Unix.
std::int64_t unix_seconds(std::int64_t unix_nanoseconds);

/// Go's Time.Format.
std::string format_time(std::string_view layout, const Moment& moment);

/// The same in UTC.
inline std::string format_time(std::string_view layout, std::int64_t unix_nanoseconds) {
  return format_time(layout, Moment{.unix_nanoseconds = unix_nanoseconds});
}

/// Go's time.Parse, where the machine's zone is UTC. Without a year it is 1970, and times before
/// 1678 and after 2261 are none.
Result<Moment> parse_time(std::string_view layout, std::string_view text);

}  // namespace nomad::templates
