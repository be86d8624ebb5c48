// Runs one program to its end, with an input, and with bounds on its time and its output. Blocks.
//
// The program gets the environment that is given and no other, descriptors 0 to 2 alone, the root
// as its directory, and a process group of its own, which is killed as a whole when its time is
// over. Any thread.
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::host {

struct ProgramRun {
  std::string program;                 ///< Path of the file.
  std::vector<std::string> arguments;  ///< Without the program's own name.
  std::vector<std::string> environment;
  std::string input{};
  std::chrono::milliseconds timeout = std::chrono::seconds{30};
  std::size_t max_output = 1024 * 1024;  ///< In bytes, of each of the two.
  /// A descriptor that the program has as 3, and so what it starts in turn: a lock lasts as long as
  /// they do, whatever becomes of the caller. Borrowed; -1: none.
  int held = -1;
};

struct ProgramEnded {
  int exit_code = 0;  ///< 128 and the signal's number of one that was killed.
  std::string output{};
  std::string errors{};

  bool operator==(const ProgramEnded&) const = default;
};

/// Errors: `not_found` without such a program; `timeout`, `too_large` where it went beyond its
/// bounds, and was killed; `io`.
Result<ProgramEnded> run_program(const ProgramRun& run);

/// Kills the programs that have been run with the file at `path` as `held`, by whatever process,
/// and have not ended; each with its process group, but never the caller. What one that has ended
/// left running goes on. False if there is none. Reads all of /proc.
bool end_holders(const std::string& path);

/// The first directory of `path`, separated by colons, that has an executable file `name`; empty
/// without one.
std::string find_program(std::string_view name, std::string_view path);

/// Where programs of the system are looked for, whatever the agent's own environment says.
inline constexpr std::string_view system_path
    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace nomad::host
