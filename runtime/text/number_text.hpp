// Numbers as Go writes and reads them (strconv), and Go's quoted literals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

/// Go's strconv.FormatFloat: `format` is one of e E f g G b x X; with a `precision` of -1 as many
/// digits as it takes to read the same number back. "NaN", "+Inf", "-Inf".
std::string format_number(double value, char format = 'g', int precision = -1);

/// Why a text is no number.
enum class NumberFault : std::uint8_t { syntax, range };

template <class T>
struct ParsedNumber {
  T value{};  ///< With `range`, the nearest.
  std::optional<NumberFault> fault{};
};

/// strconv.ParseInt with base 10, or with base 0: "0x1f", "0b1", "0o7", "017", "1_000".
ParsedNumber<std::int64_t> parse_integer(std::string_view text, int base);
ParsedNumber<std::uint64_t> parse_natural(std::string_view text, int base);
/// strconv.ParseFloat: also "inf", "nan", hexadecimal, and underscores where base 0 has them.
ParsedNumber<double> parse_number(std::string_view text);

// The same, and strconv.ParseBool, with Go's errors: `strconv.ParseInt: parsing "x": invalid
// syntax`.
Result<bool> parse_bool(std::string_view text);
Result<std::int64_t> parse_int(std::string_view text, int base);
Result<std::uint64_t> parse_uint(std::string_view text, int base);
Result<double> parse_float(std::string_view text);

/// The whole text is a literal in double or back quotes; none if it is not well formed.
std::optional<std::string> unquote(std::string_view literal);

/// The character of a literal in single quotes.
std::optional<char32_t> unquote_character(std::string_view literal);

}  // namespace nomad
