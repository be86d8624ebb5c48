#include "runtime/text/json.hpp"

#include <optional>

#include "runtime/base/text.hpp"

namespace nomad {
namespace {

/// The code unit of four digits at `at`; none with `at` at what is no digit.
std::optional<char32_t> take_code_unit(std::string_view text, std::size_t& at) {
  char32_t value = 0;
  for (const std::size_t end = at + 4; at < end; ++at) {
    if (at >= text.size() || !is_hex_digit(text[at])) return std::nullopt;
    value = value * 16 + static_cast<char32_t>(hex_value(text[at]));
  }
  return value;
}

bool is_surrogate(char32_t c) {
  return c >= 0xD800 && c < 0xE000;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text, bool escapes_html) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const char32_t c = point.value;
    const bool is_html = c == '<' || c == '>' || c == '&';
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (c < 0x20 || c == 0x2028 || c == 0x2029 || point.is_broken()
               || (is_html && escapes_html)) {
      out += "\\u";
      append_hex(out, c, 4);
    } else {
      out += text.substr(at, point.length);
    }
    at += point.length;
  }
  out += '"';
}

std::string json_quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

bool take_json_escape(std::string_view text, std::size_t& at, std::string& out) {
  constexpr std::string_view names = "\"\\/bfnrt";
  constexpr std::string_view values = "\"\\/\b\f\n\r\t";
  if (at >= text.size()) return false;
  if (const std::size_t position = names.find(text[at]); position != std::string_view::npos) {
    out += values[position];
    ++at;
    return true;
  }
  if (text[at] != 'u') return false;
  ++at;
  const auto first = take_code_unit(text, at);
  if (!first) return false;
  char32_t c = is_surrogate(*first) ? U'\uFFFD' : *first;
  if (is_surrogate(*first) && *first < 0xDC00 && text.substr(at).starts_with("\\u")) {
    std::size_t behind = at + 2;
    const auto second = take_code_unit(text, behind);
    if (second && is_surrogate(*second) && *second >= 0xDC00) {
      c = 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00);
      at = behind;
    }
  }
  append_utf8(out, c);
  return true;
}

std::string_view skip_json_number(std::string_view text, std::size_t& at) {
  const auto take = [&](std::string_view set) {
    if (at >= text.size() || set.find(text[at]) == std::string_view::npos) return false;
    ++at;
    return true;
  };
  const auto take_digits = [&] {
    const std::size_t start = at;
    while (take("0123456789")) {
    }
    return at > start;
  };
  take("-");
  if (!take("0") && !take_digits()) return "in numeric literal";
  if (take(".") && !take_digits()) return "after decimal point in numeric literal";
  if (take("eE")) {
    take("+-");
    if (!take_digits()) return "in exponent of numeric literal";
  }
  return {};
}

bool is_json_number(std::string_view text) {
  std::size_t at = 0;
  return skip_json_number(text, at).empty() && at == text.size();
}

Error invalid_json_character(char c, std::string_view where) {
  // A byte is shown as the character of that number.
  return {Errc::invalid_argument, "invalid character "
                                      + quote_character(static_cast<unsigned char>(c))
                                      + (where.empty() ? "" : " ") + std::string{where}};
}

}  // namespace nomad
