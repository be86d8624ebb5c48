#include "runtime/hcl/value/text.hpp"

#include <unicode/uchar.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

template <class Map>
std::string map_letters(std::string_view text, Map&& map) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    append_utf8(out, map(point.value));
    at += point.length;
  }
  return out;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x80) {
      const CodePoint point = decode_utf8(text, at);
      if (point.value == 0x2028 || point.value == 0x2029) {
        out += "\\u";
        append_hex(out, point.value, 4);
      } else if (point.is_broken()) {
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
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
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
