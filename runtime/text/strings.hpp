// What Go's packages strings and path do and runtime/base/text.hpp does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nomad {

/// strings.SplitN, with a negative `most` strings.Split: an empty separator parts all characters.
std::vector<std::string_view> split_text(std::string_view text,
                                         std::string_view separator,
                                         std::int64_t most = -1);

/// strings.Index from there on: linear in both texts, which std::string_view::find is not.
std::size_t find_text(std::string_view text, std::string_view what, std::size_t from = 0);

/// strings.ReplaceAll: an empty `from` is found between all characters.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

/// strings.Count: how often `replace_all` finds something.
std::size_t count_text(std::string_view text, std::string_view what);

/// utf8.RuneCountInString.
std::size_t count_characters(std::string_view text);

/// strings.Trim by a set of characters, TrimPrefix, TrimSuffix; parts of `text`.
std::string_view trim_characters(std::string_view text, std::string_view characters);
std::string_view trim_prefix(std::string_view text, std::string_view prefix);
std::string_view trim_suffix(std::string_view text, std::string_view suffix);

// Paths with slashes, which nobody looks up: path.Clean, Base and Dir.
std::string clean_path(std::string_view path);
std::string base_name(std::string_view path);
std::string directory_name(std::string_view path);

}  // namespace nomad
