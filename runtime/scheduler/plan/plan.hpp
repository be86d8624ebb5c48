// Plan: what one evaluation wants to change; verified node by node (plan_check) before it is
// written.
//
// May depend on: runtime/state. A value that is handed from a scheduler to the plan applier.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/state/rows.hpp"
#include "schema/deployment.capnp.h"
#include "schema/eval.capnp.h"

namespace nomad::scheduler {

/// An existing allocation that is to end, or that has ended without its client saying so.
struct PlannedStop {
  state::AllocRef alloc;
  schema::DesiredStatus desired_status = schema::DesiredStatus::STOP;
  std::string description;
  std::optional<schema::ClientStatus> client_status;  ///< Set by the servers: lost, failed.
  std::string followup_eval_id;
  std::string preempted_by;
};

struct DeploymentChange {
  std::string deployment_id;
  schema::DeploymentState status = schema::DeploymentState::RUNNING;
  std::string description;
};

/// A new allocation, or a new version of an existing row (updated in place, unknown, reconnected).
struct PlannedAlloc {
  Object<schema::Allocation> row;
  state::Demand demand;
  bool is_new = true;
};

struct NodeChanges {
  std::vector<PlannedStop> stops;
  std::vector<PlannedStop> preemptions;
  std::vector<PlannedAlloc> placements;
  /// What earlier parts of the same plan have told to end here: its room is the plan's.
  std::vector<state::AllocRef> ended_before = {};
};

/// Counts for `job plan`.
struct DesiredUpdates {
  std::uint64_t ignore = 0;
  std::uint64_t place = 0;
  std::uint64_t migrate = 0;
  std::uint64_t stop = 0;
  std::uint64_t in_place_update = 0;
  std::uint64_t destructive_update = 0;
  std::uint64_t canary = 0;
  std::uint64_t preemptions = 0;
};

struct Plan {
  std::string eval_id;
  std::string eval_token;      ///< Of the delivery under which the plan was made.
  std::uint64_t decision = 0;  ///< That it came of, where decisions are kept (kept_decision.hpp).
  std::int64_t priority = 50;
  bool all_at_once = false;  ///< All nodes or none.
  bool is_part = false;      ///< Of a plan that is too long for one entry (PlanParts).
  std::uint64_t snapshot_index = 0;
  Object<schema::Job> job;  ///< Empty when the job is gone.

  std::map<std::string, NodeChanges, std::less<>> nodes;
  std::vector<Object<schema::AllocMetric>> metrics;  ///< By the rows' `metricNumber`.
  Object<schema::Deployment> deployment;             ///< To create or replace; empty: none.
  std::vector<DeploymentChange> deployment_changes;

  /// Written with the plan, whether or not all of it is: follow-ups that its stops name.
  std::vector<Object<schema::Evaluation>> evaluations;
  /// Written with the plan if all of it is: the evaluation, completed. Saves a log entry.
  Object<schema::Evaluation> completion;

  std::map<std::string, DesiredUpdates, std::less<>> desired_updates;  ///< By group.

  bool is_no_op() const { return nodes.empty() && !deployment && deployment_changes.empty(); }

  std::size_t placement_count() const;
};

/// What of a plan was written.
struct PlanResult {
  /// Of each node whose part was refused, why. Empty: all of the plan is written.
  std::map<std::string, std::string, std::less<>> rejected_nodes;
  std::uint64_t alloc_index = 0;    ///< The index of the write; 0 if nothing was written.
  std::uint64_t refresh_index = 0;  ///< A retry needs a state at least this new.
  bool completion_written = false;
  bool made_progress = false;  ///< Anything at all was written.

  bool is_full() const { return rejected_nodes.empty(); }
};

}  // namespace nomad::scheduler
