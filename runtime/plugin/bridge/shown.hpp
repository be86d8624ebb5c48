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

/// A reason that a driver gives, for an event: without what ends its lines.
inline std::string shown_reason(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  return shown(text.substr(0, end == std::string_view::npos ? 0 : end + 1), 4000);
}

}  // namespace nomad::plugin::bridge
