// SchedulerWorker: takes evaluations from the broker and runs schedulers on them. While the plans
// of some are being written it works on others, with what those will take reserved. An evaluation
// that finds no room with such plans in the way waits until these are settled, and those alone:
// then its decision stands if they were written as they are, and is made anew if not.
//
// What schedules jobs of a plugin's type is a question to the plugin. It has half a minute. Without
// an answer, or with nonsense for one, the evaluation is refused with the reason: the broker
// delivers it twice more and ends it then, and another one follows some minutes later.
//
// Owns:   the schedulers of the evaluations it works on; a thread.
// Takes:  nothing but its own messages; asks the broker and the plan applier.
// Parent: server, restart, with others of its kind. The broker begins anew with it.
// Ends:   by the parent's exit message. What it worked on is delivered again by the broker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/server/decisions/decision_feed.hpp"
#include "actors/server/eval_broker.hpp"
#include "actors/server/plan_applier.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/server_metrics.hpp"

namespace nomad::server {

struct SchedulerWorkerOptions {
  std::vector<std::string> types{"service", "batch", "system", "sysbatch",
                                 std::string{cluster::EvalQueue::other_types}};
  std::shared_ptr<const JobTypes> job_types{};  ///< Of plugins; null: none.
  std::size_t most_at_once = 32;                ///< Evaluations worked on at the same time.
  std::shared_ptr<DecisionFeed> decisions{};    ///< Who is told of them; null: nobody.
  std::shared_ptr<telemetry::ServerMetrics> metrics = telemetry::ServerMetrics::make(nullptr);
  bool detached = true;           ///< Not in deterministic tests.
  std::string region = "global";  ///< The server's own.
};

struct SchedulerWorkerStats {
  using is_message = void;
  std::uint64_t started = 0;  ///< Evaluations.
  std::uint64_t plans = 0;
  std::uint64_t failed = 0;
};

struct GetSchedulerWorkerStats {
  using is_message = void;
};

using SchedulerWorker = actor::Interface<SchedulerWorkerStats(GetSchedulerWorkerStats)>;

SchedulerWorker spawn_scheduler_worker(const actor::Owner& owner,
                                       std::shared_ptr<state::Store> store,
                                       raft::Proposer proposer,
                                       EvalBroker broker,
                                       PlanApplier applier,
                                       SchedulerWorkerOptions options);

}  // namespace nomad::server
