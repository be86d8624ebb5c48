// A text as one word of a POSIX shell's command line, for commands that people copy and for
// programs that are handed one line.
#pragma once

#include <string>
#include <string_view>

namespace nomad {

/// As it is where no shell reads it otherwise, else in single quotes. The shell makes exactly
/// `text` of it.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view plain
      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos)
    return std::string{text};
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

}  // namespace nomad
