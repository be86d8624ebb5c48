#include "test/properties/counting_checks.hpp"

#include "runtime/object/enum_name.hpp"
#include "test/properties/judge.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::ClientStatus;

bool is_distinct(schema::Constraint::Reader constraint) {
  return view(constraint.getOperand()).starts_with("distinct_");
}

}  // namespace

void CountingChecks::count_new(const Work& work, const scheduler::PlannedAlloc& placed) {
  const auto row = *placed.row;
  ++counts_.placements;
  if (row.is_canary()) ++counts_.canaries;
  if (row.reschedule_events().size() > 0) ++counts_.rescheduled;
  const auto job = work.seen.job_version("default", row.job_id(), row.job_version());
  const auto newest = work.seen.job("default", row.job_id());
  if (!job || !has_group(*job, row.task_group())) return;
  if (newest && newest->getVersion() != row.job_version()) ++counts_.older_versions;
  const auto type = view(job->getType());
  counts_.batch += type == "batch" ? 1 : 0;
  counts_.system += type == "system" ? 1 : 0;
  counts_.sysbatch += type == "sysbatch" ? 1 : 0;
  const auto group = group_of(*job, row.task_group());
  bool constrained = false;
  bool distinct = false;
  for (const auto constraints : {job->getConstraints(), group.getConstraints()})
    for (const auto constraint : constraints)
      (is_distinct(constraint) ? distinct : constrained) = true;
  counts_.constrained += constrained ? 1 : 0;
  counts_.distinct += distinct ? 1 : 0;
  counts_.spread += group.getSpreads().size() > 0 ? 1 : 0;
  counts_.affinity += group.getAffinities().size() > 0 ? 1 : 0;
  counts_.volumes += group.getVolumes().size() > 0 ? 1 : 0;
  for (const auto network : group.getNetworks()) {
    counts_.static_ports += network.getReservedPorts().size() > 0 ? 1 : 0;
    counts_.dynamic_ports += network.getDynamicPorts().size() > 0 ? 1 : 0;
  }
  bool cores = false;
  bool devices = false;
  for (const auto task : row.resources().getTasks()) {
    cores = cores || task.getValue().getCpu().getReservedCores().size() > 0;
    devices = devices || task.getValue().getDevices().size() > 0;
  }
  counts_.cores += cores ? 1 : 0;
  counts_.devices += devices ? 1 : 0;
}

void CountingChecks::on_plan(const Work& work, const scheduler::Plan& plan) {
  if (account != nullptr)
    tell("a plan (" + std::string{enum_name(work.eval->getTriggeredBy())}
         + "): " + brief(plan, work.seen));
  PlanChecks::on_plan(work, plan);
  counts_.all_at_once += plan.all_at_once ? 1 : 0;
  for (const auto& change : plan.deployment_changes)
    if (change.status == schema::DeploymentState::SUCCESSFUL) ++counts_.successful_deployments;
  for (const auto& [node, changes] : plan.nodes) {
    counts_.preempted += changes.preemptions.size();
    if (view(work.eval->getType()) == "system")
      counts_.preempted_by_system += changes.preemptions.size();
    for (const auto& stop : changes.stops) {
      if (stop.client_status == ClientStatus::LOST) ++counts_.lost;
      if (stop.description == "alloc is being updated due to job update") ++counts_.replacements;
      if (stop.description == "alloc is being migrated") ++counts_.migrated;
    }
    for (const auto& placed : changes.placements) {
      if (placed.is_new) {
        count_new(work, placed);
        continue;
      }
      ++counts_.in_place;
      const auto before = work.seen.alloc(placed.row->id());
      const bool is_away = placed.row->client_status() == ClientStatus::UNKNOWN;
      counts_.unknown += is_away ? 1 : 0;
      if (before && !is_away
          && placed.row->alloc_states().size() > before->alloc->alloc_states().size())
        ++counts_.reconnected;
    }
  }
}

namespace {

/// What was in the way of which group, and which classes of nodes are none for it.
std::string why_short(schema::Evaluation::Reader eval) {
  if (eval.getFailedTgAllocs().size() == 0) return {};
  std::string all = " without room for all";
  for (const auto group : eval.getFailedTgAllocs()) {
    all += "; " + copy(group.getKey()) + ":";
    for (const auto exhausted : group.getValue().getDimensionExhausted())
      all += " " + copy(exhausted.getKey()) + " x" + std::to_string(exhausted.getValue());
    for (const auto filtered : group.getValue().getConstraintFiltered())
      all += " " + copy(filtered.getKey()) + " x" + std::to_string(filtered.getValue());
  }
  if (eval.getEscapedComputedClass()) return all + "; any class";
  for (const auto known : eval.getClassEligibility())
    if (!known.getValue()) all += "; not " + copy(known.getKey());
  return all;
}

}  // namespace

void CountingChecks::on_evaluations(const Work& work,
                                    const std::vector<Object<schema::Evaluation>>& evaluations) {
  if (account != nullptr)
    for (const auto& eval : evaluations)
      tell("  an evaluation of " + copy(eval->getJobId()) + " ("
           + std::string{enum_name(eval->getTriggeredBy())} + ") is "
           + std::string{enum_name(eval->getStatus())} + why_short(*eval));
  PlanChecks::on_evaluations(work, evaluations);
}

void CountingChecks::on_commit(const UnderWay& plan,
                               const state::Snapshot& before,
                               const state::Snapshot& after) {
  if (account != nullptr)
    for (const auto& [node, why] : plan.verdict.rejected_nodes)
      tell("  a node rejects its part of " + copy(plan.part->job->getId()) + ": " + why);
  PlanChecks::on_commit(plan, before, after);
}

void CountingChecks::on_drain(const state::Snapshot& state,
                              const cluster::DrainRound& round,
                              std::int64_t now) {
  if (account != nullptr)
    for (const auto& command : round.commands)
      if (command->isAllocTransition())
        for (const auto entry : command->getAllocTransition().getEntries())
          tell("the drainer marks " + copy(entry.getAllocId()).substr(0, 8));
  PlanChecks::on_drain(state, round, now);
  for (const auto& command : round.commands) {
    if (command->isNodeDrainUpdate()) ++counts_.completed_drains;
    if (command->isNodeEventsUpsert()) ++counts_.waiting_drains;
    if (!command->isAllocTransition()) continue;
    for (const auto entry : command->getAllocTransition().getEntries()) {
      ++counts_.drain_marks;
      const auto row = state.alloc(view(entry.getAllocId()));
      const auto node = row ? state.node(row->alloc->node_id()) : Object<schema::Node>{};
      if (node && is_forced(*node, now)) ++counts_.forced_marks;
    }
  }
}

void CountingChecks::on_deployment(const state::Snapshot& state,
                                   schema::Deployment::Reader deployment,
                                   schema::Command::Reader command,
                                   std::int64_t now) {
  tell("the watcher of the deployment of " + copy(deployment.getJobId()) + " writes command "
       + std::to_string(static_cast<int>(command.which())));
  PlanChecks::on_deployment(state, deployment, command, now);
  if (command.isDeploymentPromotion()) ++counts_.promoted_by_itself;
  if (!command.isDeploymentStatusUpdate()) return;
  ++counts_.failed_deployments;
  if (command.getDeploymentStatusUpdate().hasJob()) ++counts_.reverted;
}

}  // namespace nomad::properties
