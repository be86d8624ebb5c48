// The entry points of all commands, as commands.def lists them: from the words behind the command's
// name to the exit code or the complaint.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::cli {

#define COMMAND(name, summary, run) Result<int> run(const std::vector<std::string>& arguments);
#define KIND(id, noun, plural, ...)                                         \
  Result<int> run_##id##_apply(const std::vector<std::string>& arguments);  \
  Result<int> run_##id##_delete(const std::vector<std::string>& arguments); \
  Result<int> run_##id##_info(const std::vector<std::string>& arguments);   \
  Result<int> run_##id##_list(const std::vector<std::string>& arguments);
#include "cli/commands.def"

}  // namespace nomad::cli
