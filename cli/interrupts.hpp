// What Ctrl-C (SIGINT) and SIGTERM do to a command that goes on until somebody ends it. Without
// either of these they end the program, as they do any other.
#pragma once

#include <chrono>
#include <csignal>

namespace nomad::cli {

/// While one lives, both signals end the program at once with the exit code 0: of commands that
/// only show what comes (a log, a file), which is done well whenever the user has seen enough. One
/// at a time, for the command's thread.
class EndsWell {
public:
  EndsWell();
  ~EndsWell();
  EndsWell(const EndsWell&) = delete;

private:
  struct sigaction interrupt_ {};

  struct sigaction terminate_ {};
};

/// While one lives, the first of either signal is noted, for the command to end by itself what it
/// has begun; a second one ends the program. One at a time, for the command's thread.
class NotedInterrupt {
public:
  NotedInterrupt();
  ~NotedInterrupt();
  NotedInterrupt(const NotedInterrupt&) = delete;

  /// Whether one has come, since the newest of these was made or `go_on` was called. Thread-safe.
  static bool came();

  /// The one that came is forgotten: the next is noted again.
  static void go_on();

private:
  struct sigaction interrupt_ {};

  struct sigaction terminate_ {};
};

/// Sleeps until then, or until an interrupt was noted. Any thread.
void sleep_until_interrupt(std::chrono::steady_clock::time_point end);

}  // namespace nomad::cli
