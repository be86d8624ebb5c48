// ExecSessions: the commands that run beside the task (`alloc exec`), in its place: its
// environment, cgroups, namespaces, limits and user.
//
// The executor makes a command and hands the other ends of its standard streams over; of each
// session it keeps a socket alone, by which it hears that nobody wants the command any more, and
// tells how it ended. Bytes never pass through it.
//
// Invariants:
//   (1) A session ends with its command, which is reaped here and never taken for the task's.
//   (2) When the other end of its socket closes, the command and all of its session (setsid(2)) are
//       killed. What has left that session, and what a command left behind that ended by itself,
//       ends with the task.
#pragma once

#include <vector>

#include <sys/types.h>

#include <capnp/common.h>
#include <kj/array.h>

#include "runtime/host/executor/launch.hpp"
#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

class ExecSessions {
public:
  /// At once, of one task.
  static constexpr std::size_t max_sessions = 128;

  /// Keeps what commands need of the task's start.
  void remember(schema::executor::Start::Reader start);

  /// Starts a command beside the task's main process `task`, and returns what the agent gets with
  /// `execStarted`; empty, with `error` set, when there is none. `epoll` then watches the session's
  /// socket.
  std::vector<UniqueFd> open(schema::executor::Exec::Reader exec,
                             pid_t task,
                             int epoll,
                             LaunchError& error);

  /// Takes an event of a session's socket; false when it is none.
  bool on_event(int descriptor);

  /// A child has ended; false when it was no command of a session.
  bool reaped(pid_t pid, int status);

  /// The task is over: whoever still listens hears that its session is, too.
  void close() { sessions_.clear(); }

private:
  struct Session {
    pid_t pid = 0;
    UniqueFd socket;
  };

  kj::Array<capnp::word> location_;  ///< A start message, flat; kept small: it stays for ever.
  std::vector<Session> sessions_;
};

}  // namespace nomad::host::executor
