#include "runtime/scheduler/plan/plan_command.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

/// What of one plan is accepted.
struct Parts {
  std::vector<const PlannedStop*> stopped;
  std::vector<const PlannedStop*> preempted;
  std::vector<const PlannedAlloc*> placed;
};

Parts accepted_parts(const VerifiedPlan& verified, const state::Snapshot& state) {
  Parts parts;
  const auto is_known = [&state](const PlannedStop& stop) {
    return static_cast<bool>(state.alloc(stop.alloc->alloc->id()));
  };
  // What has ended, or has been told to, since the plan was made needs no end any more.
  const auto is_live = [&state](const PlannedStop& stop) {
    const auto stored = state.alloc(stop.alloc->alloc->id());
    return stored && !stored->terminal();
  };
  for (const auto& [node_id, changes] : verified.plan->nodes) {
    if (verified.verdict.rejected_nodes.contains(node_id)) continue;
    for (const auto& stop : changes.stops)
      if (is_known(stop)) parts.stopped.push_back(&stop);
    for (const auto& stop : changes.preemptions)
      if (is_live(stop)) parts.preempted.push_back(&stop);
    for (const auto& placed : changes.placements)
      parts.placed.push_back(&placed);
  }
  return parts;
}

void fill_stop(schema::Allocation::Builder into, const PlannedStop& stop) {
  into.setId(text(stop.alloc->alloc->id()));
  into.setDesiredStatus(stop.desired_status);
  into.setDesiredDescription(text(stop.description));
  if (stop.client_status) into.setClientStatus(*stop.client_status);
  if (!stop.followup_eval_id.empty()) into.setFollowupEvalId(text(stop.followup_eval_id));
  if (!stop.preempted_by.empty()) into.setPreemptedByAllocation(text(stop.preempted_by));
}

/// One evaluation for each job that lost an allocation to the plan.
std::vector<Object<schema::Evaluation>> preemption_evals(const Parts& parts,
                                                         std::int64_t now,
                                                         Random& random) {
  std::vector<Object<schema::Evaluation>> evals;
  std::set<std::pair<std::string, std::string>> jobs;
  for (const auto* stop : parts.preempted) {
    const auto job = *stop->alloc->job;
    if (!jobs.emplace(copy(job.getNamespace()), copy(job.getId())).second) continue;
    Draft<schema::Evaluation> draft;
    draft->setId(text(make_uuid(random)));
    draft->setNamespace(job.getNamespace());
    draft->setPriority(job.getPriority());
    draft->setType(job.getType());
    draft->setTriggeredBy(schema::EvalTrigger::PREEMPTION);
    draft->setJobId(job.getId());
    draft->setStatus(schema::EvalStatus::PENDING);
    draft->setCreateTime(now);
    draft->setModifyTime(now);
    evals.push_back(draft.freeze());
  }
  return evals;
}

template <class List>
void fill_evaluations(List list, const std::vector<Object<schema::Evaluation>>& evals) {
  for (unsigned i = 0; i < evals.size(); ++i)
    list.setWithCaveats(i, *evals[i]);
}

bool rejects_anything(const VerifiedPlan& verified) {
  return !verified.verdict.rejected_nodes.empty();
}

/// The deployment with only those canaries that are really placed. Those that later parts of the
/// plan bring are added as they are placed.
Object<schema::Deployment> corrected_deployment(const VerifiedPlan& verified,
                                                const Parts& parts,
                                                const state::Snapshot& state) {
  const auto& deployment = verified.plan->deployment;
  if (!rejects_anything(verified) && !verified.plan->is_part) return deployment;
  std::set<std::string_view> placed;
  for (const auto* alloc : parts.placed)
    placed.insert(alloc->row->id());
  Draft<schema::Deployment> draft{deployment};
  for (auto entry : draft->getTaskGroups()) {
    std::vector<std::string> kept;
    for (const auto id : entry.getValue().getPlacedCanaries())
      if (placed.contains(view(id.asReader())) || state.alloc(view(id.asReader())))
        kept.push_back(copy(id.asReader()));
    auto canaries = entry.getValue().initPlacedCanaries(static_cast<unsigned>(kept.size()));
    for (unsigned i = 0; i < kept.size(); ++i)
      canaries.set(i, text(kept[i]));
  }
  return draft.freeze();
}

