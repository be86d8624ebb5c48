// ExecutorClient: the agent's side of nomadctl-executor, for all tasks of this node.
//
// A task's process belongs to one small executor each, which outlives the agent. The executor of a
// task has a place that follows from the task's name alone:
//
//   <state_dir>/<executor_key>/      0700; an flock on the directory says "an executor lives"
//     socket                         where it answers
//     state                          who runs, and the exit status once it is known
//     log                            the executor's own complaints
//
// Invariants:
//   (1) At most one executor lives for a key. The agent takes the lock, makes the listening socket
//       and hands both to the executor, so there is no moment at which one exists unlocked. An
//       agent that died anywhere in between leaves either nothing, or an executor that is found.
//   (2) A task is started only by a whole start message. An executor whose agent dies before that
//       ends without having started anything.
//   (3) An exit status is kept by the executor, and in `state`, until `acknowledge`.
//   (4) After `acknowledge` or `lost` no process of the task is left.
//
// Threads: methods may be called from any thread and only enqueue; all callbacks come on the
// client's one thread and must not block. Callbacks for one key come in order. Idle tasks cost one
// open socket and no wake-ups.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/cgroup/cgroup.hpp"
#include "runtime/host/exec_session.hpp"
#include "runtime/host/isolation/isolation.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/host/users.hpp"

namespace nomad::host {

/// The name under which a task's executor and cgroup are found: "<alloc id>.<task>", with a hash
/// in place of a task name that is long or has unusual characters.
std::string executor_key(std::string_view alloc_id, std::string_view task);

/// setrlimit(2) for the task.
struct ResourceLimit {
  int resource = 0;  ///< RLIMIT_NOFILE, ...
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

/// Where the task's output goes: "<alloc_root>/alloc/logs/<task>.stdout.<n>".
struct TaskLogs {
  std::string alloc_root{};
  std::string task{};
  std::uint32_t max_files = 10;
  std::uint64_t max_file_bytes = 10 * 1024 * 1024;
};

/// All that a start needs.
struct TaskCommand {
  std::string run_id{};   ///< Names this run of the task; a new one for each restart.
  std::string command{};  ///< Looked up in local/, the task directory, the host, its PATH.
  std::vector<std::string> arguments{};
  std::vector<std::string> environment{};  ///< "NAME=value"
  std::string task_directory{};            ///< Working directory, and where the look-up begins.
  std::string search_path{};               ///< PATH of the look-up; empty: the agent's own.
  std::optional<TaskUser> user{};          ///< None: the agent's.
  std::optional<TaskLogs> logs{};          ///< None: /dev/null.
  std::vector<ResourceLimit> limits{};
  std::string network_namespace{};       ///< Path of one to enter, or empty: the agent's.
  bool use_cgroup = true;                ///< false: no_cgroups of raw_exec.
  std::optional<Isolation> isolation{};  ///< None: the task lives in the agent's place.
  CgroupLimits cgroup_limits{};
};

struct TaskStarted {
  ProcessId process{};
  std::int64_t started_at = 0;  ///< Unix nanoseconds.
  pid_t executor_pid = 0;
  bool reattached = false;  ///< Found running instead of started.
  std::string run_id{};
  CgroupScope cgroup{};
};

/// How a task ended.
struct TaskExit {
  int exit_code = 0;  ///< 128 + signal when a signal ended it.
  int signal = 0;
  bool oom_killed = false;
  std::int64_t finished_at = 0;  ///< Unix nanoseconds.
  std::string reason{};          ///< Where the code does not tell it; empty of older executors.
};

/// What the client says about one run. Members may be empty.
struct TaskListener {
  /// Once, first: the task runs (or ran: `exited` follows), or why it does not. After an error
  /// nothing else comes, and the key is free again.
  std::function<void(Result<TaskStarted>)> started;

  /// Once, after `started`: it has ended. Its status is kept until `acknowledge`.
  std::function<void(const TaskExit&)> exited;

  /// Instead of `exited`: the executor vanished without a status (killed, machine restarted). What
  /// was left of the task has been killed; the key is free again.
  std::function<void(const Error&)> lost;
};

using ExecutorDone = std::function<void(Result<>)>;

/// A command runs, with these ends of its streams (`ends_of`), or why it does not.
using ExecReady = std::function<void(Result<std::vector<UniqueFd>>)>;

class ExecutorClient {
public:
  struct Options {
    std::string executor_path{};  ///< Absolute path of nomadctl-executor.
    std::string state_dir{};      ///< Created with 0700 when missing.
    std::string cgroup_parent{};  ///< As Cgroups::Options::parent.
    bool use_cgroups = true;
    bool limits = false;  ///< As Cgroups::Options::limits.
  };

  /// Starts the thread. `io` when `state_dir` cannot be used.
  static Result<std::unique_ptr<ExecutorClient>> open(const Options& options);

  /// Ends the thread. Executors and tasks go on; no callback comes any more.
  ~ExecutorClient();

  ExecutorClient(const ExecutorClient&) = delete;
  ExecutorClient& operator=(const ExecutorClient&) = delete;

  /// Starts the task `key`. If an executor with the same `run_id` is found, this attaches to it
  /// instead, so a start may be repeated after a crash without ever running twice. One with
  /// another `run_id` that still runs is `conflict`; one that has ended is acknowledged first.
  void start(std::string key, TaskCommand command, TaskListener listener);

  /// Finds what runs, or has ended, under `key`. `not_found` when nothing was started there;
  /// `lost` (as an `unavailable` error of `started`) when it was, but neither it nor a status is
  /// left; `corrupt` when what it left cannot be read. With the last two the location has been
  /// cleared. With `run_id`, an executor of another run is `conflict`.
  void attach(std::string key, std::string run_id, TaskListener listener);

  /// Sends a signal to the task's main process.
  void signal(std::string key, int number, ExecutorDone done);

  /// Sends `number` to the task's main process and, after `grace`, kills all of it; a grace of 0
  /// kills at once. The executor keeps the time, so a restart of the agent does not stop it. `done`
  /// says that the executor has taken the order; the end comes as `exited`. Another stop may
  /// shorten the grace.
  void stop(std::string key, int number, std::chrono::milliseconds grace, ExecutorDone done);

  /// Runs a command beside the task, with its environment, user and cgroups, in `directory` (empty:
  /// the task's). `rejected` when it cannot be started, `not_found` or `conflict` when the task
  /// does not run. It ends when its streams' socket is closed, and with the task.
  void exec(std::string key, ExecCommand command, std::string directory, ExecReady ready);

  /// The status has been recorded: the executor ends, its files and cgroup go. `done` comes when
  /// they have gone and `key` can be started again.
  void acknowledge(std::string key, ExecutorDone done);

  /// Whatever runs or is left under `key` is killed and removed, without a listener; for
  /// allocations that are gone. Success when there is nothing.
  void purge(std::string key, ExecutorDone done);

  /// Keys that have a place in the state directory; to find executors of forgotten tasks.
  Result<std::vector<std::string>> keys() const;

  const Cgroups& cgroups() const;

private:
  class Loop;
  explicit ExecutorClient(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace nomad::host
