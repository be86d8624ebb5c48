#include "runtime/text/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/text/decimal.hpp"

namespace nomad {
namespace {

/// std::to_chars, however much room it takes. 1e308 has 309 digits before its point.
template <class... How>
std::string to_text(double value, How... how) {
  std::string out(2048, '\0');
  for (;;) {
    const auto [end, error] = std::to_chars(out.data(), out.data() + out.size(), value, how...);
    if (error == std::errc{}) {
      out.resize(static_cast<std::size_t>(end - out.data()));
      return out;
    }
    out.resize(out.size() * 16);
  }
}

/// With that many digits behind the first; with -1 as many as it takes to read it back.
Decimal rounded(double value, int precision) {
  const std::string scientific = precision < 0
                                     ? to_text(value, std::chars_format::scientific)
                                     : to_text(value, std::chars_format::scientific, precision);
  Decimal out;
  const std::size_t e = scientific.find('e');
  for (const char c : scientific.substr(0, e))
    if (c != '.') out.digits += c;
  out.point = std::atoi(scientific.c_str() + e + 1) + 1;
  out.strip_zeros();
  return out;
}

/// "1p-2": the mantissa's last bit is that of a double.
std::string binary(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  exponent = mantissa == 0 ? -1074 : exponent - 53;
  return std::to_string(mantissa) + 'p' + (exponent < 0 ? "-" : "+")
         + std::to_string(std::abs(exponent));
}

std::string hexadecimal(double value, int precision, bool upper) {
  std::string text = precision < 0 ? to_text(value, std::chars_format::hex)
                                   : to_text(value, std::chars_format::hex, precision);
  const std::size_t p = text.find('p');
  if (text.size() == p + 3) text.insert(p + 2, "0");
  text = "0x" + text;
  return upper ? to_upper(text) : text;
}

/// Whether underscores stand only between digits, or behind the prefix of a base.
bool underscores_fit(std::string_view text) {
  char last = '^';
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  bool hex = false;
  if (text.size() >= at + 2 && text[at] == '0') {
    const char base = to_lower(text[at + 1]);
    if (base == 'b' || base == 'o' || base == 'x') {
      last = '0';
      hex = base == 'x';
      at += 2;
    }
  }
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_digit(c) || (hex && is_hex_digit(c))) {
      last = '0';
    } else if (c == '_') {
      if (last != '0') return false;
      last = '_';
    } else {
      if (last == '_') return false;
      last = '!';
    }
  }
  return last != '_';
}

std::string without_underscores(std::string_view text) {
  std::string out{text};
  std::erase(out, '_');
  return out;
}

/// Takes the prefix of a base off.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = to_lower(digits[1]);
  const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

}  // namespace

std::string format_number(double value, char format, int precision) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  const std::string sign = std::signbit(value) ? "-" : "";
  value = std::fabs(value);
  switch (format) {
    case 'e':
    case 'E': {
      const Decimal number = rounded(value, precision);
      return sign
             + (precision < 0 ? number.scientific(format) : number.scientific(precision, format));
    }
    case 'f':
      if (precision >= 0) return sign + to_text(value, std::chars_format::fixed, precision);
      return sign + rounded(value, -1).fixed();
    case 'b':
      return sign + binary(value);
    case 'x':
    case 'X':
      return sign + hexadecimal(value, precision, format == 'X');
    default:
      // Of no digits, one is shown.
      return sign
             + rounded(value, precision < 0 ? -1 : std::max(precision, 1) - 1)
                   .general(precision, format == 'G' ? 'E' : 'e');
  }
}

ParsedNumber<std::uint64_t> parse_natural(std::string_view text, int base) {
  const ParsedNumber<std::uint64_t> bad{0, NumberFault::syntax};
  std::string plain;
  if (base == 0 && text.find('_') != std::string_view::npos) {
    if (!underscores_fit(text)) return bad;
    plain = without_underscores(text);
    text = plain;
  }
  if (base == 0) base = take_base(text);
  if (text.empty()) return bad;
  ParsedNumber<std::uint64_t> out;
  const auto [end, error]
      = std::from_chars(text.data(), text.data() + text.size(), out.value, base);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return bad;
  if (error == std::errc::result_out_of_range)
    return {std::numeric_limits<std::uint64_t>::max(), NumberFault::range};
  return out;
}

ParsedNumber<std::int64_t> parse_integer(std::string_view text, int base) {
  const bool negative = !text.empty() && text[0] == '-';
  std::string_view digits = text;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) digits.remove_prefix(1);
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) return {0, NumberFault::syntax};
  const auto found = parse_natural(digits, base);
  if (found.fault == NumberFault::syntax) return {0, NumberFault::syntax};
  constexpr auto limit = std::uint64_t{1} << 63U;
  if (!negative && found.value >= limit)
    return {std::numeric_limits<std::int64_t>::max(), NumberFault::range};
  if (negative && found.value > limit)
    return {std::numeric_limits<std::int64_t>::min(), NumberFault::range};
  return {static_cast<std::int64_t>(negative ? 0 - found.value : found.value), std::nullopt};
}

