#include "runtime/query/coerce.hpp"

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "runtime/base/text.hpp"

namespace nomad::query {
namespace {

Error refuse(std::string_view function, std::string_view text, std::string_view why) {
  return {Errc::invalid_argument, "strconv." + std::string{function} + ": parsing \""
                                      + std::string{text} + "\": " + std::string{why}};
}

/// Reads the digits behind sign and prefix; the error is the condition alone.
std::errc read_digits(std::string_view digits, int base, std::uint64_t& number) {
  std::string plain;
  plain.reserve(digits.size());
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      plain += digits[i];
    } else if (i + 1 == digits.size() || digits[i + 1] == '_') {
      return std::errc::invalid_argument;
    }
  }
  const auto* end = plain.data() + plain.size();
  const auto [stopped, failure] = std::from_chars(plain.data(), end, number, base);
  if (failure != std::errc{}) return failure;
  return stopped == end ? std::errc{} : std::errc::invalid_argument;
}

std::errc read_unsigned(std::string_view text, std::uint64_t& number) {
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = text[1];
    const bool is_octal = kind == 'o' || kind == 'O' || is_digit(kind) || kind == '_';
    base = is_octal ? 8 : kind == 'x' || kind == 'X' ? 16 : kind == 'b' || kind == 'B' ? 2 : 10;
    text.remove_prefix(is_digit(kind) ? 1 : base == 10 ? 0 : kind == '_' ? 1 : 2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  } else if (text.find('_') != std::string_view::npos) {
    return std::errc::invalid_argument;  // Go allows them behind a prefix only
  }
  return read_digits(text, base, number);
}

}  // namespace

Result<bool> parse_bool(std::string_view text) {
  for (const auto* yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const auto* no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return refuse("ParseBool", text, "invalid syntax");
}

Result<std::uint64_t> parse_uint(std::string_view text) {
  std::uint64_t number = 0;
  const auto failure = read_unsigned(text, number);
  if (failure == std::errc::result_out_of_range)
    return refuse("ParseUint", text, "value out of range");
  if (failure != std::errc{}) return refuse("ParseUint", text, "invalid syntax");
  return number;
}

Result<std::int64_t> parse_int(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  auto digits = text;
  if (is_negative || text.starts_with('+')) digits.remove_prefix(1);
  std::uint64_t number = 0;
  const auto failure = read_unsigned(digits, number);
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (failure == std::errc::result_out_of_range
      || (failure == std::errc{} && number > limit + (is_negative ? 1 : 0)))
    return refuse("ParseInt", text, "value out of range");
  if (failure != std::errc{}) return refuse("ParseInt", text, "invalid syntax");
  return static_cast<std::int64_t>(is_negative ? std::uint64_t{0} - number : number);
}

Result<double> parse_float(std::string_view text) {
  auto digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double number = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stopped, failure] = std::from_chars(digits.data(), end, number);
  if (failure == std::errc::result_out_of_range)
    return refuse("ParseFloat", text, "value out of range");
  if (failure != std::errc{} || stopped != end) return refuse("ParseFloat", text, "invalid syntax");
  return number;
}

}  // namespace nomad::query
