// Shell completion: what can follow on a command line that is being typed, and the lines in a
// shell's start-up file that make it ask.
//
// The shell runs the program with the line so far in COMP_LINE (`complete -C nomadctl nomadctl`)
// and reads one candidate per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.hpp"

namespace nomad::cli {

/// What can stand for the last word of `line`: words of commands, flags, files, or ids that the
/// agent knows. Sorted. Never fails; no agent, no ids.
std::vector<std::string> completions(const CommandTree& commands, std::string_view line);

/// Answers COMP_LINE on stdout. False when the program was not run for that.
bool answer_completion(const CommandTree& commands);

/// Adds completion of `program` (a path) to the start-up files of the user's shells, or takes it
/// out. Prints what went wrong; the exit code.
int install_completion(const std::string& program);
int uninstall_completion(const std::string& program);

}  // namespace nomad::cli
