// What commands share that act on one stored object and may follow the evaluation that this makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "cli/arguments.hpp"

namespace nomad::cli {

/// Flags, connection and end of such a command; lives on the stack of its run.
struct Action {
  CommonFlags common;
  Arguments parser;
  bool detach = false;
  bool verbose = false;
  std::optional<Api> api;

  Action(std::string_view usage, std::string_view about);

  /// For commands whose evaluation can be followed.
  void add_detach();

  /// Makes `api` after the arguments are parsed; the exit code if that is impossible.
  std::optional<int> connect();

  /// Follows the evaluation, or with -detach only names it. Returns the exit code.
  int end(const std::string& eval_id);
};

}  // namespace nomad::cli
