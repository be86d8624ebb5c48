// Enter: carries out the isolation of a start message, in the process that is to become the task.
//
// Decides nothing: which mounts there are, and how, was planned by the agent (host/isolation). What
// the host has is opened while its tree is still there; then the task's directory becomes the root,
// and all paths of the task are resolved inside of it, so that no link that a task has made leads
// anywhere else.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

/// What could not be done. Kept small: it goes through a pipe, whole.
struct EnterFailure {
  int error_number = 0;
  char what[244] = {};  ///< "mounting /proc"; cut off if need be.

  /// Keeps errno and "<step> <object>"; returns false.
  bool of(const char* step, const char* object);
};

/// New mounts and a new root. The caller is in a mount namespace of its own, and root.
bool enter_root(schema::executor::Isolation::Reader isolation, EnterFailure& failure);

/// The namespaces of `task` that a command beside it enters, but that of processes.
struct TaskIsolation {
  UniqueFd mounts;
  UniqueFd ipc;
};

bool open_location(pid_t task,
                   schema::executor::Isolation::Reader isolation,
                   TaskIsolation& location,
                   EnterFailure& failure);

bool join_location(const TaskIsolation& location, EnterFailure& failure);

/// The keys that the agent's session holds are no longer the process's. Kernels without keys have
/// nothing to do.
void leave_keys();

/// The first of `programs` that is a regular file: made executable for all where that is possible,
/// or one that is (`only_executable`). Null when there is none.
const char* find_program(const std::vector<std::string>& programs, bool only_executable);

/// From now on the process and what it executes are refused the system calls of the filter.
/// Does nothing without one.
bool install_filter(schema::executor::Isolation::Reader isolation, EnterFailure& failure);

/// Becomes the user, with the capabilities of `isolation` and no other, for ever.
bool take_identity(schema::executor::Isolation::Reader isolation,
                   uid_t uid,
                   gid_t gid,
                   EnterFailure& failure);

}  // namespace nomad::host::executor
