// Globs: patterns of names in which each `*` stands for any number of any characters, and how
// closely one of them matches. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace nomad::access {

constexpr bool is_glob(std::string_view pattern) {
  return pattern.find('*') != std::string_view::npos;
}

bool glob_matches(std::string_view pattern, std::string_view name);

/// The characters that are no `*`. Of all patterns that match a name the one with most of them
/// leaves least of the name to its `*`s, and is the closest.
std::size_t literal_size(std::string_view pattern);

}  // namespace nomad::access
