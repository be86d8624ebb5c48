// RawTerminal and SignalPipe: a terminal that hands every key on, and signals as bytes of a pipe,
// so that a poll loop sees them and the terminal is as before on every way out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <termios.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::cli {

/// Makes the terminal of `fd` raw, until it is destroyed or `restore`d.
class RawTerminal {
public:
  static Result<RawTerminal> make(int fd);

  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;

  ~RawTerminal() { restore(); }

  void restore();

  /// After the process was stopped and goes on: whoever had the terminal has changed it.
  void make_raw() const;

private:
  RawTerminal(int fd, const termios& before) : fd_{fd}, before_{before} {}

  int fd_;  ///< -1: restored.
  termios before_;
};

struct TerminalSize {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
};

/// None when `fd` is no terminal.
std::optional<TerminalSize> terminal_size(int fd);

/// While it lives, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH and SIGCONT do nothing but come out
/// of the pipe, and SIGPIPE does nothing. At most one in a process.
class SignalPipe {
public:
  static Result<SignalPipe> make();

  SignalPipe(SignalPipe&&) noexcept = default;
  SignalPipe& operator=(SignalPipe&&) = delete;
  ~SignalPipe();

  int descriptor() const { return read_end_.get(); }

  /// The signals that have come, one character each.
  std::string take() const;

private:
  SignalPipe(host::UniqueFd read_end, host::UniqueFd write_end)
      : read_end_{std::move(read_end)}, write_end_{std::move(write_end)} {}

  host::UniqueFd read_end_;
  host::UniqueFd write_end_;
};

}  // namespace nomad::cli
