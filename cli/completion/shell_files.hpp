// The lines in the start-up files of a user's shells by which they ask this program what can follow
// on a command line. Packages bring files of their own (cli/install/completion).
#pragma once

#include <string>

namespace nomad::cli {

/// Adds completion of `program` (a path) to the start-up files of the user's shells, or takes it
/// out. Prints what went wrong; the exit code.
int install_completion(const std::string& program);
int uninstall_completion(const std::string& program);

}  // namespace nomad::cli
