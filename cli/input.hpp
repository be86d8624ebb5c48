// What a user hands to a command: a file, or stdin.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// More is refused: nothing that a command takes whole is larger.
inline constexpr std::size_t most_input_bytes = std::size_t{64} << 20;

/// The content of a file, or of stdin for "-". Errors say which, and why: "read conf: Is a
/// directory"; `too_large` after `most` bytes, so that what never ends is refused, too.
Result<std::string> read_input(const std::string& path, std::size_t most = most_input_bytes);

}  // namespace nomad::cli
