#include "runtime/base/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <unicode/utf8.h>

namespace nomad {

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  auto position = static_cast<std::int32_t>(0);
  const std::size_t rest = std::min<std::size_t>(text.size() - at, 4);
  UChar32 value = 0;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data() + at);
  U8_NEXT(bytes, position, static_cast<std::int32_t>(rest), value);
  if (value < 0) return {0xFFFD, 1};
  return {static_cast<char32_t>(value), static_cast<std::size_t>(position)};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto c = static_cast<std::uint32_t>(code_point);
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6U));
    out += static_cast<char>(0x80 | (c & 0x3FU));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12U));
    out += static_cast<char>(0x80 | ((c >> 6U) & 0x3FU));
    out += static_cast<char>(0x80 | (c & 0x3FU));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18U));
    out += static_cast<char>(0x80 | ((c >> 12U) & 0x3FU));
    out += static_cast<char>(0x80 | ((c >> 6U) & 0x3FU));
    out += static_cast<char>(0x80 | (c & 0x3FU));
  }
}

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    out += point.value;
    at += point.length;
  }
  return out;
}

std::string to_utf8(std::u32string_view code_points) {
  std::string out;
  for (const char32_t c : code_points)
    append_utf8(out, c);
  return out;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (point.is_broken()) return false;
    at += point.length;
  }
  return true;
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080'8080'8080'8080ULL) != 0) return false;
  }
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto is_inside
      = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80; };
  std::size_t end = most;
  while (end > 0 && most - end < 3 && is_inside(end))
    --end;
  return text.substr(0, end);
}

}  // namespace nomad
