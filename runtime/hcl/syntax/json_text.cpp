#include "runtime/hcl/syntax/json_text.hpp"

#include <cstdint>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

/// The code unit of `\uXXXX` at `at`; nothing with `at` behind the offending byte.
std::optional<std::uint32_t> code_unit(std::string_view text, std::size_t& at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    if (at >= text.size()) return std::nullopt;
    const int digit = hex_value(text[at++]);
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

/// After `\u`: one code point, pairing surrogates.
bool unicode_escape(std::string_view text, std::size_t& at, std::string& out) {
  const auto first = code_unit(text, at);
  if (!first) return false;
  char32_t point = *first;
  if (*first >= 0xD800 && *first <= 0xDFFF) {
    point = 0xFFFD;
    std::size_t next = at;
    if (*first < 0xDC00 && text.substr(at).starts_with("\\u")) {
      next += 2;
      const auto second = code_unit(text, next);
      if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
        point = 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00);
        at = next;
      }
    }
  }
  append_utf8(out, point);
  return true;
}

}  // namespace

bool is_json_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at]))
      ++at;
    return at > first;
  };
  if (at < text.size() && text[at] == '-') ++at;
  const bool zero = at < text.size() && text[at] == '0';
  const std::size_t first = at;
  if (!digits() || (zero && at > first + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

std::optional<std::size_t> unescape_json(std::string_view text, std::string& out) {
  std::size_t at = 1;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') return at + 1 == text.size() ? std::nullopt : std::optional{at + 2};
    if (static_cast<unsigned char>(c) < 0x20) return at + 1;
    if (static_cast<unsigned char>(c) >= 0x80) {
      const CodePoint point = decode_utf8(text, at);
      append_utf8(out, point.value);
      at += point.length;
      continue;
    }
    ++at;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at >= text.size()) return at;
    const char selector = text[at++];
    if (selector == 'u') {
      if (!unicode_escape(text, at, out)) return at;
    } else if (const char plain = simple_escape(selector); plain != '\0') {
      out += plain;
    } else {
      return at;
    }
  }
  return at;
}

}  // namespace nomad::hcl
