// UTF-8 in small: decoding one code point and the character classes that HCL's grammar uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nomad::hcl {

/// Length of the sequence that starts at `text[at]` as the grammar counts (any lead byte with as
/// many continuation bytes as it asks for), or 0 when it is broken.
std::size_t sequence_length(std::string_view text, std::size_t at);

struct CodePoint {
  char32_t value = 0;      ///< U+FFFD for an invalid sequence
  std::size_t length = 1;  ///< bytes
};

/// The code point at `text[at]`; an invalid byte is U+FFFD of length 1.
CodePoint decode(std::string_view text, std::size_t at);
void append_utf8(std::string& out, char32_t code_point);
bool is_ascii(std::string_view text);

bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);
/// Go's unicode.IsSpace.
bool is_space(char32_t c);

std::string_view trim_left_space(std::string_view text);
std::string_view trim_right_space(std::string_view text);

/// `text` as valid UTF-8 in Unicode normal form C.
std::string normalized(std::string_view text);

}  // namespace nomad::hcl
