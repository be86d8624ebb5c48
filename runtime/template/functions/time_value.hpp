// Go's time.Time as a value of templates, in UTC, and Go's layouts ("2006-01-02T15:04:05Z07:00").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

extern const Type time_type;

Value time_value(std::int64_t unix_nanoseconds);
bool is_time(const Value& value);
std::int64_t nanoseconds_of(const Value& time);

/// Go's Time.Unix.
std::int64_t unix_seconds(std::int64_t unix_nanoseconds);

/// Go's Time.Format, of an instant in UTC.
std::string format_time(std::string_view layout, std::int64_t unix_nanoseconds);

/// Go's time.Parse for layouts of numbers and names of months. Nothing else is understood: an
/// error.
Result<std::int64_t> parse_time(std::string_view layout, std::string_view text);

}  // namespace nomad::templates
