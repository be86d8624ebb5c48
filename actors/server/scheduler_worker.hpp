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
// Takes:  TypesChanged; asks the broker and the plan applier.
// Parent: server, restart, with others of its kind. The broker begins anew with it.
// Ends:   by the parent's exit message. What it worked on is delivered again by the broker.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
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

/// Which evaluations a worker asks for; outlives its restarts. Thread-safe.
class WorkerTypes {
public:
  /// At first all that there are.
  std::vector<std::string> get() const {
    const std::lock_guard lock{guard_};
    return types_;
  }

  /// None: it works on nothing.
  void set(std::vector<std::string> types) {
    const std::lock_guard lock{guard_};
    types_ = std::move(types);
  }

private:
  mutable std::mutex guard_;
  std::vector<std::string> types_{"service", "batch", "system", "sysbatch",
                                  std::string{cluster::EvalQueue::other_types}};
};

struct SchedulerWorkerOptions {
  std::string id = {};  ///< For the broker and for who is shown it.
  std::shared_ptr<WorkerTypes> types = std::make_shared<WorkerTypes>();
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
  std::int64_t since = 0;  ///< When it was started, or restarted; Unix nanoseconds.
  std::size_t works = 0;   ///< Evaluations that it works on now.
};

struct GetSchedulerWorkerStats {
  using is_message = void;
};

/// The types that it is to ask for have changed. What it works on it finishes.
struct TypesChanged {
  using is_message = void;
};

using SchedulerWorker
    = actor::Interface<SchedulerWorkerStats(GetSchedulerWorkerStats), void(TypesChanged)>;

SchedulerWorker spawn_scheduler_worker(const actor::Owner& owner,
                                       std::shared_ptr<state::Store> store,
                                       raft::Proposer proposer,
                                       EvalBroker broker,
                                       PlanApplier applier,
                                       SchedulerWorkerOptions options);

}  // namespace nomad::server
