// Attempt: the ground that one attempt of a scheduler stands on: the job, its allocations, their
// nodes, the plan being made and the selector. Shared by the schedulers.
//
// May depend on: runtime/state. Lives as long as the snapshot it was made from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/alloc_rows.hpp"
#include "runtime/scheduler/outcome.hpp"
#include "runtime/scheduler/placement/eligibility.hpp"
#include "runtime/scheduler/placement/proposal.hpp"
#include "runtime/scheduler/placement/selector.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace nomad::scheduler {

/// Nodes that a job may use, and how many there are where. The pointers live as long as the state.
struct NodeChoice {
  std::vector<const Object<schema::Node>*> ready;
  std::vector<const Object<schema::Node>*> not_ready;  ///< In the job's pool, but not for new ones.
  std::map<std::string, std::int64_t> by_datacenter;
};

NodeChoice choose_nodes(const state::Snapshot& state, schema::Job::Reader job);

class Attempt {
public:
  Attempt(const Moment& moment,
          const Object<schema::Evaluation>& eval,
          Random& random,
          SelectorOptions options);

  const Moment& moment;
  Random& random;
  SelectorOptions options;
  std::unique_ptr<JobSpec> job;  ///< Null when the job is purged.
  std::vector<state::AllocRef> rows;
  std::vector<AllocEntry> allocs;  ///< The same, for the reconciler.
  TaintedNodes tainted;
  Eligibility eligibility;
  Proposal proposal;
  std::unique_ptr<Selector> selector;  ///< Null without a job.
  Plan plan;

  /// As a version of the job is placed, which may be of another node pool.
  SelectorOptions options_for(schema::Job::Reader version) const;

  /// Of the job's namespace; empty if none bounds it.
  std::string_view quota_name() const;

  /// Stages the end of an allocation in plan and proposal.
  void stop(PlannedStop stop);

  /// Takes the stop that was staged last back.
  void unstop();

  /// Stages a row; `group` is empty for one that uses no more than before.
  void place(PlannedAlloc row, std::string_view group);

  /// Stages a new row of `group`, and the ends of those that are preempted for it.
  void place(PlannedAlloc row, std::string_view group, const Preempted& preempted);

  /// Takes the changed row of one that ends back, if one was staged.
  void withdraw_update(const AllocEntry& alloc);

  /// Allocations whose node is gone or down, and that were told to end, have ended.
  void finish_lost_stops();

  /// The number under which the plan carries the metrics that an existing row has.
  std::uint32_t keep_metric(const AllocEntry& alloc);

  /// The number for the metrics of a new row on the node. Those of the first placements of a group
  /// show the best nodes that it was compared with, later ones the node's own scores alone.
  std::uint32_t add_metric(std::string_view group,
                           std::string_view node_id,
                           const MetricBuilder& metrics);

  /// Counts what is staged, and all that will be, for another version's selector, too.
  void inform(Selector& other);

  /// Whether the node may rely on: null when it may, else as in `tainted`.
  const Object<schema::Node>* taint_of(const AllocEntry& alloc) const;

private:
  void count_change(schema::Node::Reader node, std::string_view group, int by);

  std::vector<Selector*> others_;  ///< Of other versions of the job.
  std::optional<PlannedStop> last_stop_;
  std::map<const void*, std::uint32_t> kept_metrics_;
  std::map<std::string, std::size_t, std::less<>> comparisons_;  ///< By group.
};

/// Whether the node of an in-place update still suits the job: it is there, in scope and takes the
/// new version. The selection if so.
std::optional<Selection> select_in_place(Attempt& attempt,
                                         const AllocEntry& alloc,
                                         const GroupSpec& group);

/// How many plans in a row may come to nothing, before an evaluation of a job that runs once
/// (batch, sysbatch) or for ever gives up.
constexpr int attempt_limit(bool runs_once) {
  return runs_once ? 2 : 5;
}

/// Remembers for each old version of the job whether the new one needs new allocations.
class VersionComparison {
public:
  bool tasks_updated(const AllocEntry& alloc, const JobSpec& job, const GroupSpec& group);

private:
  std::map<std::pair<const void*, std::string_view>, bool> known_;
};

/// What the answer to an attempt's plan comes to: the step that was `finished` if all of it was
/// written, the evaluation's failure after `limit` attempts in a row that came to nothing, or
/// nothing where another attempt is due, of which `progress` and `outcome` know then.
std::optional<Step> settle(const Moment& moment,
                           const PlanResult& result,
                           Step& finished,
                           Progress& progress,
                           EvalOutcome& outcome,
                           int limit);

}  // namespace nomad::scheduler
