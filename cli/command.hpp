// What a command is and gets. One command, one file; commands.def lists them all.
//
// A command writes its answer to stdout, its complaints to stderr, and returns the exit code that
// Nomad's command of the same name has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::cli {

struct Command {
  std::string_view name;     ///< "job run"
  std::string_view summary;  ///< One line for the list of commands.
  /// The exit code, or what is wrong, for `main` to print; the code is 1 then.
  Result<int> (*run)(const std::vector<std::string>& arguments);
};
}  // namespace nomad::cli
