// ChildProcess: a program that a test starts beside itself.
//
// By posix_spawn, never by fork: in a fork of a process with threads, whatever lock one of them
// held (an allocator's, the log's) is held for ever. Threads that nobody joins, as those of
// detached actors, may still be there after everything of theirs is gone. What a test would do in a
// fork, it does in `own_program`, whose `main` looks at its arguments.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::test {

/// The program that is running.
inline constexpr const char* own_program = "/proc/self/exe";

class ChildProcess {
public:
  /// Runs `command`, a path and its arguments, in this process's environment. Throws
  /// std::system_error when that cannot be loaded.
  explicit ChildProcess(const std::vector<std::string>& command);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  ///< Kills it.

  /// -1 after its end was waited for.
  pid_t pid() const { return pid_; }

  /// To read what it writes to its standard output.
  int output() const { return output_.get(); }

  /// Whether it has written a line; waits for that, or for its end.
  bool wrote_line() const;

  /// Sends it `signal` and waits for its end.
  void end(int signal);

  /// Waits for its end: the status of waitpid(2).
  int wait();

private:
  pid_t pid_ = -1;
  host::UniqueFd output_;
};

}  // namespace nomad::test