void fill_deployment(schema::PlanResult::Builder into,
                     const VerifiedPlan& verified,
                     const Parts& parts,
                     const state::Snapshot& state) {
  const auto& plan = *verified.plan;
  const bool all_or_nothing_failed = plan.all_at_once && rejects_anything(verified);
  if (all_or_nothing_failed) return;
  if (plan.deployment) into.setDeployment(*corrected_deployment(verified, parts, state));
  auto updates = into.initDeploymentUpdates(static_cast<unsigned>(plan.deployment_changes.size()));
  for (unsigned i = 0; i < updates.size(); ++i) {
    const auto& change = plan.deployment_changes[i];
    updates[i].setDeploymentId(text(change.deployment_id));
    updates[i].setStatus(change.status);
    updates[i].setStatusDescription(text(change.description));
  }
}

/// The rows, and those of the plan's metrics that they have, under new numbers.
void fill_placed(schema::PlanResult::Builder into,
                 const Parts& parts,
                 const std::vector<Object<schema::AllocMetric>>& metrics) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<const Object<schema::AllocMetric>*> used;
  auto placed = into.initPlaced(static_cast<unsigned>(parts.placed.size()));
  for (unsigned i = 0; i < placed.size(); ++i) {
    placed.setWithCaveats(i, parts.placed[i]->row.reader());
    const auto metric = placed[i].getMetricNumber();
    if (metric >= metrics.size()) continue;
    const auto [number, is_new] = numbers.emplace(metric, static_cast<std::uint32_t>(used.size()));
    if (is_new) used.push_back(&metrics[metric]);
    placed[i].setMetricNumber(number->second);
  }
  auto list = into.initMetrics(static_cast<unsigned>(used.size()));
  for (unsigned i = 0; i < list.size(); ++i)
    list.setWithCaveats(i, **used[i]);
}

void fill_plan(schema::PlanResult::Builder into,
               const VerifiedPlan& verified,
               const state::Snapshot& state,
               std::int64_t now,
               Random& random) {
  const auto& plan = *verified.plan;
  const auto parts = accepted_parts(verified, state);
  const auto size = [](const auto& list) { return static_cast<unsigned>(list.size()); };
  into.setEvalId(text(plan.eval_id));
  into.setModifyTime(now);
  auto stopped = into.initStopped(size(parts.stopped));
  for (unsigned i = 0; i < stopped.size(); ++i)
    fill_stop(stopped[i], *parts.stopped[i]);
  auto preempted = into.initPreempted(size(parts.preempted));
  for (unsigned i = 0; i < preempted.size(); ++i)
    fill_stop(preempted[i], *parts.preempted[i]);
  fill_placed(into, parts, plan.metrics);
  if (const auto key = state.active_root_key(); key && !parts.placed.empty())
    into.setIdentityKey(key->getCreateIndex());
  fill_deployment(into, verified, parts, state);
  auto evals = plan.evaluations;
  const auto preemptions = preemption_evals(parts, now, random);
  evals.insert(evals.end(), preemptions.begin(), preemptions.end());
  if (plan.completion && !rejects_anything(verified)) evals.push_back(plan.completion);
  fill_evaluations(into.initEvaluations(size(evals)), evals);
}

}  // namespace

Object<schema::Command> make_plan_command(const std::vector<VerifiedPlan>& plans,
                                          const state::Snapshot& state,
                                          std::int64_t now,
                                          Random& random) {
  Draft<schema::Command> draft;
  auto list = draft->initPlanResults().initPlans(static_cast<unsigned>(plans.size()));
  for (unsigned i = 0; i < list.size(); ++i)
    fill_plan(list[i], plans[i], state, now, random);
  return draft.freeze();
}

PlanResult make_plan_result(const VerifiedPlan& verified, std::uint64_t index) {
  PlanResult result;
  result.rejected_nodes = verified.verdict.rejected_nodes;
  const auto& plan = *verified.plan;
  result.made_progress = !verified.verdict.accepts_nothing;
  result.alloc_index = result.made_progress ? index : 0;
  result.refresh_index = rejects_anything(verified) ? index : 0;
  result.completion_written = plan.completion && !rejects_anything(verified);
  return result;
}

}  // namespace nomad::scheduler
