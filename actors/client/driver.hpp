// Driver: what a task runner asks of the driver of its task. One actor per driver serves all tasks
// of the node; plugins bring further ones.
//
// Rules every driver keeps:
//   - A task is known by (alloc id, task name); one run of it by `run_id`. StartTask with the
//   run_id
//     of a run that exists attaches to it, so that a start repeated after a crash starts nothing
//     twice.
//   - The end of a run is told once, as Exited, to the listener of StartTask or RecoverTask; it is
//     kept until DestroyTask, so that a recovered task learns of it too.
//   - Errors with Errc::unavailable, timeout or overloaded are worth another try; the restart
//     policy decides. All others are final.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {

namespace driver {

struct Done {
  using is_message = void;
};

struct TaskId {
  std::string alloc_id;
  std::string task;

  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

/// All that a start needs. Everything is interpolated.
struct TaskConfig {
  TaskId id;
  std::string run_id;
  std::string driver;
  boost::json::value config;  ///< The job's `config` block.
  std::vector<std::string> environment;
  std::string user;        ///< Empty: the driver's default.
  std::string alloc_root;  ///< "<alloc_dir>/<alloc id>"
  std::string task_dir;
  bool logs_disabled = false;
  std::uint32_t max_log_files = 10;
  std::uint64_t max_log_file_bytes = 10 * 1024 * 1024;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_max_bytes = 0;  ///< 0: no more than `memory_bytes`.
  std::uint64_t cpu_shares = 0;
};

/// A run is over.
struct Exited {
  using is_message = void;
  TaskId id;
  std::string run_id;
  workload::ExitResult result;
};

/// Something worth telling the user, as a task event of type "Driver".
struct Message {
  using is_message = void;
  TaskId id;
  std::string text;
};

}  // namespace driver

using TaskListener = actor::Interface<void(driver::Exited), void(driver::Message)>;

namespace driver {

struct Started {
  using is_message = void;
  std::string handle;  ///< What RecoverTask needs in another process; opaque.
  workload::DriverNetwork network;
};

struct StartTask {
  using is_message = void;
  std::shared_ptr<const TaskConfig> config;
  TaskListener listener;
};

/// A run of another process of the agent has been found.
struct Recovered {
  using is_message = void;
  std::string run_id;
};

/// Finds a run that another process of the agent started. `not_found`: it was never started;
/// `unavailable`: it was, but is lost.
struct RecoverTask {
  using is_message = void;
  TaskId id;
  std::string run_id;  ///< Empty: whatever runs as `id`, for its record is lost.
  std::string handle;  ///< Empty when the other process did not live to record it.
  TaskListener listener;
};

/// Asks the task to end by `signal` ("" is the driver's own) and kills it after `grace`. Answered
/// when the order is taken; the end itself is Exited. `not_found` when there is no such task.
struct StopTask {
  using is_message = void;
  TaskId id;
  std::string signal;
  std::chrono::milliseconds grace{0};
};

/// The end has been recorded: forgets the run and removes what is left of it. Whatever still runs
/// is killed. No error when there is nothing.
struct DestroyTask {
  using is_message = void;
  TaskId id;
};

/// Whatever earlier processes of the agent left of tasks other than these, and that no RecoverTask
/// has asked for, belongs to nobody: it is killed and removed. Answered when that is under way.
struct EndOthers {
  using is_message = void;
  std::vector<TaskId> kept;
};

struct SignalTask {
  using is_message = void;
  TaskId id;
  std::string signal;
};

struct TaskStats {
  using is_message = void;
  TaskId id;
};

/// Runs a command beside the task (`Capabilities::exec`). The session ends with the task.
struct ExecTask {
  using is_message = void;
  TaskId id;
  host::ExecCommand command;
};

/// Whether the driver works here, and what it can do.
struct Health {
  using is_message = void;
  bool detected = false;
  bool healthy = false;
  std::string description;
  std::map<std::string, std::string> attributes;
};

struct Fingerprint {
  using is_message = void;
};

/// What never changes about a driver.
struct Capabilities {
  std::string fs_isolation = "none";  ///< "none", "chroot" or "image".
  bool send_signals = true;
  bool secrets_in_memory = true;  ///< Its tasks' secrets directories are small tmpfs mounts.
  bool exec = false;              ///< It can run commands beside its tasks.
  bool mounts = true;             ///< It can show a task volumes of the host at other paths.
};

/// The answer to ExecTask of a driver without that capability.
inline Error no_exec() {
  return {Errc::rejected, "task driver does not support exec"};
}

}  // namespace driver

using Driver = actor::Interface<driver::Started(driver::StartTask),
                                driver::Recovered(driver::RecoverTask),
                                driver::Done(driver::StopTask),
                                driver::Done(driver::DestroyTask),
                                driver::Done(driver::EndOthers),
                                driver::Done(driver::SignalTask),
                                client_api::TaskUsage(driver::TaskStats),
                                client_api::ExecStarted(driver::ExecTask),
                                driver::Health(driver::Fingerprint)>;

}  // namespace nomad::client
