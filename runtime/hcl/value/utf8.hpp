// The character classes that HCL's grammar uses.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/base/utf8.hpp"

namespace nomad::hcl {

/// See sequence_length, for a lead byte of 0x80 and above.
std::size_t wide_sequence_length(std::string_view text, std::size_t at);

/// Length of the sequence that starts at `text[at]` as the grammar counts (any lead byte with as
/// many continuation bytes as it asks for), or 0 when it is broken.
inline std::size_t sequence_length(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]) < 0x80 ? 1 : wide_sequence_length(text, at);
}

/// See below, for code points of 0x80 and above.
bool is_wide_identifier_start(char32_t c);
bool is_wide_identifier_part(char32_t c);

constexpr bool is_ascii_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

inline bool is_identifier_start(char32_t c) {
  return c < 0x80 ? is_ascii_letter(c) : is_wide_identifier_start(c);
}

/// By byte: whether it is an ASCII character of an identifier.
inline constexpr std::array<bool, 256> ascii_identifier_part = [] {
  std::array<bool, 256> out{};
  for (char32_t c = 0; c < 0x80; ++c)
    out[c] = is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '-';
  return out;
}();

inline bool is_identifier_part(char32_t c) {
  return c < 0x80 ? ascii_identifier_part[c] : is_wide_identifier_part(c);
}

/// `text` as valid UTF-8 in Unicode normal form C.
std::string normalized(std::string_view text);

}  // namespace nomad::hcl
