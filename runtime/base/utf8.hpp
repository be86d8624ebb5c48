// UTF-8: reading and writing code points, and whether a text is valid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nomad {

struct CodePoint {
  char32_t value = 0;      ///< U+FFFD for an invalid sequence
  std::size_t length = 1;  ///< bytes

  /// Whether it stands for an invalid byte rather than for a U+FFFD in the text.
  bool is_broken() const { return value == 0xFFFD && length == 1; }
};

/// The code point at `text[at]`; an invalid byte is U+FFFD of length 1.
CodePoint decode_utf8(std::string_view text, std::size_t at);

/// `code_point` may be any; a surrogate is written as it is.
void append_utf8(std::string& out, char32_t code_point);

std::u32string code_points(std::string_view text);
std::string to_utf8(std::u32string_view code_points);

/// Neither overlong forms nor surrogates nor anything above U+10FFFF.
bool is_valid_utf8(std::string_view text);

bool is_ascii(std::string_view text);

/// As much of the beginning of `text` as fits into `most` bytes without parting a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

}  // namespace nomad
