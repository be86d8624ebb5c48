// Text as Go writes it: JSON strings and the case of letters, because results of functions show it.
#pragma once

#include <string>
#include <string_view>

namespace nomad::hcl {

/// A JSON string literal with `<`, `>`, `&` and the two line separators escaped, as Go writes it.
std::string json_quoted(std::string_view text);

/// Each letter mapped on its own, as Go's strings.ToUpper and ToLower do.
std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);

/// The first letter of each word in title case.
std::string title_case(std::string_view text);

}  // namespace nomad::hcl
