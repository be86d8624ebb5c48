// RawTerminal and CaughtSignals: a terminal that hands every key on, and signals that a poll loop
// sees, so that the terminal is as before on every way out.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

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

/// While it lives, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH and SIGCONT do nothing but make its
/// descriptor readable, and SIGPIPE does nothing. For a process of one thread. There is no handler,
/// so that no signal, whenever it comes, finds anything half made or gone already.
class CaughtSignals {
public:
  static Result<CaughtSignals> make();

  CaughtSignals(CaughtSignals&&) noexcept = default;
  CaughtSignals& operator=(CaughtSignals&&) = delete;

  /// What has come and was not taken is forgotten; from then on signals do what they did before.
  ~CaughtSignals();

  /// For poll(2).
  int descriptor() const { return descriptor_.get(); }

  /// The signals that have come; of one kind that came twice, perhaps one.
  std::vector<int> take() const;

private:
  explicit CaughtSignals(host::UniqueFd descriptor);

  host::UniqueFd descriptor_;
  sigset_t mask_before_{};
  void (*of_pipe_before_)(int) = nullptr;
};

}  // namespace nomad::cli
