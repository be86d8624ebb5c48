// Launch: turns a start request into a running process, and runs further commands in its place.
//
// The child is made by clone3(2) straight into its version 2 cgroup and its namespaces where there
// are any, joins the others, enters or makes the task's place (enter.hpp), takes its limits and
// user, and is in a session of its own before it executes. It dies with the executor
// (PR_SET_PDEATHSIG), so no task is left without someone who knows its status.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

struct Launched {
  pid_t pid = 0;
  UniqueFd stdout_pipe;  ///< Read ends, non-blocking; none without logs.
  UniqueFd stderr_pipe;
};

/// Why a launch failed; `error_number` 0 when no system call did.
struct LaunchError {
  std::string what;
  int error_number = 0;
  bool executing = false;  ///< All was ready, but the program itself cannot be executed.
};

/// What to run in a task's place.
struct Program {
  std::string path{};
  std::vector<std::string> candidates{};  ///< In place of the path: the first that is there counts.
  std::string missing{};                  ///< What to say if none of them is.
  std::vector<std::string>
      arguments{};  ///< The program's name first; the task's own gets its path.
  std::string directory{};
  UniqueFd input{};
  UniqueFd output{};
  UniqueFd errors{};
  bool terminal = false;  ///< `input` is one; it becomes the controlling terminal.
};

/// Finds the command: below local/ and at the root of the task directory, as an absolute path of
/// the host, or in the search path. A file of the task directory is made executable for all;
/// files of the host are left as they are. Empty, with `error` set, when there is none.
std::string find_command(const std::string& task_directory,
                         const std::string& command,
                         const std::string& search_path,
                         LaunchError& error);

/// Starts it. Returns once the program has been executed; pid 0 and `error` otherwise, with
/// nothing left behind. Single-threaded callers only.
Launched launch(schema::executor::Start::Reader start, LaunchError& error);

/// Runs a program with the environment, cgroups, namespaces, limits and user of `place`. Returns
/// as `launch` does: the pid, or 0 and `error`. `beside` is a process of the task, whose namespaces
/// it then has; 0 when it is the task itself.
pid_t launch_in(schema::executor::Start::Reader location,
                pid_t beside,
                Program program,
                LaunchError& error);

/// The paths that a command has in the directories of `search_path`.
std::vector<std::string> paths_of(const std::string& command, const std::string& search_path);

/// The executable file of that name in the directories of `search_path`; empty without one.
std::string find_in_path(const std::string& command, const std::string& search_path);

/// Both ends close on exec. False with errno set.
bool make_pipe(UniqueFd& read_end, UniqueFd& write_end);

}  // namespace nomad::host::executor
