#include "runtime/scheduler/plan/plans_ahead.hpp"

#include <algorithm>

namespace nomad::scheduler {
namespace {

/// Beyond every index of a log.
constexpr std::uint64_t after_all = std::uint64_t{1} << 62;

Result<PlanVerdict> verify(const PlanParts& plan,
                           const state::Snapshot& state,
                           std::string_view region) {
  NOMAD_TRY(check_evaluation(plan.next(), plan.known_index(), state));
  if (plan.is_cut() && !plan.has_begun() && plan.whole().all_at_once) {
    auto verdict = check_plan(plan.whole(), state, region);
    if (verdict.accepts_nothing) return verdict;
  }
  return check_plan(plan.next(), state, region);
}

/// Of the last change of quotas, or of which of them namespaces have.
std::uint64_t quotas_index(const state::Snapshot& state) {
  return std::max(state.index(state::Table::quotas), state.index(state::Table::namespaces));
}

bool is_refused(const Result<PlanVerdict>& verdict) {
  return !verdict || verdict->accepts_nothing;
}

}  // namespace

AheadVerdict PlansAhead::judge(const PlanParts& plan, const state::Snapshot& published) {
  auto state = basis(published);
  auto verdict = verify(plan, state, region_);
  if (continuation_ && (!verdict || !verdict->rejected_nodes.empty())) {
    // What was freed since the continuation was made is not in it: look once more.
    continuation_.reset();
    state = basis(published);
    verdict = verify(plan, state, region_);
  }
  bool is_open = false;
  if (is_refused(verdict) && !under_way_.empty())
    is_open = !is_refused(verify(plan, published, region_));
  return {std::move(verdict), is_open, std::move(state)};
}

std::uint64_t PlansAhead::add(const Object<schema::Command>& command) {
  if (continuation_ && !under_way_.empty()) apply(command);
  under_way_.emplace(next_, command);
  return next_++;
}

void PlansAhead::settle(std::uint64_t number, bool was_written) {
  under_way_.erase(number);
  if (!was_written) continuation_.reset();  // it holds what did not happen
}

/// The published state, or with what is under way.
state::Snapshot PlansAhead::basis(const state::Snapshot& published) {
  if (under_way_.empty()) {
    continuation_.reset();
    return published;
  }
  const auto index = quotas_index(published);
  if (!continuation_ || verified_ >= most_verified || index != quotas_index_) {
    continuation_ = std::make_unique<state::Store>(published);
    quotas_index_ = index;
    verified_ = 0;
    for (const auto& [number, command] : under_way_)
      apply(command);
  }
  ++verified_;
  return continuation_->snapshot();
}

void PlansAhead::apply(const Object<schema::Command>& command) {
  const auto index = std::max(continuation_->snapshot().index(), after_all) + 1;
  continuation_->apply(index, *command);
  continuation_->set_applied(index);
  continuation_->publish();
}

bool has_strays(const Plan& plan, const PlanVerdict& verdict, const state::Snapshot& state) {
  return std::ranges::any_of(plan.nodes, [&](const auto& entry) {
    const auto& [node_id, changes] = entry;
    if (verdict.rejected_nodes.contains(node_id)) return false;
    if (std::ranges::none_of(changes.placements, &PlannedAlloc::is_new)) return false;
    const auto node = state.node(node_id);
    return !node || node->getStatus() != schema::NodeStatus::READY;
  });
}

}  // namespace nomad::scheduler
