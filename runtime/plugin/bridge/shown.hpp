// What somebody else wrote, as a part of a line of ours.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::plugin::bridge {

/// Of one line, without control characters, and no longer than `most` bytes of the text.
inline std::string shown(std::string_view text, std::size_t most = 1000) {
  auto made = escape_controls(utf8_prefix(text, most));
  for (char& sign : made)
    if (sign == '\n' || sign == '\t') sign = ' ';
  return made;
}

}  // namespace nomad::plugin::bridge
