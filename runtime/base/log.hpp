// Logging: one process-wide spdlog logger that wiring sets up and everyone writes to by
// `log::info(...)`. Lines look like Nomad's:
// "2026-11-21T13:00:00.000Z [INFO]  client: message: alloc=8d2f… error="no space left"".
//
// Nothing secret may be passed here: tokens, variables and environment values never are.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

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

/// What a line is about, or why it is written: `alloc=8d2f…`, `error="…"`. Keys are the same in all
/// lines (docs/internals/telemetry.md, "Log lines"). One without a value is left out. It only lives
/// as long as the call.
class Field {
public:
  Field(std::string_view key, std::string_view text) : key_{key}, text_{text} {}

  Field(std::string_view key, const Error& error) : Field{key, std::string_view{error.what}} {}

  Field(std::string_view key, std::integral auto number)
      : key_{key}, number_{static_cast<std::int64_t>(number)}, is_number_{true} {}

  std::string_view key() const { return key_; }

  bool is_empty() const { return !is_number_ && text_.empty(); }

  /// Adds it to a line, as ` key=value`, or (`json`) as `,"key":value`.
  void append_to(std::string& line, bool json) const;

private:
  std::string_view key_;
  std::string_view text_{};
  std::int64_t number_ = 0;
  bool is_number_ = false;
};

using Fields = std::initializer_list<Field>;

/// Writes one line. `component` is the part of the program: "client", "raft"; `message` is a plain
/// sentence without ids, which are fields. Thread-safe.
void write(Level level, std::string_view component, std::string_view message, Fields fields = {});

/// Receives every line of at least `level` from now on, formatted; for `nomadctl monitor`.
/// Called on whatever thread logs, so it must be quick and must not log. Returns an id for
/// `remove_listener`.
using Listener = std::function<void(Level, const std::string& line)>;
std::uint64_t add_listener(Level level, Listener listener);
void remove_listener(std::uint64_t id);

inline void trace(std::string_view component, std::string_view message, Fields fields = {}) {
  if (enabled(Level::trace)) write(Level::trace, component, message, fields);
}

inline void debug(std::string_view component, std::string_view message, Fields fields = {}) {
  if (enabled(Level::debug)) write(Level::debug, component, message, fields);
}

inline void info(std::string_view component, std::string_view message, Fields fields = {}) {
  if (enabled(Level::info)) write(Level::info, component, message, fields);
}

inline void warn(std::string_view component, std::string_view message, Fields fields = {}) {
  if (enabled(Level::warn)) write(Level::warn, component, message, fields);
}

inline void error(std::string_view component, std::string_view message, Fields fields = {}) {
  if (enabled(Level::error)) write(Level::error, component, message, fields);
}

}  // namespace nomad::log
