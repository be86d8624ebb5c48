// What Go's package strings does and runtime/base/text.hpp does not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nomad::templates {

/// strings.Split: an empty separator parts all characters.
std::vector<std::string> split_text(std::string_view text, std::string_view separator);

/// strings.SplitN.
std::vector<std::string> split_text(std::string_view text,
                                    std::string_view separator,
                                    std::int64_t most);

/// strings.ReplaceAll: an empty `from` is found between all characters.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

/// How long `replace_all` gets.
std::size_t replaced_size(std::string_view text, std::string_view from, std::string_view to);

/// strings.Trim by a set of characters, strings.TrimSpace.
std::string_view trim_characters(std::string_view text, std::string_view characters);
std::string_view trim_space(std::string_view text);

/// strings.ToLower, ToUpper and Title (the first letter of each word), character by character.
std::string lower_text(std::string_view text);
std::string upper_text(std::string_view text);
std::string title_text(std::string_view text);

/// `toTitle` of consul-template: words by Unicode, only their first letters changed.
std::string title_words(std::string_view text);

/// unicode.IsSpace.
bool is_unicode_space(char32_t c);

}  // namespace nomad::templates
