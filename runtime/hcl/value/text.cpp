#include "runtime/hcl/value/text.hpp"

#include <array>

#include <unicode/uchar.h>

#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_hex(std::string& out, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += hex_digits[(value >> static_cast<unsigned>(shift)) & 0xFU];
}

/// Go's unicode.IsPrint.
bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  constexpr std::uint32_t printable
      = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK | U_GC_P_MASK | U_GC_S_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & printable) != 0;
}

char short_escape(char32_t c) {
  switch (c) {
    case '\a':
      return 'a';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    case '"':
    case '\\':
      return static_cast<char>(c);
    default:
      return '\0';
  }
}

template <class Map>
std::string map_letters(std::string_view text, Map&& map) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    append_utf8(out, map(point.value));
    at += point.length;
  }
  return out;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    const bool broken = point.value == 0xFFFD && point.length == 1;
    if (const char escape = short_escape(point.value); escape != '\0') {
      out += '\\';
      out += escape;
    } else if (broken || (point.value < 0x20) || point.value == 0x7F) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text[at]), 2);
    } else if (is_printable(point.value)) {
      out += text.substr(at, point.length);
    } else if (point.value < 0x10000) {
      out += "\\u";
      append_hex(out, point.value, 4);
    } else {
      out += "\\U";
      append_hex(out, point.value, 8);
    }
    at += point.length;
  }
  return out + '"';
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x80) {
      const CodePoint point = decode(text, at);
      if (point.value == 0x2028 || point.value == 0x2029) {
        out += "\\u";
        append_hex(out, point.value, 4);
      } else if (point.value == 0xFFFD && point.length == 1) {
        out += "\\ufffd";
      } else {
        out += text.substr(at, point.length);
      }
      at += point.length;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += '\\';
      out += short_escape(c);
    } else if (c < 0x20 || c == '<' || c == '>' || c == '&') {
      out += "\\u";
      append_hex(out, c, 4);
    } else {
      out += static_cast<char>(c);
    }
    ++at;
  }
  return out + '"';
}

std::string upper_case(std::string_view text) {
  return map_letters(
      text, [](char32_t c) { return static_cast<char32_t>(u_toupper(static_cast<UChar32>(c))); });
}

std::string lower_case(std::string_view text) {
  return map_letters(
      text, [](char32_t c) { return static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))); });
}

std::string title_case(std::string_view text) {
  // A word begins after anything that is no letter, digit, underscore or apostrophe-free mark.
  char32_t previous = ' ';
  return map_letters(text, [&previous](char32_t c) {
    const auto separates = [](char32_t p) {
      if (p < 0x80)
        return !((p >= '0' && p <= '9') || (p >= 'a' && p <= 'z') || (p >= 'A' && p <= 'Z')
                 || p == '_');
      if (u_isalpha(static_cast<UChar32>(p)) != 0 || u_isdigit(static_cast<UChar32>(p)) != 0)
        return false;
      return is_space(p);
    };
    const bool begins = separates(previous);
    previous = c;
    return begins ? static_cast<char32_t>(u_totitle(static_cast<UChar32>(c))) : c;
  });
}

}  // namespace nomad::hcl
