// PlanApplier: turns the schedulers' plans into log entries, in order of priority, each verified
// against the newest state and all plans before it.
//
// A plan is verified while earlier ones are still being written: then against a private
// continuation of the state to which those have been applied. It is made anew from the published
// state every so often, so that what else changes meanwhile is seen. A plan that is too long for an
// entry is verified and written in parts (PlanParts), between which others have their turn.
//
// Refused is a plan of an evaluation that has ended, or of which another plan was written that this
// one does not know: deliveries of one evaluation may overlap, when their worker was slow or
// leadership was lost and won again. The state that this is judged by holds all that is under way,
// and only the leader's applier proposes plans, so nothing can come between judgement and entry.
//
// Owns:   the plan queue, the entries under way, and which nodes are refused often.
// Takes:  SubmitPlan. Answered when the plan's last entry is applied, or when nothing of it fits;
//         `conflict` when it is refused as a whole. Lead: whatever waits is of another leadership.
// Writes: also the ineligibility of nodes that are refused often, if that is configured.
// Parent: server, restart. It waits until the log has what it had under way.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/cluster/rejected_nodes.hpp"
#include "runtime/scheduler/plan/plan_parts.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/server_metrics.hpp"

namespace nomad::server {

namespace plan_applier {

struct SubmitPlan {
  using is_message = void;
  std::shared_ptr<const scheduler::Plan> plan;
};

struct PlanApplied {
  using is_message = void;
  scheduler::PlanResult result;
};

}  // namespace plan_applier

using PlanApplier
    = actor::Interface<plan_applier::PlanApplied(plan_applier::SubmitPlan), void(Lead)>;

struct PlanApplierOptions {
  scheduler::PartLimits parts = {};
  cluster::RejectedNodeOptions rejected_nodes = {};
  std::string region = "global";  ///< The server's own.
  std::shared_ptr<telemetry::ServerMetrics> metrics = telemetry::ServerMetrics::make(nullptr);
};

PlanApplier spawn_plan_applier(const actor::Owner& owner,
                               std::shared_ptr<state::Store> store,
                               raft::Proposer proposer,
                               std::uint64_t random_seed,
                               PlanApplierOptions options = {});

}  // namespace nomad::server
