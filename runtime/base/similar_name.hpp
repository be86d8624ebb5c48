// What somebody may have meant who misspelt a name.
#pragma once

#include <string_view>
#include <vector>

namespace nomad {

/// The first of `candidates` within two edits of `given`; empty when none is. An edit inserts,
/// deletes or replaces a code point. Names of more than 64 bytes are like no other.
std::string_view name_suggestion(std::string_view given,
                                 const std::vector<std::string_view>& candidates);

/// The nearest of `candidates` within two edits of `given`; empty when none is. That two neighbours
/// are swapped is one edit here, as it is one slip of whoever types.
std::string_view closest_name(std::string_view given,
                              const std::vector<std::string_view>& candidates);

/// The same with fewer edits than half its length, for what people type: any word of three or four
/// letters is like any other.
std::string_view closest_word(std::string_view given,
                              const std::vector<std::string_view>& candidates);

}  // namespace nomad
