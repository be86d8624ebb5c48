// The applier of a Cluster: it verifies and writes plans as the actor of that name does.
#include <algorithm>
#include <utility>

#include "test/properties/cluster.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

void Cluster::enqueue(const std::shared_ptr<Waiting>& waiting) {
  plans_.push(static_cast<std::int32_t>(waiting->whole->priority), waiting);
}

bool Cluster::verify() {
  const auto next = plans_.pop();
  if (!next) return false;
  const auto& waiting = *next;
  const auto& parts = waiting->parts;
  if (parts.whole().snapshot_index < index_) ++counts_.stale_plans;
  auto [found, is_open, basis] = ahead_.judge(parts, state());
  if (is_open) {
    ++counts_.parked_plans;
    parked_.push_back(waiting);
    return true;
  }
  if (!found) {
    ++counts_.refused_plans;
    fail(waiting->whole->eval_token);
    return true;
  }
  if (!under_way_.empty()) ++counts_.verified_ahead;
  counts_.rejections += found->rejected_nodes.size();
  if (found->accepts_nothing) {
    auto result = scheduler::make_plan_result({&parts.next(), *found}, 0);
    result.refresh_index = index_;
    settle(waiting, result);
    return true;
  }
  const auto part
      = parts.is_cut() ? std::make_shared<const scheduler::Plan>(parts.next()) : waiting->whole;
  auto command = scheduler::make_plan_command({{part.get(), *found}}, basis, now, random);
  const auto number = ahead_.add(command);
  under_way_.push_back({waiting, part, std::move(*found), std::move(command), number});
  return true;
}

/// What was next of the plan is over: the rest has its turn, or its work goes on.
void Cluster::settle(const std::shared_ptr<Waiting>& waiting, const scheduler::PlanResult& result) {
  auto& parts = waiting->parts;
  if (parts.is_cut()) ++counts_.parts;
  parts.settle(result);
  if (!parts.is_done()) return enqueue(waiting);
  const auto work = works_.find(waiting->whole->eval_token);
  if (work == works_.end())
    ++counts_.orphaned_plans;
  else
    work->second.result = parts.result();
}

bool Cluster::commit() {
  if (under_way_.empty()) return false;
  const auto plan = std::move(under_way_.front());
  under_way_.pop_front();
  for (const auto& other : std::exchange(parked_, {}))
    enqueue(other);
  const auto before = state();
  const auto outcome = store_.apply(++index_, *plan.command);
  store_.publish();
  require(!outcome.error, property::commands_accepted, outcome.error ? outcome.error->what : "");
  if (!outcome.plans.empty() && outcome.plans[0]) {
    ++counts_.refused_entries;
    ahead_.settle(plan.number, false);
    take(outcome);
    fail(plan.waiting->whole->eval_token);
    return true;
  }
  ahead_.settle(plan.number, true);
  checks_.on_commit(plan, before, state());
  settle(plan.waiting, scheduler::make_plan_result({plan.part.get(), plan.verdict}, index_));
  take(outcome);
  if (scheduler::has_strays(*plan.part, plan.verdict, state())) {
    ++counts_.strays;
    evaluate(copy(plan.part->job->getId()), schema::EvalTrigger::NODE_UPDATE);
  }
  return true;
}

/// Those that wait, and those under way that were not written when leadership ended. Others that
/// come from workers that have not heard of it are refused, for they were decided before it.
void Cluster::lose_plans() {
  ahead_.forget_state();
  std::vector<std::string> tokens;
  for (const auto& waiting : plans_.drain())
    tokens.push_back(waiting->whole->eval_token);
  for (const auto& waiting : std::exchange(parked_, {}))
    tokens.push_back(waiting->whole->eval_token);
  for (const auto& plan : std::exchange(under_way_, {})) {
    ahead_.settle(plan.number, false);
    tokens.push_back(plan.waiting->whole->eval_token);
  }
  for (const auto& token : tokens)
    fail(token);
}

}  // namespace nomad::properties
