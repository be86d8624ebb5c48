// Texts as Go quotes them, and as terminals may show them: the part of text.hpp that asks ICU what
// is printable, apart so that small programs go without ICU.
#include <unicode/uchar.h>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad {
namespace {

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

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  constexpr std::uint32_t printable
      = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK | U_GC_P_MASK | U_GC_S_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & printable) != 0;
}

std::string quote(std::string_view text) {
  return quoted_as(text, false);
}

std::string quote_character(char32_t c) {
  if (c == U'\'') return "'\\''";
  if (c == U'"') return "'\"'";
  std::string text;
  append_utf8(text, c);
  text = quote(text);
  text.front() = text.back() = '\'';
  return text;
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

std::string shorten(std::string_view text) {
  constexpr std::size_t longest_text = 64 * 1024;
  constexpr std::size_t longest_word = 1024;
  constexpr std::size_t shown_of_word = 200;
  const auto cut = [](std::string_view whole, std::size_t most) {
    return std::string{utf8_prefix(whole, most)} + "... (" + std::to_string(whole.size())
           + " bytes)";
  };
  std::string out;
  for (std::size_t at = 0; at < text.size() && out.size() <= longest_text;) {
    const auto blank = std::min(text.find_first_of(ascii_space, at), text.size());
    const auto word = text.substr(at, blank - at);
    out += word.size() > longest_word ? cut(word, shown_of_word) : std::string{word};
    if (blank < text.size()) out += text[blank];
    at = blank + 1;
  }
  return out.size() > longest_text ? cut(out, longest_text) : out;
}

std::string quote_ascii(std::string_view text) {
  return quoted_as(text, true);
}

}  // namespace nomad
