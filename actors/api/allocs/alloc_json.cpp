#include "actors/api/allocs/alloc_json.hpp"

#include <algorithm>

#include "actors/api/http/json_out.hpp"
#include "runtime/identity/issue.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::api {
namespace {

void append_details(JsonObject& object, schema::TaskEvent::Reader event) {
  if (!event.hasDetails()) {
    object.null("Details");
    return;
  }
  append_json_map(object.raw("Details"), event.getDetails(),
                  [](std::string& to, auto value) { append_json_text(to, view(value)); });
}

void append_event(std::string& out, schema::TaskEvent::Reader event) {
  JsonObject object{out};
  append_details(object, event);
  object.number("DiskLimit", event.getDiskLimit())
      .text("DisplayMessage", event.getDisplayMessage())
      .text("DownloadError", event.getDownloadError())
      .text("DriverError", event.getDriverError())
      .text("DriverMessage", event.getDriverMessage())
      .number("ExitCode", event.getExitCode())
      .text("FailedSibling", event.getFailedSibling())
      .boolean("FailsTask", event.getFailsTask())
      .text("GenericSource", event.getGenericSource())
      .text("KillError", event.getKillError())
      .text("KillReason", event.getKillReason())
      .number("KillTimeout", event.getKillTimeout())
      .text("Message", event.getMessage())
      .text("RestartReason", event.getRestartReason())
      .text("SetupError", event.getSetupError())
      .number("Signal", event.getSignal())
      .number("StartDelay", event.getStartDelay())
      .text("TaskSignal", event.getTaskSignal())
      .text("TaskSignalReason", event.getTaskSignalReason())
      .number("Time", event.getTime())
      .text("Type", event.getType())
      .text("ValidationError", event.getValidationError())
      .text("VaultError", event.getVaultError());
}

void append_task_state(std::string& out, schema::TaskState::Reader state) {
  JsonObject object{out};
  if (state.hasEvents())
    append_json_list(object.raw("Events"), state.getEvents(),
                     [](std::string& to, auto event) { append_event(to, event); });
  else
    object.null("Events");
  object.boolean("Failed", state.getFailed());
  append_time(object, "FinishedAt", state.getFinishedAt());
  append_time(object, "LastRestart", state.getLastRestart());
  if (state.getPaused() != schema::TaskScheduleState::RUN)
    object.text("Paused", enum_name(state.getPaused()));
  object.number("Restarts", state.getRestarts());
  append_time(object, "StartedAt", state.getStartedAt());
  object.text("State", enum_name(state.getState()));
  if (state.hasTaskHandle())
    object.object("TaskHandle", state.getTaskHandle());
  else
    object.null("TaskHandle");
}

void append_task_states(JsonObject& object, schema::Allocation::Reader alloc) {
  if (!alloc.hasTaskStates()) {
    object.null("TaskStates");
    return;
  }
  append_json_map(object.raw("TaskStates"), alloc.getTaskStates(),
                  [](std::string& to, auto state) { append_task_state(to, state); });
}

/// A struct by the generic codec, or null.
template <class Reader>
void append_or_null(JsonObject& object, std::string_view name, bool has, const Reader& reader) {
  if (has)
    object.object(name, reader);
  else
    object.null(name);
}

/// Amounts in the shape that Nomad had before AllocatedResources.
struct LegacyResources {
  std::int64_t cpu = 0;
  std::int64_t cores = 0;
  std::int64_t memory_mb = 0;
  std::int64_t memory_max_mb = 0;
  std::int64_t disk_mb = 0;
};

template <class Networks>
void append_legacy(std::string& out,
                   const LegacyResources& amounts,
                   bool has_networks,
                   const Networks& networks) {
  JsonObject object{out};
  object.number("CPU", amounts.cpu)
      .number("Cores", amounts.cores)
      .null("Devices")
      .number("DiskMB", amounts.disk_mb)
      .number("IOPS", 0)
      .number("MemoryMB", amounts.memory_mb)
      .number("MemoryMaxMB", amounts.memory_max_mb);
  if (has_networks)
    append_json_list(object.raw("Networks"), networks,
                     [](std::string& to, auto network) { append_json(to, network); });
  else
    object.null("Networks");
}

LegacyResources legacy_of(schema::AllocatedTaskResources::Reader task) {
  LegacyResources amounts;
  amounts.cpu = task.getCpu().getCpuShares();
  amounts.cores = task.getCpu().getReservedCores().size();
  amounts.memory_mb = task.getMemory().getMemoryMb();
  amounts.memory_max_mb = task.getMemory().getMemoryMaxMb();
  return amounts;
}

void append_legacy_resources(JsonObject& object, schema::AllocatedResources::Reader resources) {
  const auto shared = resources.getShared();
  LegacyResources total;
  total.disk_mb = shared.getDiskMb();
  for (const auto entry : resources.getTasks()) {
    const auto task = legacy_of(entry.getValue());
    total.cpu += task.cpu;
    total.cores += task.cores;
    total.memory_mb += task.memory_mb;
    total.memory_max_mb += std::max(task.memory_mb, task.memory_max_mb);
  }
  append_legacy(object.raw("Resources"), total, shared.hasNetworks(), shared.getNetworks());
  LegacyResources of_group;
  of_group.disk_mb = shared.getDiskMb();
  append_legacy(object.raw("SharedResources"), of_group, shared.hasNetworks(),
                shared.getNetworks());
  append_json_map(object.raw("TaskResources"), resources.getTasks(),
                  [](std::string& to, auto task) {
                    append_legacy(to, legacy_of(task), task.hasNetworks(), task.getNetworks());
                  });
}

void append_transition(JsonObject& object, schema::Allocation::Reader alloc) {
  if (alloc.hasDesiredTransition())
    object.object("DesiredTransition", alloc.getDesiredTransition());
  else
    object.raw("DesiredTransition")
        += R"({"ForceReschedule":null,"Migrate":null,"NoShutdownDelay":null,"Reschedule":null})";
}

}  // namespace