ParsedNumber<double> parse_number(std::string_view text) {
  const ParsedNumber<double> bad{0, NumberFault::syntax};
  std::string plain;
  if (text.find('_') != std::string_view::npos) {
    if (!underscores_fit(text)) return bad;
    std::string_view digits = text;
    if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
    if (!digits.starts_with("0x") && !digits.starts_with("0X")) return bad;
    plain = without_underscores(text);
    text = plain;
  }
  std::string_view digits = text;
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) digits.remove_prefix(1);
  const std::string lower = to_lower(digits);
  const auto infinite = std::numeric_limits<double>::infinity();
  if (lower == "inf" || lower == "infinity") return {negative ? -infinite : infinite, std::nullopt};
  if (lower == "nan") return {std::nan(""), std::nullopt};
  const bool hex = lower.starts_with("0x");
  if (hex) {
    if (lower.find('p') == std::string::npos) return bad;
    digits.remove_prefix(2);
  }
  if (digits.empty()
      || !(digits[0] == '.' || (hex ? is_hex_digit(digits[0]) : is_digit(digits[0]))))
    return bad;
  double value = 0;
  const auto [end, error]
      = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                        hex ? std::chars_format::hex : std::chars_format::general);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) return bad;
  if (error == std::errc::result_out_of_range) {
    // Too small or too large for a double: which, only the digits know.
    value = std::strtod(std::string{text.substr(negative ? 1 : 0)}.c_str(), nullptr);
    if (std::isinf(value)) return {negative ? -infinite : infinite, NumberFault::range};
  }
  return {negative ? -value : value, std::nullopt};
}

namespace {

Error refused(std::string_view function, std::string_view text, NumberFault fault) {
  return {Errc::invalid_argument,
          "strconv." + std::string{function} + ": parsing " + quote(text)
              + (fault == NumberFault::range ? ": value out of range" : ": invalid syntax")};
}

template <class T>
Result<T> checked(std::string_view function, std::string_view text, const ParsedNumber<T>& found) {
  if (found.fault) return refused(function, text, *found.fault);
  return found.value;
}

}  // namespace

Result<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return refused("ParseBool", text, NumberFault::syntax);
}

Result<std::int64_t> parse_int(std::string_view text, int base) {
  return checked("ParseInt", text, parse_integer(text, base));
}

Result<std::uint64_t> parse_uint(std::string_view text, int base) {
  return checked("ParseUint", text, parse_natural(text, base));
}

Result<double> parse_float(std::string_view text) {
  return checked("ParseFloat", text, parse_number(text));
}

namespace {

/// What a backslash escape stands for: a character, or a byte.
struct Escaped {
  char32_t value = 0;
  bool is_byte = false;
};

std::optional<Escaped> read_digits(std::string_view& text, int digits, int base, bool is_byte) {
  if (text.size() < static_cast<std::size_t>(digits)) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const int digit = hex_value(text[static_cast<std::size_t>(i)]);
    if (digit < 0 || digit >= base) return std::nullopt;
    value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
  }
  text.remove_prefix(static_cast<std::size_t>(digits));
  if (is_byte ? value > 255 : value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
    return std::nullopt;
  return Escaped{value, is_byte};
}

/// Takes the next character off a literal, an escape or not.
std::optional<Escaped> take_character(std::string_view& text, char quote) {
  if (text[0] != '\\') {
    if (text[0] == quote) return std::nullopt;
    const CodePoint point = decode_utf8(text, 0);
    const Escaped out = point.is_broken() ? Escaped{static_cast<unsigned char>(text[0]), true}
                                          : Escaped{point.value, false};
    text.remove_prefix(point.length);
    return out;
  }
  if (text.size() < 2) return std::nullopt;
  const char letter = text[1];
  constexpr std::string_view names = "abfnrtv\\";
  constexpr std::string_view values = "\a\b\f\n\r\t\v\\";
  if (const std::size_t at = names.find(letter); at != std::string_view::npos) {
    text.remove_prefix(2);
    return Escaped{static_cast<char32_t>(values[at]), false};
  }
  if (letter == quote) {
    text.remove_prefix(2);
    return Escaped{static_cast<char32_t>(quote), false};
  }
  if (letter >= '0' && letter <= '7') {
    text.remove_prefix(1);
    return read_digits(text, 3, 8, true);
  }
  text.remove_prefix(2);
  if (letter == 'x') return read_digits(text, 2, 16, true);
  if (letter == 'u') return read_digits(text, 4, 16, false);
  if (letter == 'U') return read_digits(text, 8, 16, false);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back()) return std::nullopt;
  std::string_view text = literal.substr(1, literal.size() - 2);
  std::string out;
  if (literal.front() == '`') {
    if (text.find('`') != std::string_view::npos) return std::nullopt;
    std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return c != '\r'; });
    return out;
  }
  if (literal.front() != '"' || text.find('\n') != std::string_view::npos) return std::nullopt;
  while (!text.empty()) {
    const auto next = take_character(text, '"');
    if (!next) return std::nullopt;
    if (next->is_byte)
      out += static_cast<char>(next->value);
    else
      append_utf8(out, next->value);
  }
  return out;
}

std::optional<char32_t> unquote_character(std::string_view literal) {
  std::string_view text = literal.substr(1);
  if (text.empty()) return std::nullopt;
  const auto found = take_character(text, '\'');
  if (!found || text != "'") return std::nullopt;
  return found->value;
}

}  // namespace nomad
