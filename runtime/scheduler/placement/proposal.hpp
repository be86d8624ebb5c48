// Proposal: the cluster as the plan in progress would leave it: for each node that was looked at,
// what is used of it and how many of the job's allocations it holds. Everything is kept up to date
// by steps; nothing is summed up anew for a placement.
//
// May depend on: runtime/state.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/scheduler/placement/preemption.hpp"
#include "runtime/scheduler/plan/capacity.hpp"
#include "runtime/scheduler/plan/network.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/plan/quota_limits.hpp"
#include "runtime/scheduler/plan/reservations.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

/// One node in the plan in progress.
class ProposedNode {
public:
  ProposedNode(Object<schema::Node> node, state::NodeUsage usage)
      : node_{std::move(node)}, capacity_{Capacity::of(*node_)}, usage_{std::move(usage)} {}

  schema::Node::Reader reader() const { return *node_; }

  const Object<schema::Node>& object() const { return node_; }

  const Capacity& capacity() const { return capacity_; }

  const state::NodeUsage& usage() const { return usage_; }

  void add(const state::Demand& demand, AllocView alloc) { usage_.add(demand, alloc.resources()); }

  void remove(const state::Demand& demand, AllocView alloc) {
    usage_.remove(demand, alloc.resources());
  }

  /// Null if the node's own network facts can't be read.
  const NodeNetwork* network();

private:
  Object<schema::Node> node_;
  Capacity capacity_;
  state::NodeUsage usage_;
  std::optional<Result<NodeNetwork>> network_;
};

/// How many of the job's allocations that hold resources are on a node.
struct JobUsage {
  std::size_t total = 0;
  std::map<std::string_view, std::size_t> by_group;
};

class Proposal {
public:
  /// `job_allocs` are all the job's allocations; they and `state` outlive this.
  Proposal(const state::Snapshot& state,
           const std::vector<state::AllocRef>& job_allocs,
           const Reservations* reservations);

  /// Counts on in the namespace's quota, as it is in `region`.
  void bound(std::string_view ns, std::string_view region);

  /// Null if there is none.
  const QuotaBudget* quota() const { return quota_ ? &*quota_ : nullptr; }

  /// The node, or null if it is gone.
  ProposedNode* node(std::string_view id);

  /// The same of a node that was found in the state already.
  ProposedNode& node(const Object<schema::Node>& found);

  const JobUsage& job_usage(std::string_view node_id) const;

  /// Frees what the allocation uses; `unstop` takes it back.
  void stop(const state::AllocRef& alloc);
  void unstop(const state::AllocRef& alloc);

  /// Takes what the new row of group `group` uses.
  void place(const PlannedAlloc& placed, std::string_view group);

  /// From now on what is placed is kept, for who has to look at it again.
  void keep_placed() { keeps_placed_ = true; }

  const std::vector<Object<schema::Allocation>>& placed() const { return placed_; }

  /// Whether the allocation is stopped or preempted.
  bool has_freed(std::string_view alloc_id) const { return freed_.contains(alloc_id); }

  /// Frees what another job's allocation uses.
  void preempt(const state::AllocRef& alloc);

  /// How many each group of each job has lost so.
  const PreemptionCounts& preemptions() const { return preemptions_; }

  /// The stored allocations that still use something of the node.
  std::vector<state::AllocRef> allocs_on(std::string_view node_id) const;

  /// What is in use of the bandwidth of the node's devices.
  Bandwidth bandwidth(std::string_view node_id) const;

private:
  void count(std::string_view node_id, std::string_view group, int change);
  void give_back(const state::AllocRef& row);

  const state::Snapshot& state_;
  const Reservations* reservations_;
  /// By their ids, which they hold.
  std::unordered_map<std::string_view, std::unique_ptr<ProposedNode>> nodes_;
  std::map<std::string, JobUsage, std::less<>> job_usage_;
  std::set<std::string, std::less<>> freed_;  ///< Ids of stopped and preempted allocations.
  bool keeps_placed_ = false;
  std::vector<Object<schema::Allocation>> placed_;
  PreemptionCounts preemptions_;
  std::optional<QuotaBudget> quota_;
  /// The new rows that have bandwidth, by node.
  std::map<std::string, std::vector<Object<schema::Allocation>>, std::less<>> with_bandwidth_;
};

}  // namespace nomad::scheduler
