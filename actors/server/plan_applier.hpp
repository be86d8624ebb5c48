// PlanApplier: turns the schedulers' plans into log entries, in order of priority, each verified
// against the newest state and all plans before it.
//
// A plan is verified while earlier ones are still being written: then against a private
// continuation of the state to which those have been applied. It is made anew from the published
// state every so often, so that what else changes meanwhile is seen.
//
// Owns:   the plan queue and the entries under way.
// Takes:  SubmitPlan. Answered when the plan's entry is applied, or when nothing of it fits.
// Parent: server, restart. It waits until the log has what it had under way.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/state/store.hpp"

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

using PlanApplier = actor::Interface<plan_applier::PlanApplied(plan_applier::SubmitPlan)>;

PlanApplier spawn_plan_applier(const actor::Owner& owner,
                               std::shared_ptr<state::Store> store,
                               raft::Proposer proposer,
                               std::uint64_t random_seed);

}  // namespace nomad::server
