// What a command takes: its usage, what it is for and its flags. The command says it itself, so
// that help, completion and manual pages are made of one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace nomad::cli {

struct FlagShape {
  std::string name;  ///< Without dashes.
  std::string help;
  bool takes_value = false;
};

struct CommandShape {
  std::string usage;  ///< What follows the program's name: "job run [options] <path>".
  std::string about;  ///< A paragraph.
  std::vector<FlagShape> flags;

  /// The command's words in its usage. Of an alias they are those of the command that it stands
  /// for.
  std::string_view name() const;

  /// Null: there is no such flag.
  const FlagShape* flag(std::string_view name) const;
};

/// Runs the command as far as its flags, without its output. One that does not get there has an
/// empty shape.
CommandShape shape_of(const Command& command);

/// As `Arguments::parse` prints it when it gets `Arguments::show_shape`.
std::string shape_text(const CommandShape& shape);

}  // namespace nomad::cli
