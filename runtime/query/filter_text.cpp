#include "runtime/query/filter_text.hpp"

#include <cstdint>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::query {
namespace {

/// Reads `digits` digits of base 8 or 16 at `text`, as an escape has them.
std::optional<std::uint32_t> read_digits(std::string_view text,
                                         std::size_t digits,
                                         std::uint32_t base) {
  if (text.size() < digits) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(0, digits)) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<std::uint32_t>(digit) >= base) return std::nullopt;
    value = value * base + static_cast<std::uint32_t>(digit);
  }
  return value;
}

/// One escape of a Go string, without its backslash; moves `rest` behind it.
bool append_escape(std::string& out, std::string_view& rest) {
  static constexpr std::string_view names = "abfnrtv\\\"";
  static constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\\"";
  if (rest.empty()) return false;
  const char c = rest.front();
  if (const auto known = names.find(c); known != std::string_view::npos) {
    out += meanings[known];
    rest.remove_prefix(1);
    return true;
  }
  const bool is_octal = c >= '0' && c <= '7';
  const std::size_t size = is_octal ? 3 : c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (size == 0) return false;
  const auto code = read_digits(rest.substr(is_octal ? 0 : 1), size, is_octal ? 8 : 16);
  if (!code || (is_octal && *code > 255)) return false;
  const bool is_text = c == 'u' || c == 'U';
  if (is_text && (*code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000))) return false;
  if (is_text)
    append_utf8(out, *code);
  else
    out += static_cast<char>(*code);
  rest.remove_prefix(size + (is_octal ? 0 : 1));
  return true;
}

}  // namespace

std::optional<std::string> unquote(std::string_view quoted) {
  auto rest = quoted.substr(1, quoted.size() - 2);
  std::string out;
  if (quoted.front() == '`') {
    for (const char c : rest)
      if (c != '\r') out += c;
    return out;
  }
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '\n') return std::nullopt;
    if (c != '\\')
      out += c;
    else if (!append_escape(out, rest))
      return std::nullopt;
  }
  return out;
}

std::string unescape_pointer(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const bool escapes = segment[i] == '~' && i + 1 < segment.size();
    if (escapes && (segment[i + 1] == '0' || segment[i + 1] == '1'))
      out += segment[++i] == '0' ? '~' : '/';
    else
      out += segment[i];
  }
  return out;
}

}  // namespace nomad::query
