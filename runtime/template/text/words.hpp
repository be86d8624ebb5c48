// How sprig changes words: snake_case, CamelCase, wrapped lines, initials….
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nomad::templates {

/// "FirstName" as "first_name", with `connector` between the words.
std::string separated_words(std::string_view text, char32_t connector);

/// "first_name" as "FirstName".
std::string camel_case(std::string_view text);

std::string swap_case(std::string_view text);
std::string initials(std::string_view text);

/// The first letters of words in lower case.
std::string uncapitalized(std::string_view text);
std::string without_space(std::string_view text);

/// Lines of at most `width` bytes; words that are longer are parted if `parts_words`.
std::string wrapped(std::string_view text,
                    std::int64_t width,
                    std::string_view line_break,
                    bool parts_words);

/// At most `width` characters of `text`, the last three of them dots.
std::string abbreviated(std::string_view text, std::int64_t width);

/// At most `width` characters from `offset` on, with dots on both sides, as sprig has them.
std::string abbreviated_both(std::string_view text, std::int64_t offset, std::int64_t width);

}  // namespace nomad::templates
