// The frame of commands that ask the API: flags, arguments, connection, and for those that act on a
// stored object the evaluation that this makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "cli/arguments.hpp"

namespace nomad::cli {

/// Lives on the stack of the command's run. A returned exit code means that the run ends with it.
struct ApiCommand {
  CommonFlags common;
  Arguments parser;
  std::optional<Api> api;  ///< There once `connect` or `start` went well.

  ApiCommand(std::string_view usage, std::string_view about);

  /// Parses and connects, for commands without arguments.
  std::optional<int> start(const std::vector<std::string>& arguments);

  /// The same for commands with one argument, called `name` in messages: "<node>".
  std::optional<int> start_with(std::string_view name, const std::vector<std::string>& arguments);

  std::optional<int> connect();
};

/// A command that acts on one object.
struct Action : ApiCommand {
  bool detach = false;
  bool verbose = false;

  Action(std::string_view usage, std::string_view about);

  /// For commands whose evaluation can be followed.
  void add_detach();

  /// Follows the evaluation, or with -detach only names it. Returns the exit code.
  int end(const std::string& eval_id);
};

}  // namespace nomad::cli
