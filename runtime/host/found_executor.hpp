// The place of one executor in the state directory: finding who is there, making it, starting an
// executor in it, clearing it away. The deciding is in executor_loop; here are the system calls.
//
// An flock on the directory is held by the living executor and by nobody else for longer than a
// call, except by a task of the loop that is about to start an executor or to remove the location.
#pragma once

#include <string>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/cgroup/cgroup.hpp"
#include "runtime/host/executor/state_file.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

/// What was found under a key.
struct FoundExecutor {
  enum class Kind : std::uint8_t {
    absent,  ///< No directory.
    dead,    ///< No executor lives; `directory` is locked by us, `state` is what it left.
    alive,   ///< `socket` is connected to it.
    busy,    ///< One lives, but does not listen: it is ending. Look again.
  };

  Kind kind = Kind::absent;
  UniqueFd directory;
  UniqueFd socket;
  executor::RunState state;
  bool is_damaged = false;  ///< Dead, and its state cannot be read.
};

/// Looks, without waiting. `state_directory` is an open directory.
Result<FoundExecutor> look_for_executor(int state_directory, const std::string& key);

/// Makes the directory and locks it. `conflict` when someone else holds it.
Result<UniqueFd> make_location(int state_directory, const std::string& key);

struct SpawnedExecutor {
  UniqueFd socket;   ///< Connected; the executor answers once it is up.
  UniqueFd process;  ///< pidfd, to reap it.
  pid_t pid = 0;
};

/// Starts `program` with the lock and a listening socket. `directory` is ours to give: afterwards
/// only the executor holds the lock.
Result<SpawnedExecutor> spawn_executor(const std::string& program, UniqueFd directory);

/// Removes the files and the directory. The caller holds the lock.
Result<> remove_location(int state_directory, const std::string& key, int directory);

/// Kills what a vanished executor has left of its task: the processes of the cgroup and of the
/// task's session. True when nothing was there to kill any more.
bool kill_leftovers(const executor::RunState& state, const CgroupScope& cgroup);

/// The last lines of the executor's log, for an error message; empty without any.
std::string executor_complaints(int state_directory, const std::string& key);

}  // namespace nomad::host
