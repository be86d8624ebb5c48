// Cluster: the servers' side of a cluster without its actors: a state store, the broker's queue and
// the tracker of what waits, workers that run schedulers and hold steps back, an applier that
// verifies plans part by part while earlier ones are under way, what watches deployments and
// drains. A case drives it step by step; what is due is done in random order.
//
// What it learns of evaluations, plans, drains and written rows is handed to a `Checks`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/cluster/blocked/blocked_evals.hpp"
#include "runtime/cluster/drain/drain_plan.hpp"
#include "runtime/cluster/eval_queue.hpp"
#include "runtime/cluster/next_deployment_command.hpp"
#include "runtime/cluster/plan_queue.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/held_steps.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/plan/plan_parts.hpp"
#include "runtime/scheduler/plan/plans_ahead.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"
#include "test/properties/counts.hpp"
#include "test/properties/features.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

/// A delivery that a worker works on.
struct Work {
  Object<schema::Evaluation> eval;
  std::string token;
  std::size_t worker = 0;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  state::Snapshot seen;  ///< The state of the last step.
  std::optional<scheduler::PlanResult> result;
  std::size_t plans = 0;

  /// A step that found no room while plans were under way: it waits for these.
  std::optional<scheduler::Step> held;
};

/// A plan of which at least one part is not written. Its work may be lost meanwhile.
struct Waiting {
  std::shared_ptr<const scheduler::Plan> whole;
  scheduler::PlanParts parts;
};

/// A part of a plan whose entry is proposed but not applied yet.
struct UnderWay {
  std::shared_ptr<Waiting> waiting;
  std::shared_ptr<const scheduler::Plan> part;
  scheduler::PlanVerdict verdict;
  Object<schema::Command> command;
  std::uint64_t number = 0;  ///< Of PlansAhead.
};

/// Told of what is to be judged. Each throws a Violation.
class Checks {
public:
  virtual ~Checks() = default;

  /// A scheduler has made a plan of `work.seen`.
  virtual void on_plan(const Work& work, const scheduler::Plan& plan) = 0;

  /// It has also come to the end with these evaluations, or takes them along.
  virtual void on_evaluations(const Work& work,
                              const std::vector<Object<schema::Evaluation>>& evaluations)
      = 0;

  /// A plan's entry was applied: `before` and `after` are the states around it.
  virtual void on_commit(const UnderWay& plan,
                         const state::Snapshot& before,
                         const state::Snapshot& after)
      = 0;

  /// The drainer has decided about `state`, at `now`.
  virtual void on_drain(const state::Snapshot& state,
                        const cluster::DrainRound& round,
                        std::int64_t now)
      = 0;

  /// What watches a deployment is about to write `command`, at `now`.
  virtual void on_deployment(const state::Snapshot& state,
                             schema::Deployment::Reader deployment,
                             schema::Command::Reader command,
                             std::int64_t now)
      = 0;
};

class Cluster {
public:
  Cluster(std::uint64_t seed, const Features& features, Checks& checks, Counts& counts);

  state::Snapshot state() const { return store_.snapshot(); }

  std::int64_t now = 1'700'000'000 * second;
  Random random;  ///< Of ids and of the order of work.

  // -- what happens ------------------------------------------------------------------------------

  /// Applies a command, which must be accepted.
  template <class Fill>
  void write(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    apply(draft.freeze());
  }

  void apply(const Object<schema::Command>& command);

  void write_evaluations(const std::vector<Object<schema::Evaluation>>& evaluations);

  /// A pending evaluation of the job, which may be gone.
  void evaluate(const std::string& job_id, schema::EvalTrigger trigger);

  /// The evaluations that a node's change calls for.
  void evaluate_node(const std::string& node_id);

  /// One client reports of some of its allocations.
  struct Report {
    std::string alloc_id;
    schema::ClientStatus status = schema::ClientStatus::RUNNING;
    std::optional<bool> healthy = {};
  };

  void report(const std::vector<Report>& reports);

  // -- what servers do ---------------------------------------------------------------------------

  /// One thing that is due, chosen at random; false when there is nothing.
  bool work();

