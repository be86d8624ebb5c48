#include "runtime/base/text.hpp"

#include <algorithm>
#include <charconv>

#include <unicode/uchar.h>

#include "runtime/base/utf8.hpp"

namespace nomad {
namespace {

/// Go's unicode.IsPrint.
bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  constexpr std::uint32_t printable
      = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK | U_GC_P_MASK | U_GC_S_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & printable) != 0;
}

/// What stands behind the backslash for this character; 0 when it has no such escape.
char short_escape(char32_t c) {
  constexpr std::string_view escaped = "\a\b\f\n\r\t\v\"\\";
  constexpr std::string_view names = "abfnrtv\"\\";
  const auto at = c < 0x80 ? escaped.find(static_cast<char>(c)) : std::string_view::npos;
  return at == std::string_view::npos ? '\0' : names[at];
}

/// A character, or a byte that is none, as Go writes what is not to be shown as it is.
void append_escaped(std::string& out, CodePoint point, char byte) {
  const bool is_byte = point.value < 0x80 || point.is_broken();
  const int digits = is_byte ? 2 : point.value < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  append_hex(out, is_byte ? static_cast<unsigned char>(byte) : point.value, digits);
}

std::string quoted_as(std::string_view text, bool ascii) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (const char escape = short_escape(point.value); escape != '\0') {
      out += '\\';
      out += escape;
    } else if (is_printable(point.value) && !point.is_broken() && (!ascii || point.value < 0x80)) {
      out += text.substr(at, point.length);
    } else {
      append_escaped(out, point, text[at]);
    }
    at += point.length;
  }
  return out + '"';
}

}  // namespace

std::string to_lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) { return to_lower(c); });
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) { return to_upper(c); });
  return out;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  return is_alphanumeric(text.front()) && is_alphanumeric(text.back())
         && std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::uint64_t leading_number(std::string_view text) {
  text = trim(text);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> fields(std::string_view text, std::string_view blanks) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return parts;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += hex_digits[(value >> static_cast<unsigned>(shift)) & 0xFU];
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes)
    append_hex(out, static_cast<unsigned char>(c), 2);
  return out;
}

std::string quote(std::string_view text) {
  return quoted_as(text, false);
}

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto point = decode_utf8(text, at);
    const auto c = point.value;
    const bool is_control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0);
    if (is_control || point.is_broken())
      append_escaped(out, point, text[at]);
    else
      out += text.substr(at, point.length);
    at += point.length;
  }
  return out;
}

std::string quote_ascii(std::string_view text) {
  return quoted_as(text, true);
}

}  // namespace nomad
