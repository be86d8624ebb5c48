// The entry points of all commands, as commands.def lists them: from the words behind the command's
// name to the exit code.
#pragma once

#include <string>
#include <vector>

namespace nomad::cli {

#define COMMAND(name, summary, run) int run(const std::vector<std::string>& arguments);
#include "cli/commands.def"
#undef COMMAND

}  // namespace nomad::cli
