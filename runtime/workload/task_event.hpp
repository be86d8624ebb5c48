// Task events: what users read as the history of a task. Types, details and texts are Nomad's,
// because people and programs match on them.
//
// An event is its type, its time, its details (a small map that everything else follows from) and
// the sentence shown, which is fixed when the event is made. The API's deprecated members
// (ExitCode, RestartReason, …) are read out of the details where an event is written as an object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"

namespace nomad::workload {

/// How a task's process, or what stands for it, ended.
struct ExitResult {
  int code = 0;
  int signal = 0;
  bool oom_killed = false;
  std::string error{};  ///< Why it failed beyond code and signal; empty: nothing to add.

  bool successful() const { return code == 0 && signal == 0 && error.empty(); }

  friend bool operator==(const ExitResult&, const ExitResult&) = default;
};

struct TaskEvent {
  std::string type;
  std::int64_t time = 0;  ///< Unix nanoseconds.
  std::string display_message;
  std::vector<std::pair<std::string, std::string>> details{};  ///< Sorted by key.

  /// The detail's value, "" when it is not there.
  std::string_view detail(std::string_view key) const;

  bool fails_task() const { return detail("fails_task") == "true"; }

  /// Sets a detail and gives the event back, to build one in one expression.
  TaskEvent&& with(std::string_view key, std::string value) &&;
  /// Overrides the sentence shown.
  TaskEvent&& saying(std::string text) &&;
  TaskEvent&& failing_task() &&;

  friend bool operator==(const TaskEvent&, const TaskEvent&) = default;
};

namespace task_event {

inline constexpr std::string_view received = "Received";
inline constexpr std::string_view task_setup = "Task Setup";
inline constexpr std::string_view setup_failure = "Setup Failure";
inline constexpr std::string_view failed_validation = "Failed Validation";
inline constexpr std::string_view driver_failure = "Driver Failure";
inline constexpr std::string_view driver = "Driver";
inline constexpr std::string_view downloading_artifacts = "Downloading Artifacts";
inline constexpr std::string_view artifact_download_failed = "Failed Artifact Download";
inline constexpr std::string_view started = "Started";
inline constexpr std::string_view terminated = "Terminated";
inline constexpr std::string_view restarting = "Restarting";
inline constexpr std::string_view not_restarting = "Not Restarting";
inline constexpr std::string_view restart_signaled = "Restart Signaled";
inline constexpr std::string_view signaling = "Signaling";
inline constexpr std::string_view killing = "Killing";
inline constexpr std::string_view killed = "Killed";
inline constexpr std::string_view sibling_failed = "Sibling Task Failed";
inline constexpr std::string_view leader_dead = "Leader Task Dead";
inline constexpr std::string_view main_dead = "Main Tasks Dead";
inline constexpr std::string_view hook_failed = "Task hook failed";
inline constexpr std::string_view hook_message = "Task hook message";
inline constexpr std::string_view restore_failed = "Failed Restoring Task";
inline constexpr std::string_view reconnected = "Reconnected";
inline constexpr std::string_view waiting_shutdown_delay = "Waiting for shutdown delay";
inline constexpr std::string_view skipping_shutdown_delay = "Skipping shutdown delay";
inline constexpr std::string_view alloc_unhealthy = "Alloc Unhealthy";
inline constexpr std::string_view disk_resources_exceeded = "Disk Resources Exceeded";
inline constexpr std::string_view pausing = "Pausing";
inline constexpr std::string_view running = "Running";

/// An event without details: its sentence is the type's own ("Task started by client"), or "".
TaskEvent make(std::string_view type, std::int64_t now);

/// An event whose sentence is `text` and that carries it as the detail "message".
TaskEvent message(std::string_view type, std::int64_t now, std::string text);

TaskEvent setup_failed(std::int64_t now, std::string error);
TaskEvent validation_failed(std::int64_t now, std::string error);
/// The failure of a hook before a start: `type` is `hook_failed`, or what the hook calls it.
TaskEvent hook_failure(std::int64_t now,
                       std::string_view type,
                       std::string_view hook,
                       const std::string& error);
TaskEvent driver_failed(std::int64_t now, std::string error);
TaskEvent driver_message(std::int64_t now, std::string text);
TaskEvent exited(std::int64_t now, const ExitResult& result);
TaskEvent restarting_in(std::int64_t now, Nanoseconds delay, std::string_view reason);
TaskEvent will_not_restart(std::int64_t now, std::string_view reason);
TaskEvent restart_asked(std::int64_t now, std::string_view reason);
/// The text of a signal sent by a user names no signal, as the real one's does not.
TaskEvent signal_sent(std::int64_t now, std::string_view reason = {});
/// `timeout` is what the task is given, the smaller of its own and the client's limit.
TaskEvent killing_within(std::int64_t now, Nanoseconds timeout);
TaskEvent was_killed(std::int64_t now, std::string error = {});
TaskEvent failed_sibling(std::int64_t now, std::string_view task);
TaskEvent waiting_for_delay(std::int64_t now, Nanoseconds delay, bool skipped);
/// A task's schedule says so, or an order in its place (`is_override`).
TaskEvent pausing_due_to_schedule(std::int64_t now, bool is_override);
TaskEvent running_due_to_schedule(std::int64_t now, bool is_override);
/// The allocation's directory holds more than its ephemeral_disk may.
TaskEvent disk_exceeded(std::int64_t now, std::uint64_t used_mb, std::int64_t size_mb);

}  // namespace task_event

}  // namespace nomad::workload
