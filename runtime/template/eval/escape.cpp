#include "runtime/template/eval/escape.hpp"

#include <cstdint>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::templates {
namespace {

constexpr std::string_view upper_digits = "0123456789ABCDEF";

void append_upper_hex(std::string& out, std::uint32_t value, int least) {
  std::string digits;
  for (; value != 0 || static_cast<int>(digits.size()) < least; value >>= 4U)
    digits.insert(digits.begin(), upper_digits[value & 0xFU]);
  out += digits;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\0':
        out += "\xEF\xBF\xBD";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_js(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const char32_t c = point.value;
    if (c == '\\' || c == '\'' || c == '"') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == '=') {
      out += "\\u00";
      append_upper_hex(out, c, 2);
    } else if (c >= 0x80 && !is_printable(c)) {
      out += "\\u";
      append_upper_hex(out, c, 4);
    } else {
      out += text.substr(at, point.length);
    }
    at += point.length;
  }
  return out;
}

}  // namespace nomad::templates
