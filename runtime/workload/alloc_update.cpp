#include "runtime/workload/alloc_update.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::workload {
namespace {

/// FNV-1a over words, stirred: the blocks are whole words.
std::uint64_t digest_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum = (sum ^ word) * 0x100000001b3ULL;
    sum ^= sum >> 29;
  }
  return sum;
}

std::int64_t number(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// The API's deprecated members repeat the details.
void write_deprecated(const TaskEvent& from, schema::TaskEvent::Builder to) {
  for (const auto& [key, value] : from.details) {
    if (key == "restart_reason") to.setRestartReason(text(value));
    if (key == "setup_error") to.setSetupError(text(value));
    if (key == "driver_error") to.setDriverError(text(value));
    if (key == "exit_code") to.setExitCode(number(value));
    if (key == "signal") to.setSignal(number(value));
    if (key == "kill_error") to.setKillError(text(value));
    if (key == "kill_reason") to.setKillReason(text(value));
    if (key == "start_delay") to.setStartDelay(number(value));
    if (key == "download_error") to.setDownloadError(text(value));
    if (key == "validation_error") to.setValidationError(text(value));
    if (key == "disk_limit") to.setDiskLimit(number(value));
    if (key == "failed_sibling") to.setFailedSibling(text(value));
    if (key == "vault_renewal_error") to.setVaultError(text(value));
    if (key == "task_signal_reason") to.setTaskSignalReason(text(value));
    if (key == "task_signal") to.setTaskSignal(text(value));
    if (key == "driver_message") to.setDriverMessage(text(value));
    if (key == "message" || key == "exit_message") to.setMessage(text(value));
    if (key == "kill_timeout")
      if (const auto timeout = parse_duration(value)) to.setKillTimeout(timeout->count());
  }
}

void write_event(const TaskEvent& from, schema::TaskEvent::Builder to) {
  to.setType(text(from.type));
  to.setTime(from.time);
  to.setDisplayMessage(text(from.display_message));
  to.setFailsTask(from.fails_task());
  auto details = to.initDetails(from.details.size());
  for (unsigned i = 0; i < details.size(); ++i) {
    details[i].setKey(text(from.details[i].first));
    details[i].setValue(text(from.details[i].second));
  }
  write_deprecated(from, to);
}

void write_states(const AllocReport& report, schema::Allocation::Builder to) {
  auto states = to.initTaskStates(static_cast<unsigned>(report.tasks.size()));
  for (unsigned i = 0; i < states.size(); ++i) {
    states[i].setKey(text(report.tasks[i].name));
    write_task_state(*report.tasks[i].state, states[i].initValue());
  }
}

void write_health(const AllocReport& report, schema::Allocation::Builder to) {
  if (!report.health) return;  // The servers keep what they have.
  auto status = to.initDeploymentStatus();
  const auto assigned = report.assigned.deployment_status();
  status.setCanary(assigned.getCanary());
  status.setModifyIndex(assigned.getModifyIndex());
  status.getHealthy().setValue(report.health->healthy);
  status.setTimestamp(report.health->timestamp);
}

/// Always there, as users of the API expect.
void write_network(const AllocReport& report, schema::Allocation::Builder to) {
  if (report.network)
    to.setNetworkStatus(*report.network);
  else if (report.assigned.has_network_status())
    to.setNetworkStatus(report.assigned.network_status());
  else
    to.initNetworkStatus();
}

}  // namespace

Object<schema::AllocNetworkStatus> host_network_status(schema::TaskGroup::Reader group) {
  Draft<schema::AllocNetworkStatus> status;
  const auto networks = group.getNetworks();
  if (networks.size() > 0 && networks[0].hasDns()) status->setDns(networks[0].getDns());
  return status.freeze();
}

void write_task_state(const TaskState& from, schema::TaskState::Builder to) {
  to.setState(from.state);
  to.setFailed(from.failed);
  to.setRestarts(from.restarts);
  to.setLastRestart(from.last_restart);
  to.setStartedAt(from.started_at);
  to.setFinishedAt(from.finished_at);
  to.setPaused(from.paused);
  auto events = to.initEvents(from.events.size());
  for (unsigned i = 0; i < events.size(); ++i)
    write_event(from.events[i], events[i]);
}

TaskState read_task_state(schema::TaskState::Reader from) {
  TaskState state{.state = from.getState(),
                  .failed = from.getFailed(),
                  .restarts = from.getRestarts(),
                  .last_restart = from.getLastRestart(),
                  .started_at = from.getStartedAt(),
                  .finished_at = from.getFinishedAt(),
                  .events = {},
                  .paused = from.getPaused()};
  for (const auto event : from.getEvents()) {
    TaskEvent copied{.type = copy(event.getType()),
                     .time = event.getTime(),
                     .display_message = copy(event.getDisplayMessage()),
                     .details = {}};
    for (const auto detail : event.getDetails())
      copied.details.emplace_back(copy(detail.getKey()), copy(detail.getValue()));
    state.events.push_back(std::move(copied));
  }
  return state;
}

AllocUpdate make_update(const AllocReport& report, std::int64_t unix_now) {
  Draft<schema::Allocation> draft;
  draft->setId(text(report.alloc_id));
  draft->setNodeId(text(report.node_id));
  draft->setClientStatus(report.status);
  draft->setClientDescription(text(report.description));
  if (!report.tasks.empty()) write_states(report, *draft);
  write_health(report, *draft);
  write_network(report, *draft);

  const auto digest = digest_of(draft.freeze().bytes());
  draft->setModifyTime(unix_now);
  return {.alloc = draft.freeze(), .state = {.status = report.status, .digest = digest}};
}

AllocUpdate make_rejection(AllocView assigned,
                           schema::Job::Reader job,
                           std::string_view reason,
                           std::int64_t unix_now) {
  std::map<std::string, TaskState> states;
  if (const auto group = find_group(job, assigned.task_group()))
    for (const auto task : group->getTasks()) {
      auto& state = states[copy(task.getName())];
      state.append(task_event::setup_failed(unix_now, std::string{reason}).failing_task());
      state.enter(TaskRunState::DEAD, unix_now);
    }
  const auto description = fmt::format("Unable to add allocation due to error: {}", reason);
  AllocReport report{.alloc_id = assigned.id(),
                     .node_id = assigned.node_id(),
                     .status = ClientStatus::FAILED,
                     .description = description,
                     .tasks = {},
                     .health = std::nullopt,
                     .assigned = assigned};
  for (const auto& [name, state] : states)
    report.tasks.push_back({name, &state});
  if (!assigned.deployment_id().empty())
    report.health = HealthStatus{.healthy = false, .timestamp = unix_now};
  return make_update(report, unix_now);
}

std::optional<schema::TaskGroup::Reader> find_group(schema::Job::Reader job,
                                                    std::string_view name) {
  for (const auto group : job.getTaskGroups())
    if (view(group.getName()) == name) return group;
  return std::nullopt;
}

std::optional<schema::Task::Reader> find_task(AllocView alloc,
                                              schema::Job::Reader job,
                                              std::string_view name) {
  if (const auto group = find_group(job, alloc.task_group()))
    for (const auto task : group->getTasks())
      if (view(task.getName()) == name) return task;
  return std::nullopt;
}

}  // namespace nomad::workload
