// Grapheme clusters one by one, for functions that count characters as people do.
#pragma once

#include <cstddef>
#include <string_view>

namespace nomad::hcl {

/// Bytes of the cluster that starts at `text[at]`, `at` being inside the text.
std::size_t grapheme_length(std::string_view text, std::size_t at);

/// Clusters in a text of any length, in linear time.
std::size_t count_graphemes_exactly(std::string_view text);

}  // namespace nomad::hcl
