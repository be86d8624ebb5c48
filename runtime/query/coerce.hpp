// Texts to numbers and truth values as Go's strconv reads them, with its error texts: what filters
// and query parameters are compared by. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::query {

/// `1 t T TRUE true True 0 f F FALSE false False`. Error:
/// `strconv.ParseBool: parsing "x": invalid syntax`.
Result<bool> parse_bool(std::string_view text);

/// Base 10, or by prefix 0x, 0o, 0, 0b. Errors: `strconv.ParseInt: parsing "x": invalid syntax`,
/// `… value out of range`.
Result<std::int64_t> parse_int(std::string_view text);
Result<std::uint64_t> parse_uint(std::string_view text);

Result<double> parse_float(std::string_view text);

}  // namespace nomad::query