void append_alloc_stub(std::string& out, const state::AllocRow& row, const StubOptions& options) {
  const auto alloc = row.alloc.reader();
  JsonObject object{out};
  if (options.resources && alloc.hasAllocatedResources())
    object.object("AllocatedResources", alloc.getAllocatedResources());
  object.text("ClientDescription", alloc.getClientDescription())
      .text("ClientStatus", enum_name(alloc.getClientStatus()))
      .number("CreateIndex", alloc.getCreateIndex())
      .number("CreateTime", alloc.getCreateTime());
  append_or_null(object, "DeploymentStatus", alloc.hasDeploymentStatus(),
                 alloc.getDeploymentStatus());
  object.text("DesiredDescription", alloc.getDesiredDescription())
      .text("DesiredStatus", enum_name(alloc.getDesiredStatus()));
  append_transition(object, alloc);
  object.text("EvalID", alloc.getEvalId())
      .text("FollowupEvalID", alloc.getFollowupEvalId())
      .text("ID", alloc.getId())
      .text("JobID", alloc.getJobId())
      .text("JobType", row.job ? view(row.job->getType()) : std::string_view{})
      .number("JobVersion", alloc.getJobVersion())
      .number("ModifyIndex", alloc.getModifyIndex())
      .number("ModifyTime", alloc.getModifyTime())
      .text("Name", alloc.getName())
      .text("Namespace", alloc.getNamespace())
      .text("NextAllocation", alloc.getNextAllocation())
      .text("NodeID", alloc.getNodeId())
      .text("NodeName", alloc.getNodeName());
  if (alloc.hasPreemptedAllocations())
    append_json_list(object.raw("PreemptedAllocations"), alloc.getPreemptedAllocations(),
                     [](std::string& to, auto id) { append_json_text(to, view(id)); });
  else
    object.null("PreemptedAllocations");
  object.text("PreemptedByAllocation", alloc.getPreemptedByAllocation());
  append_or_null(object, "RescheduleTracker", alloc.hasRescheduleTracker(),
                 alloc.getRescheduleTracker());
  object.text("TaskGroup", alloc.getTaskGroup());
  if (options.task_states)
    append_task_states(object, alloc);
  else
    object.null("TaskStates");
}

void append_event_alloc(std::string& out,
                        schema::Allocation::Reader alloc,
                        const Object<schema::AllocMetric>& metric,
                        std::string_view signing_key) {
  JsonObject object{out};
  object.members(alloc);
  if (!signing_key.empty()) object.text("SigningKeyID", signing_key);
  if (metric) object.object("Metrics", *metric);
  if (alloc.hasAllocatedResources()) append_legacy_resources(object, alloc.getAllocatedResources());
}

std::string signing_key_of(const state::Snapshot& state, AllocView alloc) {
  if (alloc.identity_key() == 0) return {};
  const auto key = identity::key_created_at(state, alloc.identity_key());
  return key ? copy(key->getKeyId()) : std::string{};
}

void append_alloc(std::string& out, const state::AllocRow& row, std::string_view signing_key) {
  const auto alloc = row.alloc.reader();
  JsonObject object{out};
  object.members(alloc);
  if (!signing_key.empty()) object.text("SigningKeyID", signing_key);
  if (row.job) object.object("Job", *row.job);
  if (row.metric) object.object("Metrics", *row.metric);
  if (alloc.hasAllocatedResources()) append_legacy_resources(object, alloc.getAllocatedResources());
}

}  // namespace nomad::api
