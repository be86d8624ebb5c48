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
struct ApiCommand : Arguments {
  CommonFlags common{*this};
  std::chrono::milliseconds answer_timeout{};  ///< As `Api::make` takes it.
  std::optional<Api> api;                      ///< There once `connect` or `start` went well.

  using Arguments::Arguments;

  /// Parses and connects.
  std::optional<int> start(const std::vector<std::string>& arguments, const WordCount& words = {});

  /// The connection, which stays in `api`.
  Result<Api*> connect();
};

/// A command that acts on one object.
struct Action : ApiCommand {
  bool detach = false;
  const bool& verbose = flag("verbose", "Shows whole ids.");

  using ApiCommand::ApiCommand;

  /// For commands whose evaluation can be followed.
  void add_detach();

  /// Follows the evaluation, or with -detach only names it. Returns the exit code.
  int end(const std::string& eval_id);
};

}  // namespace nomad::cli
