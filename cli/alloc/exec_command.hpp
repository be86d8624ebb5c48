// What commands have in common that run something beside a task: the flags of its streams, and the
// session itself.
#pragma once

#include <optional>
#include <string>

#include "cli/api_command.hpp"

namespace nomad::cli {

struct ExecCommand : ApiCommand {
  using ApiCommand::ApiCommand;

  const bool& input = flag("i", "Passes standard input on (true).", true);
  const std::optional<bool>& tty = flag<std::optional<bool>>(
      "t", "Gives the command a terminal; the default when this is run on one.");
  const std::string& escape
      = option("e",
               "The escape character of sessions with a terminal (~), at the beginning of a line: "
               "followed by '.' it closes the connection; \"none\" for none.",
               "~");

  bool wants_tty() const;

  /// Prints what is wrong with the flags of the streams; the exit code, or nothing.
  std::optional<int> check_streams() const;

  /// Opens the websocket at `path`, with "tty" besides what `query` has, and serves it until the
  /// command has ended; its exit code.
  Result<int> serve(const std::string& path, Query query);
};

}  // namespace nomad::cli
