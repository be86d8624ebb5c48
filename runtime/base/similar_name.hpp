// What somebody may have meant who misspelt a name.
#pragma once

#include <string_view>
#include <vector>

namespace nomad {

/// The first of `candidates` within two edits of `given`; empty when none is. An edit inserts,
/// deletes or replaces a code point. Names of more than 64 bytes are like no other.
std::string_view name_suggestion(std::string_view given,
                                 const std::vector<std::string_view>& candidates);

/// The nearest of `candidates` within two edits of `given`, and fewer than half its length; empty
/// when none is.
std::string_view closest_name(std::string_view given,
                              const std::vector<std::string_view>& candidates);

}  // namespace nomad
