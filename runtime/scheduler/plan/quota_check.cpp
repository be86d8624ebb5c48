#include "runtime/scheduler/plan/quota_check.hpp"

#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/scheduler/plan/quota_limits.hpp"

namespace nomad::scheduler {
namespace {

/// What the plan changes of the quota's use on one node.
class NodeQuota {
public:
  NodeQuota(std::string_view quota, const NodeChanges& changes, const state::Snapshot& state)
      : quota_{quota}, state_{state} {
    std::set<std::string_view> counted;
    for (const auto& placed : changes.placements)
      if (counted.insert(placed.row->id()).second) place(placed);
    for (const auto* stops : {&changes.stops, &changes.preemptions})
      for (const auto& stop : *stops)
        if (counted.insert(stop.alloc->alloc->id()).second) free(stop.alloc->alloc->id());
  }

  const state::QuotaUse& change() const { return change_; }

private:
  void place(const PlannedAlloc& placed) {
    const auto row = *placed.row;
    const auto stored = state_.alloc(row.id());
    if (stored) free(row.id());
    // Whether it has ended is its client's to say.
    if (row.is_server_terminal() || (stored && stored->client_terminal)) return;
    change_ += state::quota_use_of(state::demand_of(row.resources()), row.resources());
  }

  void free(std::string_view id) {
    const auto stored = state_.alloc(id);
    if (!stored || stored->terminal()) return;
    if (state_.quota_of(stored->alloc->ns()) == quota_)
      change_ -= state::quota_use_of(stored->demand, stored->alloc->resources());
  }

  std::string_view quota_;
  const state::Snapshot& state_;
  state::QuotaUse change_;
};

}  // namespace

std::map<std::string, std::string> check_quota(
    const Plan& plan,
    const std::map<std::string, std::string, std::less<>>& left_out,
    const state::Snapshot& state,
    std::string_view region) {
  if (!plan.job) return {};
  const auto limits = QuotaLimits::of(state, view(plan.job->getNamespace()), region);
  if (!limits) return {};
  const auto before = state.quota_use(limits->name());
  auto all = before;
  std::vector<std::pair<std::string_view, state::QuotaUse>> placing;
  auto use = before;
  for (const auto& [node_id, changes] : plan.nodes) {
    if (left_out.contains(node_id)) continue;
    const NodeQuota node{limits->name(), changes, state};
    all += node.change();
    if (changes.placements.empty())
      use += node.change();  // ends are never refused
    else
      placing.emplace_back(node_id, node.change());
  }
  if (limits->exceeded(before, all).empty()) return {};
  // Not all of it fits: one after the other, as long as there is room.
  std::map<std::string, std::string> refused;
  for (const auto& [node_id, change] : placing) {
    auto next = use;
    next += change;
    const auto exceeded = limits->exceeded(before, next);
    if (exceeded.empty())
      use = std::move(next);
    else
      refused.emplace(node_id,
                      fmt::format("quota \"{}\": {}", limits->name(), fmt::join(exceeded, ", ")));
  }
  return refused;
}

}  // namespace nomad::scheduler
