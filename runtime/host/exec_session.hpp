// ExecSession: a command that runs beside a task, as its user and where it runs, with its standard
// streams in the hands of whoever asked for it (`alloc exec`).
//
// Threads: every method may be called on any thread. Callbacks run on one thread of the session's
// own making, one at a time, and must be quick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::host {

struct ExecCommand {
  std::vector<std::string> command;  ///< Program and its arguments; never empty.
  bool tty = false;                  ///< One terminal for all three streams.
  bool in_task_directory = false;    ///< Or else in "/"; a task with a root of its own has that.
};

/// How it ended. 128 + signal when a signal ended it.
struct ExecResult {
  int exit_code = 0;
  std::string error = {};  ///< Not empty: it did not end by itself; why.
};

/// What a session tells. Nothing more is told after `exited`.
struct ExecEvents {
  enum class Output { out, err };

  /// Bytes of the command; empty: that stream has ended. Each delivery must be acknowledged by
  /// `taken`; a session reads no further while `output_window` bytes are unacknowledged.
  std::function<void(Output, std::string_view)> output;

  /// The session can take input again after `write_input` refused some.
  std::function<void()> writable;

  /// Once, after the ends of both streams; a terminal has `out` alone.
  std::function<void(ExecResult)> exited;
};

/// Destroying the last reference kills the command and all that it started, if it still runs.
class ExecSession {
public:
  static constexpr std::size_t output_window = 256 * 1024;
  static constexpr std::size_t input_queue = 256 * 1024;

  virtual ~ExecSession() = default;

  /// Sets who is told, and begins to read. Once.
  virtual void start(ExecEvents events) = 0;

  /// Queues input. False, with nothing queued, when more than `input_queue` bytes wait already
  /// (`writable` comes then). Input to a command that reads no more is dropped.
  virtual bool write_input(std::string_view bytes) = 0;

  /// The end of the input. On a terminal: hangs it up.
  virtual void end_input() = 0;

  /// Only of a terminal; nothing otherwise.
  virtual void resize(std::uint16_t rows, std::uint16_t columns) = 0;

  virtual void taken(std::size_t bytes) = 0;
};

}  // namespace nomad::host
