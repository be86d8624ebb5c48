// Texts that quote what somebody has sent, such as errors, short enough to be read.
#pragma once

#include <string>
#include <string_view>

namespace nomad {

/// Of words beyond a kilobyte the beginning and their length, and in all no more than 64 KiB.
std::string shorten(std::string_view text);

}  // namespace nomad
