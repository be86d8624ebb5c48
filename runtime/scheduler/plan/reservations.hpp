// Reservations: uses of nodes that a snapshot does not show yet, because the plans that bring them
// are under way. They keep one worker from promising the same room twice.
//
// May depend on: runtime/state. A value: copies share the plans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/plan/network.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/state/snapshot.hpp"
#include "runtime/state/usage.hpp"

namespace nomad::scheduler {

class Reservations {
public:
  /// Until `remove` is called with the plan's token. A token has one plan at a time.
  void add(std::shared_ptr<const Plan> plan);

  void remove(const std::string& eval_token) { plans_.erase(eval_token); }

  bool empty() const { return plans_.empty(); }

  /// Of the plans under way.
  std::set<std::string> tokens() const;

  /// The numbers of the decisions that these came of.
  std::vector<std::uint64_t> decisions() const;

  /// Adds what is under way on the node to `usage`, and to the bandwidth in use of its devices; not
  /// what `state` has already, for a plan is under way here until its worker hears of its end.
  void apply(std::string_view node_id, const state::Snapshot& state, state::NodeUsage& usage) const;
  void apply(std::string_view node_id, const state::Snapshot& state, Bandwidth& used) const;

  /// Adds what is under way of the quota to its `use`, by the same rule.
  void apply(std::string_view quota, const state::Snapshot& state, state::QuotaUse& use) const;

private:
  /// Calls `visit` with each placement on the node that is new to `state`.
  template <class Visit>
  void for_each_new(std::string_view node_id,
                    const state::Snapshot& state,
                    const Visit& visit) const;

  std::map<std::string, std::shared_ptr<const Plan>> plans_;
};

}  // namespace nomad::scheduler
