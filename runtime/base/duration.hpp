// Durations as Go writes them, because job files, configuration and the API do: "1h30m", "1.5s",
// "300ms". Amounts are nanoseconds.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

using Nanoseconds = std::chrono::nanoseconds;

/// Go's time.ParseDuration: signs, fractions and the units ns, us, µs, ms, s, m, h. Errors have
/// Go's text: `time: invalid duration "x"`, `time: missing unit in duration "5"`,
/// `time: unknown unit "q" in duration "5q"`.
Result<Nanoseconds> parse_duration(std::string_view text);

/// Go's Duration.String(): "1h0m0s", "1.5s", "300ms", "0s".
std::string format_duration(Nanoseconds duration);

/// RFC 3339 in UTC with as many fractional digits as needed: "2026-11-21T13:00:00.5Z".
/// 0 is Go's zero time, "0001-01-01T00:00:00Z".
std::string format_rfc3339(std::int64_t unix_nanoseconds);

/// The reverse of `format_rfc3339`; accepts any zone offset.
Result<std::int64_t> parse_rfc3339(std::string_view text);

}  // namespace nomad
