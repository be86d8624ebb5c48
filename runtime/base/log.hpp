// Logging: one process-wide spdlog logger that wiring sets up and everyone writes to by
// `log::info(...)`. Lines look like Nomad's: "2026-11-21T13:00:00.000Z [INFO]  client: message".
//
// Nothing secret may be passed here: tokens, variables and environment values never are.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::log {

enum class Level : std::uint8_t { trace, debug, info, warn, error, off };

/// "TRACE", "debug", … as the configuration's log_level has them, in any case.
Result<Level> parse_level(std::string_view text);

/// When a log file is full, and how many full ones are kept.
struct Rotation {
  std::int64_t bytes = 0;                    ///< A file of so many is full; 0: none is.
  Nanoseconds age = std::chrono::hours{24};  ///< Since it was begun.
  std::int64_t max_files = 0;                ///< Full ones that are kept; 0: all.
};

struct Options {
  Level level = Level::info;
  std::string file{};   ///< Also written here when not empty; stderr always gets the lines.
  bool json = false;    ///< One JSON object a line, as log_json has it.
  Rotation rotation{};  ///< Of the file.
};

/// Sets the process's logger up. Called once by `main`, before any thread exists.
Result<> start(const Options& options);

/// Changes the level at run time (`agent` reload). Thread-safe.
void set_level(Level level);

/// Whether a line of `level` would be written; to skip building costly arguments.
bool enabled(Level level);

/// Writes one line. `component` is the part of the program: "client", "raft". Thread-safe.
void write(Level level, std::string_view component, std::string_view message);

/// Receives every line of at least `level` from now on, formatted; for `nomadctl monitor`.
/// Called on whatever thread logs, so it must be quick and must not log. Returns an id for
/// `remove_listener`.
using Listener = std::function<void(Level, const std::string& line)>;
std::uint64_t add_listener(Level level, Listener listener);
void remove_listener(std::uint64_t id);

template <class... Args>
void trace(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::trace))
    write(Level::trace, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void debug(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::debug))
    write(Level::debug, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void info(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::info))
    write(Level::info, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void warn(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::warn))
    write(Level::warn, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void error(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::error))
    write(Level::error, component, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace nomad::log