  /// Works until nothing is due; at most `most` things. Returns whether nothing is.
  bool work_off(std::size_t most);

  /// Some of what is under way is written: maybe none, maybe all.
  void write_some();

  /// When the next thing that waits for its time is due; nothing if none does.
  std::optional<std::int64_t> next_due() const;

  /// Whether evaluations of the job are due or worked on.
  bool is_busy(std::string_view job_id) const;

  /// Whether an evaluation of the job waits for capacity; `gave_up`: after too many conflicts.
  bool waits(std::string_view job_id, bool gave_up = false) const;

  /// Leadership is lost and won again, by another server or by the same: what was not written is
  /// lost, some of what was under way, too.
  void change_leader(bool same_server);

  /// A worker loses one of its evaluations, which is delivered again. Its plan may still be
  /// written.
  void lose_work();

  /// All that gave up after too many plan attempts try again, each once: those that find no room
  /// then wait for it as others do. False if there are none.
  bool retry_failed();

  std::size_t evaluations_done() const { return done_; }

  bool has_drains() const { return !store_.snapshot().draining_nodes().empty(); }

private:
  // cluster.cpp: the log, and the broker
  bool offer(const Object<schema::Command>& command);
  void take(const state::Outcome& outcome);
  void track(const Object<schema::Evaluation>& eval);
  void release(std::vector<cluster::BlockedEval> free);
  void establish();
  bool reap();
  bool advance();

  cluster::TimePoint time() const { return cluster::TimePoint{std::chrono::nanoseconds{now}}; }

  std::int64_t due_at(schema::Evaluation::Reader eval) const;
  cluster::EvalEntry entry_of(schema::Evaluation::Reader eval) const;

  // cluster_workers.cpp
  bool dequeue();
  void start(Work work);
  void proceed(Work work, scheduler::Step step);
  void carry_out(Work work, scheduler::Step step);
  void decide_again(const Work& work, const scheduler::Step& step);
  void reserve(const Work& work, const std::shared_ptr<const scheduler::Plan>& plan);
  void submit(Work work, scheduler::Plan plan);
  void let_go(const std::string& settled, bool is_full);
  void decide_anew(const std::string& first);
  bool resume();
  void fail(const std::string& token);

  // cluster_applier.cpp
  bool verify();
  void settle(const std::shared_ptr<Waiting>& waiting, const scheduler::PlanResult& result);
  void enqueue(const std::shared_ptr<Waiting>& waiting);
  bool commit();
  void lose_plans();

  // cluster_watchers.cpp
  bool watch_deployments();
  bool drain_nodes();

  Features features_;
  Checks& checks_;
  Counts& counts_;
  state::Store store_;
  std::uint64_t index_ = 10;
  std::size_t done_ = 0;
  scheduler::PartLimits part_limits_;

  cluster::EvalQueue queue_;
  cluster::BlockedEvals blocked_;
  std::set<std::string> released_;  ///< Ids of those that were woken and not delivered since.
  std::set<std::string> retried_;   ///< Ids of those that gave up and tried again.
  bool reap_is_due_ = false;

  std::map<std::string, Work> works_;  ///< By token.
  scheduler::HeldSteps held_;          ///< Of these.
  std::uint64_t decisions_ = 0;        ///< That came to a plan.

  /// Plans that have been under way, by the number of the decision that they came of.
  std::map<std::uint64_t, std::shared_ptr<const scheduler::Plan>> decided_;

  std::vector<scheduler::Reservations> workers_;

  cluster::PlanQueue<std::shared_ptr<Waiting>> plans_;
  std::vector<std::shared_ptr<Waiting>> parked_;  ///< Until something under way is settled.
  std::deque<UnderWay> under_way_;
  scheduler::PlansAhead ahead_{"global"};

  bool deployments_changed_ = false;
  std::optional<std::int64_t> deployments_due_;
  bool drains_changed_ = false;
  std::optional<std::int64_t> drains_due_;
  std::set<cluster::DrainedJob> drained_jobs_;
  std::deque<Object<schema::Command>> drain_commands_;  ///< Of the last round.
};

}  // namespace nomad::properties
