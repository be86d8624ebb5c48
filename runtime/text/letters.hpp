// Letters by Unicode, each taken by itself as Go's packages unicode and strings do: which are
// spaces, and their case. (Cheaper questions, of ASCII alone: runtime/base/text.hpp.)
#pragma once

#include <string>
#include <string_view>

namespace nomad {

/// unicode.IsSpace, IsLetter, IsDigit.
bool is_unicode_space(char32_t c);
bool is_unicode_letter(char32_t c);
bool is_unicode_digit(char32_t c);

/// unicode.ToUpper, ToLower, ToTitle.
char32_t upper_letter(char32_t c);
char32_t lower_letter(char32_t c);
char32_t title_letter(char32_t c);

/// strings.TrimSpace, and its halves; parts of `text`.
std::string_view trim_space(std::string_view text);
std::string_view trim_left_space(std::string_view text);
std::string_view trim_right_space(std::string_view text);

/// strings.ToUpper, ToLower and Title (the first letter of each word in title case).
std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);
std::string title_case(std::string_view text);

/// As `title_case`, with words by Unicode: "it's" is one.
std::string title_words(std::string_view text);

}  // namespace nomad
