// Runs git, hg and their like for nomadctl-artifact: with this process's own confinement, a time,
// and the last of what they say.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::artifact {

struct ToolRun {
  std::string program;                     ///< A name, looked for on PATH.
  std::vector<std::string> arguments;      ///< Without the program's own name.
  std::vector<std::string> environment{};  ///< "NAME=value", in place of what this process has.
  std::chrono::steady_clock::time_point deadline;
};

/// Waits for its end, success. Errors: `not_found` without such a program; `timeout`, and then it
/// and what it has started are killed; `unavailable` "git clone exited with 128: <its last words>".
Result<> run_tool(const ToolRun& run);

}  // namespace nomad::artifact
