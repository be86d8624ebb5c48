// Error texts of regular expressions in the words that Nomad's users know, which are Go's.
#pragma once

#include <string_view>

#include <re2/re2.h>

namespace nomad {

/// What RE2 found wrong with a pattern.
std::string_view go_words(RE2::ErrorCode code);

}  // namespace nomad
