// Cluster: the servers' side of a cluster without its actors: a state store, workers that run
// schedulers, an applier that verifies plans while earlier ones are under way, what watches
// deployments and drains, and clients that do as they are told. A case drives it step by step.
//
// What it learns of evaluations, plans and written rows is handed to a `Checks`.
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
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"
#include "test/properties/features.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

/// An evaluation that a worker works on.
struct Work {
  Object<schema::Evaluation> eval;
  std::string token;
  std::size_t worker = 0;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  state::Snapshot seen;  ///< The state of the last step.
  std::shared_ptr<const scheduler::Plan> plan;
  std::optional<scheduler::PlanResult> result;
  std::size_t plans = 0;
};

/// A plan whose entry is written but not applied yet.
struct UnderWay {
  std::shared_ptr<const scheduler::Plan> plan;
  scheduler::PlanVerdict verdict;
  Object<schema::Command> command;
  std::string token;
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
};

class Cluster {
public:
  Cluster(std::uint64_t seed, const Features& features, Checks& checks);

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

  /// When the next evaluation that waits is due; nothing if none waits.
  std::optional<std::int64_t> next_due() const;

  /// Whether evaluations of the job are due or worked on.
  bool is_busy(std::string_view job_id) const;

  /// Another server leads: what was not written is lost, some of what was under way, too.
  void change_leader();

  /// A worker loses one of its evaluations, which is delivered again.
  void lose_work();

  /// All that gave up after too many plan attempts try again, each once: those that find no room
  /// then wait for it as others do. False if there are none.
  bool retry_failed();

  const std::map<std::string, Object<schema::Evaluation>>& blocked() const { return blocked_; }

  std::size_t evaluations_done() const { return done_; }

private:
  void apply(const Object<schema::Command>& command);
  bool offer(const Object<schema::Command>& command);
  void take(const state::Outcome& outcome);
  void take(const Object<schema::Evaluation>& eval);
  void block(const Object<schema::Evaluation>& eval);
  void unblock(std::string_view node_id, std::string_view node_class);
  bool dequeue();
  void start(Work work);
  void proceed(Work work, scheduler::Step step);
  bool verify();
  state::Snapshot basis() const;
  bool commit();
  void settle(const std::string& job_id);
  bool resume();
  void restart_deferred(std::size_t worker);
  bool watch_deployments();
  bool drain_nodes();

  Features features_;
  Checks& checks_;
  state::Store store_;
  std::uint64_t index_ = 10;
  std::size_t done_ = 0;
  std::uint64_t tokens_ = 0;

  std::map<std::string, Object<schema::Evaluation>> pending_;  ///< By id.
  std::map<std::string, Object<schema::Evaluation>> blocked_;
  std::set<std::string> retried_;  ///< Ids of those that gave up and tried again.
  std::map<std::string, std::uint64_t, std::less<>> class_changes_;
  std::map<std::string, std::uint64_t, std::less<>> node_changes_;
  std::map<std::string, Work> works_;  ///< By token.
  std::map<std::string, Work> deferred_;
  std::vector<scheduler::Reservations> workers_;
  std::vector<std::string> queue_;  ///< Tokens whose plans wait to be verified.
  std::deque<UnderWay> under_way_;
  bool deployments_changed_ = false;
};

}  // namespace nomad::properties
