// What the words of a command line name: a command, a group of them ("node pool"), or nothing; and
// the help that lists commands. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace nomad::cli {

/// The words that commands begin with, and what these commands are for.
struct CommandGroup {
  std::string_view name;     ///< "node pool"
  std::string_view summary;  ///< One line.
};

/// Commands and groups, each sorted by name. Of a group there may be no entry: it has no summary
/// then.
struct CommandTree {
  std::span<const Command> commands;
  std::span<const CommandGroup> groups;

  /// The command with the longest name that `words` begin with, and of how many words that is.
  /// Null: none.
  const Command* find(std::span<const std::string> words, std::size_t& used) const;

  /// The longest group that `words` begin with, "" if none.
  std::string group_of(std::span<const std::string> words) const;

  /// The words that can follow `prefix`, a group or "", in the names of commands. Sorted.
  std::vector<std::string> next_words(std::string_view prefix) const;

  /// What the group or the command of that name is for, the group's before the command's; "" if
  /// neither is there, or the group has no entry.
  std::string_view summary(std::string_view name) const;

  /// The command whose name is nearest to what was typed, "" if none is near.
  std::string_view nearest(std::span<const std::string> words) const;

  /// The list of a group's commands and groups; of "": of all, what is used most before the rest.
  std::string help(std::string_view group) const;
};

/// Every command of the program.
CommandTree all_commands();

}  // namespace nomad::cli
