// The reconciler: compares what a service or batch job wants with the allocations that it has, and
// says what is to be placed, replaced, updated and stopped, and how its deployment goes on.
//
// May depend on: runtime/state. Pure: time, ids and the comparison of one allocation with the new
// job come in as arguments. It picks no nodes; the scheduler does that for each placement.
//
// Invariants:
//   (1) every allocation ends in at most one of: stop, in-place, destructive, attribute,
//       disconnect and reconnect updates;
//   (2) for each group, placements ≤ max(0, count - kept) + replacements of failed ones + canaries;
//   (3) applied and run again on its own outcome, it does nothing (apart from waiting).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/reconcile/name_index.hpp"
#include "runtime/state/rows.hpp"
#include "schema/deployment.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::scheduler {

/// An allocation with what the reconciler asks about it.
struct AllocEntry {
  state::AllocRef row;

  AllocView alloc() const { return *row->alloc; }

  schema::Job::Reader job() const { return *row->job; }

  std::string_view id() const;
  std::string_view name() const;
};

/// A node that its allocations can't rely on: down, disconnected, draining, or gone (empty).
using TaintedNodes = std::map<std::string, Object<schema::Node>, std::less<>>;

enum class UpdateKind : std::uint8_t { ignore, in_place, destructive };

/// How the new job changes an allocation that stays. For `in_place`, the decider remembers the new
/// row; the reconciler only needs the kind.
using UpdateDecider = std::function<UpdateKind(const AllocEntry&, const GroupSpec&)>;

struct StopRequest {
  const AllocEntry* alloc = nullptr;
  std::string_view description;
  std::optional<schema::ClientStatus> client_status;
  std::string followup_eval_id;
};

struct PlaceRequest {
  std::string name;
  const GroupSpec* group = nullptr;
  const AllocEntry* previous = nullptr;  ///< What it replaces, if anything.
  bool reschedule = false;               ///< `previous` failed: carries the history on.
  bool canary = false;
  bool lost = false;
  /// While canaries run, replacements of others use the newest stable version.
  bool downgrade = false;
  std::uint64_t min_job_version = 0;
  /// Stop `previous` in the same step; not if nothing can be placed (destructive update).
  bool stop_previous = false;
};

/// A new version of a row that changes nothing for the client.
struct RowUpdate {
  const AllocEntry* alloc = nullptr;
  std::optional<schema::ClientStatus> client_status;  ///< unknown, with the next field.
  std::optional<schema::ClientStatus> append_state;   ///< To the list of AllocStates.
  std::string_view description;                       ///< Of the client; empty: unchanged.
  std::string followup_eval_id;                       ///< Empty: unchanged.
};

struct Reconciliation {
  std::vector<PlaceRequest> destructive;  ///< Placed first.
  std::vector<PlaceRequest> place;
  std::vector<const AllocEntry*> in_place;
  std::vector<StopRequest> stop;
  std::vector<RowUpdate> row_updates;     ///< Attributes, disconnecting and reconnecting ones.
  Object<schema::Deployment> deployment;  ///< To create or replace; empty: none.
  std::vector<DeploymentChange> deployment_changes;
  std::vector<Object<schema::Evaluation>> followups;
  std::map<std::string, DesiredUpdates, std::less<>> desired_updates;
  /// A placement whose index is a duplicate gets a free name from here, if there is one.
  std::map<std::string, NameIndex, std::less<>> name_indexes;
};

struct ReconcileInput {
  const JobSpec* job = nullptr;  ///< Null: the job is purged.
  std::string_view ns;
  std::string_view job_id;
  Object<schema::Deployment> deployment;  ///< The job's latest; empty: none.
  const std::vector<AllocEntry>* allocs = nullptr;
  const TaintedNodes* tainted = nullptr;
  std::string_view eval_id;
  std::int64_t eval_priority = 50;
  bool is_batch = false;
  std::int64_t now = 0;  ///< Unix nanoseconds.
};

/// `decide` is asked at most once for each allocation. `random` makes ids.
Reconciliation reconcile(const ReconcileInput& input, const UpdateDecider& decide, Random& random);

// Descriptions that users see.
inline constexpr std::string_view alloc_not_needed = "alloc not needed due to job update";
inline constexpr std::string_view alloc_reconnected
    = "alloc not needed due to disconnected client reconnect";
inline constexpr std::string_view alloc_migrating = "alloc is being migrated";
inline constexpr std::string_view alloc_updating = "alloc is being updated due to job update";
inline constexpr std::string_view alloc_lost = "alloc is lost since its node is down";
inline constexpr std::string_view alloc_unknown = "alloc is unknown since its node is disconnected";
inline constexpr std::string_view alloc_rescheduled = "alloc was rescheduled because it failed";
inline constexpr std::string_view alloc_node_tainted = "alloc not needed as node is tainted";

}  // namespace nomad::scheduler
