// The file `state` of an executor's directory: who runs there and how it ended, readable when the
// executor no longer is. A few lines of text, always replaced whole by rename(2).
//
//   nomadctl-executor 1
//   run <run id>                    written before the task is started: the intent
//   process <pid> <start ticks> <boot id> <started at>
//   exit <code> <signal> <oom 0|1> <finished at>
//
// Written by the executor alone, read by the agent when it holds the directory's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/host/process/process_id.hpp"

namespace nomad::host::executor {

inline constexpr const char* state_file = "state";
inline constexpr const char* socket_file = "socket";
inline constexpr const char* log_file = "log";

struct ExitStatus {
  int code = 0;  ///< 128 + signal when a signal ended it.
  int signal = 0;
  bool oom_killed = false;
  std::int64_t finished_at = 0;  ///< Unix nanoseconds.
  std::string reason{};          ///< Where the code does not tell it. Not in the file.

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

struct RunState {
  std::string run_id{};  ///< Empty: nothing was started.
  ProcessId process{};   ///< pid 0: not known to have been started.
  std::int64_t started_at = 0;
  std::optional<ExitStatus> exit{};

  friend bool operator==(const RunState&, const RunState&) = default;
};

std::string to_text(const RunState& state);

/// None for anything that `to_text` did not write; an empty text is an empty state. Pure.
std::optional<RunState> parse_run_state(std::string_view text);

/// A run id is 1 to 400 bytes without control characters: the task's name is in it, and that may
/// have blanks and letters of any language.
bool is_run_id(std::string_view text);

/// Replaces the file in the open directory; `durable` syncs it and the directory. 0 or an errno.
int write_state(int directory, const RunState& state, bool durable);

/// Reads it; an absent file is an empty state. None when it is unreadable or damaged.
std::optional<RunState> read_state(int directory);

}  // namespace nomad::host::executor
