// The line that is being typed, as a shell gives it: its words, and what they mean to a command.
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_shape.hpp"

namespace nomad::cli {

struct TypedLine {
  std::vector<std::string> words;  ///< Complete ones, the program's name first; without quotes.
  std::string typed;               ///< What there is of the last one; may be empty.
};

/// Takes words apart as shells do: white space ends one, unless it is quoted or behind a backslash.
TypedLine read_line(std::string_view line);

/// What stands behind a command's name.
struct GivenWords {
  std::vector<std::pair<std::string, std::string>> flags;  ///< Without dashes; "" without a value.
  std::vector<std::string> words;                          ///< What is no flag.
  std::string open_flag;  ///< The flag whose value comes next; "" if none does.

  bool has_flag(std::string_view name) const;
};

/// Unlike a command this takes flags for such behind other words, too: the user may go back there.
GivenWords read_words(const CommandShape& shape, std::span<const std::string> words);

/// The flag without its dashes, and its value if there is one behind "=": "-var=a=b" has "a=b".
std::pair<std::string_view, std::string_view> split_flag(std::string_view word);

}  // namespace nomad::cli
