// Starts another program. All processes of this tree begin here but tasks' own, which
// executor/launch makes: they enter cgroups, namespaces and roots that nothing else does.
//
// The program has the descriptors that it is given and no other, whether those of the caller close
// at exec or not, and /dev/null as 0 to 2 where it is given none; the standard action for each
// signal, and none blocked; no environment but what is given. If it cannot be run, the error says
// which path and why, and no process is left.
//
// The child shares the caller's memory, and the calling thread waits, until it is the program:
// nothing is copied, however large the caller is, and in between it only makes system calls. With
// `enter` it is a copy of the caller as fork(2) makes it.
//
// May depend on: runtime/base. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

enum class ProcessGroup : std::uint8_t {
  callers,
  own,
  of_own_session,  ///< Without a controlling terminal.
};

struct SpawnOptions {
  std::string program;                   ///< Path of the file.
  std::vector<std::string> arguments{};  ///< Without the program's own name.
  std::string name{};                    ///< Its own name, argv[0]; empty: the path.
  std::vector<std::string> environment{};
  std::vector<std::pair<int, int>> descriptors{};  ///< Of the caller, as which of the program's.
  std::string directory = "/";                     ///< Empty: the caller's.
  ProcessGroup group = ProcessGroup::own;
  bool dies_with_thread = false;  ///< It is killed when the thread that has started it ends.
  bool takes_terminal = false;    ///< Its 0 is a terminal, which becomes that of its own session.
  bool searches_path = false;     ///< The path is a command that is looked for in $PATH.
  int namespaces = 0;  ///< CLONE_NEW… of clone(2); it does without them where they are not allowed.
  /// Called in the child before it becomes the program; only what may follow a fork may be done
  /// there. False, with errno set: it is not to become it.
  std::function<bool()> enter{};
};

struct Spawned {
  pid_t pid = 0;
  UniqueFd process;  ///< A pidfd: readable when it has ended.
};

/// `not_found` without such a program, otherwise `io`.
Result<Spawned> spawn(const SpawnOptions& options);

struct Pipe {
  UniqueFd reading, writing;
};

/// For a program's output, or its input. Both ends close at exec.
Result<Pipe> make_pipe();

/// A file without a name, at its beginning: a program may read it whenever it likes.
Result<UniqueFd> memory_file(std::string_view bytes);

/// The caller's, as "NAME=value".
std::vector<std::string> own_environment();

}  // namespace nomad::host
