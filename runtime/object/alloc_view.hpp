// AllocView: an allocation as everybody reads it, whoever holds it: the state, a plan, a report, a
// client. Behind it stands the object that the schema generates, and only here, in the API's
// encoder and where commands are built does anybody know of that: so rows and plans may come to
// keep columns, refer to their job, or share parts, and nothing that decides about allocations
// changes.
//
// A view owns nothing and copies nothing: it, its texts, lists and parts are valid as long as the
// object that it was taken of. Texts end with a NUL, as `text` wants them for setters. What an
// allocation does not have is an empty text, an empty list, zero or a part with its defaults. Times
// are Unix nanoseconds; indexes are those of the log.
//
// `Object<schema::Allocation>` is read by it (`object->client_status()`), see
// runtime/object/object.hpp.
//
// Thread-safe: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/object/draft.hpp"
#include "schema/alloc.capnp.h"

namespace nomad {

/// Complete, failed or lost: nothing of it will run any more, as far as its client is known.
inline bool is_client_terminal(schema::ClientStatus status) {
  using Is = schema::ClientStatus;
  return status == Is::COMPLETE || status == Is::FAILED || status == Is::LOST;
}

class AllocView {
public:
  using Resources = schema::AllocatedResources::Reader;
  template <class T>
  using List = typename capnp::List<T>::Reader;

  AllocView() = default;

  /// Of an allocation in a command, a message or a draft; objects are read by their `->` and `*`.
  AllocView(schema::Allocation::Reader fields) : fields_{fields} {}

  // -- What it is
  // ----------------------------------------------------------------------------------

  std::string_view id() const { return view(fields_.getId()); }

  std::string_view ns() const { return view(fields_.getNamespace()); }

  std::string_view name() const { return view(fields_.getName()); }

  std::string_view task_group() const { return view(fields_.getTaskGroup()); }

  std::string_view job_id() const { return view(fields_.getJobId()); }

  std::uint64_t job_version() const { return fields_.getJobVersion(); }

  /// Tells a job from an earlier one of its name.
  std::uint64_t job_create_index() const { return fields_.getJobCreateIndex(); }

  std::string_view node_id() const { return view(fields_.getNodeId()); }

  /// Of the evaluation that placed it or changed it last.
  std::string_view eval_id() const { return view(fields_.getEvalId()); }

  /// Of its placement's metrics: in a plan their position, in the state a part of their key.
  std::uint32_t metric_number() const { return fields_.getMetricNumber(); }

  // -- What it was given
  // ---------------------------------------------------------------------------

  Resources resources() const { return fields_.getAllocatedResources(); }

  /// Of one of its tasks; none if the allocation knows of no such task.
  std::optional<schema::AllocatedTaskResources::Reader> resources(std::string_view task) const {
    for (const auto entry : resources().getTasks())
      if (view(entry.getKey()) == task) return entry.getValue();
    return std::nullopt;
  }

  /// Of its group's networks; those of tasks' networks are in their resources.
  List<schema::PortMapping> ports() const { return resources().getShared().getPorts(); }

  // -- What the servers want of it
  // -----------------------------------------------------------------

  schema::DesiredStatus desired_status() const { return fields_.getDesiredStatus(); }

  std::string_view desired_description() const { return view(fields_.getDesiredDescription()); }

  /// It is to stop, or was evicted.
  bool is_server_terminal() const { return desired_status() != schema::DesiredStatus::RUN; }

  bool wants_migration() const { return is_set(transition().getMigrate()); }

  bool wants_reschedule() const { return is_set(transition().getReschedule()); }

  bool forces_reschedule() const { return is_set(transition().getForceReschedule()); }

  /// Its services go at once when it stops.
  bool skips_shutdown_delay() const { return is_set(transition().getNoShutdownDelay()); }

  /// All of the above that was asked for, to be handed on.
  bool has_transition() const { return fields_.hasDesiredTransition(); }

  schema::DesiredTransition::Reader transition() const { return fields_.getDesiredTransition(); }

  // -- How its client says that it is
  // --------------------------------------------------------------

  schema::ClientStatus client_status() const { return fields_.getClientStatus(); }

  std::string_view client_description() const { return view(fields_.getClientDescription()); }

  bool is_client_terminal() const { return nomad::is_client_terminal(client_status()); }

  /// It has ended, or is to.
  bool is_terminal() const { return is_client_terminal() || is_server_terminal(); }

  bool has_task_states() const { return fields_.hasTaskStates(); }

  List<schema::TaskStateEntry> task_states() const { return fields_.getTaskStates(); }

  /// What servers noted of it while its client was away, the oldest first.
  List<schema::AllocState> alloc_states() const { return fields_.getAllocStates(); }

  bool has_network_status() const { return fields_.hasNetworkStatus(); }

  schema::AllocNetworkStatus::Reader network_status() const { return fields_.getNetworkStatus(); }

  /// Of its node's last report about it: grows with each; 0: without.
  std::uint64_t report_number() const { return fields_.getReportNumber(); }

  // -- Whose it is
  // ---------------------------------------------------------------------------------------

  /// CreateIndex of the root key that signs its identities; 0: it has none yet.
  std::uint64_t identity_key() const { return fields_.getIdentityKey(); }

  /// Since when: Unix seconds.
  std::int64_t identity_time() const { return fields_.getIdentityTime(); }

  // -- Its deployment
  // ------------------------------------------------------------------------------

  std::string_view deployment_id() const { return view(fields_.getDeploymentId()); }

  bool is_canary() const { return deployment_status().getCanary(); }

  /// None until somebody has judged.
  std::optional<bool> health() const {
    const auto healthy = deployment_status().getHealthy();
    if (!healthy.isValue()) return std::nullopt;
    return healthy.getValue();
  }

  bool has_deployment_status() const { return fields_.hasDeploymentStatus(); }

  schema::DeploymentStatus::Reader deployment_status() const {
    return fields_.getDeploymentStatus();
  }

  // -- What it came of, and what came of it
  // --------------------------------------------------------

  /// The allocation that it replaces.
  std::string_view previous() const { return view(fields_.getPreviousAllocation()); }

  /// The allocation that replaces it.
  std::string_view next() const { return view(fields_.getNextAllocation()); }

  /// Its earlier reschedulings, the oldest first.
  List<schema::RescheduleEvent> reschedule_events() const {
    return fields_.getRescheduleTracker().getEvents();
  }

  /// The evaluation that waits to replace it.
  std::string_view followup_eval_id() const { return view(fields_.getFollowupEvalId()); }

  /// Ids of those that made room for it.
  List<capnp::Text> preempted() const { return fields_.getPreemptedAllocations(); }

  std::string_view preempted_by() const { return view(fields_.getPreemptedByAllocation()); }

  // -- When
  // ----------------------------------------------------------------------------------------

  std::uint64_t create_index() const { return fields_.getCreateIndex(); }

  /// Of its last change by anybody.
  std::uint64_t modify_index() const { return fields_.getModifyIndex(); }

  /// Of its last change by servers: what its client has to hear of.
  std::uint64_t alloc_modify_index() const { return fields_.getAllocModifyIndex(); }

  std::int64_t create_time() const { return fields_.getCreateTime(); }

  std::int64_t modify_time() const { return fields_.getModifyTime(); }

private:
  template <class Flag>
  static bool is_set(Flag flag) {
    return flag.isValue() && flag.getValue();
  }

  schema::Allocation::Reader fields_;
};

}  // namespace nomad
