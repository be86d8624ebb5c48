#include "runtime/workload/task_event.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::workload {

std::string_view TaskEvent::detail(std::string_view key) const {
  for (const auto& [name, value] : details)
    if (name == key) return value;
  return {};
}

TaskEvent&& TaskEvent::with(std::string_view key, std::string value) && {
  auto position = std::lower_bound(details.begin(), details.end(), key,
                                   [](const auto& entry, auto name) { return entry.first < name; });
  if (position != details.end() && position->first == key)
    position->second = std::move(value);
  else
    details.emplace(position, std::string{key}, std::move(value));
  return std::move(*this);
}

TaskEvent&& TaskEvent::saying(std::string text) && {
  display_message = std::move(text);
  return std::move(*this);
}

TaskEvent&& TaskEvent::failing_task() && {
  return std::move(*this).with("fails_task", "true");
}

namespace task_event {
namespace {

constexpr std::string_view within_policy = "Restart within policy";

std::string own_sentence(std::string_view type) {
  if (type == received) return "Task received by client";
  if (type == downloading_artifacts) return "Client is downloading artifacts";
  if (type == started) return "Task started by client";
  if (type == leader_dead) return "Leader Task in Group dead";
  if (type == main_dead) return "Main tasks in the group died";
  if (type == reconnected) return "Client reconnected";
  if (type == killing) return "Sent interrupt";
  if (type == killed) return "Task successfully killed";
  if (type == signaling) return "Task being sent a signal";
  if (type == restart_signaled) return "Task signaled to restart";
  return {};
}

/// An event whose sentence is `text`, or `otherwise` when there is none, kept as detail `key`.
TaskEvent explained(std::string_view type,
                    std::int64_t now,
                    std::string_view key,
                    std::string text,
                    std::string_view otherwise) {
  auto event = make(type, now);
  if (text.empty()) return std::move(event).saying(std::string{otherwise});
  return std::move(event).saying(text).with(key, text);
}

}  // namespace

TaskEvent make(std::string_view type, std::int64_t now) {
  return {
      .type = std::string{type}, .time = now, .display_message = own_sentence(type), .details = {}};
}

TaskEvent message(std::string_view type, std::int64_t now, std::string text) {
  return make(type, now).saying(text).with("message", text);
}

TaskEvent setup_failed(std::int64_t now, std::string error) {
  return explained(setup_failure, now, "setup_error", std::move(error), "Task setup failed");
}

TaskEvent validation_failed(std::int64_t now, std::string error) {
  return explained(failed_validation, now, "validation_error", std::move(error),
                   "Validation of task failed");
}

TaskEvent hook_failure(std::int64_t now,
                       std::string_view type,
                       std::string_view hook,
                       const std::string& error) {
  if (type == artifact_download_failed)
    return explained(type, now, "download_error", error, "Failed to download artifacts");
  if (type != hook_failed) return message(type, now, error);
  return message(type, now, fmt::format("{}: {}", hook, error));
}

TaskEvent driver_failed(std::int64_t now, std::string error) {
  return explained(driver_failure, now, "driver_error", std::move(error), "Failed to start task");
}

TaskEvent driver_message(std::int64_t now, std::string text) {
  return explained(driver, now, "driver_message", std::move(text), "");
}

TaskEvent exited(std::int64_t now, const ExitResult& result) {
  auto text = fmt::format("Exit Code: {}", result.code);
  if (result.signal != 0) text += fmt::format(", Signal: {}", result.signal);
  if (!result.error.empty()) text += ", Exit Message: " + quote(result.error);
  auto event = make(terminated, now)
                   .saying(std::move(text))
                   .with("exit_code", std::to_string(result.code))
                   .with("signal", std::to_string(result.signal))
                   .with("oom_killed", result.oom_killed ? "true" : "false");
  if (!result.error.empty()) return std::move(event).with("exit_message", result.error);
  return event;
}

TaskEvent restarting_in(std::int64_t now, Nanoseconds delay, std::string_view reason) {
  auto text = "Task restarting in " + format_duration(delay);
  if (!reason.empty() && reason != within_policy) text = fmt::format("{} - {}", reason, text);
  return make(restarting, now)
      .saying(std::move(text))
      .with("start_delay", std::to_string(delay.count()))
      .with("restart_reason", std::string{reason});
}

TaskEvent will_not_restart(std::int64_t now, std::string_view reason) {
  auto event = make(not_restarting, now)
                   .saying(reason.empty() ? "Task exceeded restart policy" : std::string{reason})
                   .with("restart_reason", std::string{reason});
  return std::move(event).failing_task();
}

TaskEvent restart_asked(std::int64_t now, std::string_view reason) {
  auto event = make(restart_signaled, now);
  if (reason.empty()) return event;
  return std::move(event).saying(std::string{reason}).with("restart_reason", std::string{reason});
}

TaskEvent signal_sent(std::int64_t now, std::string_view reason) {
  auto event = make(signaling, now);
  if (reason.empty()) return event;
  return std::move(event)
      .saying(std::string{reason})
      .with("task_signal_reason", std::string{reason});
}

TaskEvent killing_within(std::int64_t now, Nanoseconds timeout) {
  auto event = make(killing, now);
  if (timeout.count() != 0)
    event.display_message
        = fmt::format("Sent interrupt. Waiting {} before force killing", format_duration(timeout));
  return std::move(event).with("kill_timeout", format_duration(timeout));
}

TaskEvent was_killed(std::int64_t now, std::string error) {
  return explained(killed, now, "kill_error", std::move(error), "Task successfully killed");
}

TaskEvent failed_sibling(std::int64_t now, std::string_view task) {
  return make(sibling_failed, now)
      .saying(fmt::format("Task's sibling {} failed", quote(task)))
      .with("failed_sibling", std::string{task});
}

TaskEvent waiting_for_delay(std::int64_t now, Nanoseconds delay, bool skipped) {
  return make(skipped ? skipping_shutdown_delay : waiting_shutdown_delay, now)
      .saying(fmt::format("{} shutdown_delay of {} before killing the task.",
                          skipped ? "Skipping" : "Waiting for", format_duration(delay)));
}

TaskEvent pausing_due_to_schedule(std::int64_t now, bool is_override) {
  return make(pausing, now)
      .saying(is_override ? "Pausing due to override" : "Pausing due to schedule");
}

TaskEvent running_due_to_schedule(std::int64_t now, bool is_override) {
  return make(running, now)
      .saying(is_override ? "Running due to override" : "Running due to schedule");
}

TaskEvent disk_exceeded(std::int64_t now, std::uint64_t used_mb, std::int64_t size_mb) {
  return message(disk_resources_exceeded, now,
                 fmt::format("the allocation's directory holds {} MiB, and the size of its "
                             "ephemeral_disk is {} MiB",
                             used_mb, size_mb))
      .with("disk_limit", std::to_string(size_mb));
}

}  // namespace task_event
}  // namespace nomad::workload
