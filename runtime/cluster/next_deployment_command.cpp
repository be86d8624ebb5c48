#include "runtime/cluster/next_deployment_command.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/cluster/job_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::cluster {
namespace {

using schema::DeploymentState;
using schema::EvalTrigger;

using Rows = std::vector<state::AllocRef>;

bool is_healthy(AllocView alloc) {
  return alloc.health().value_or(false);
}

std::optional<schema::DeploymentGroup::Reader> group_of(schema::Deployment::Reader deployment,
                                                        std::string_view name) {
  const auto groups = deployment.getTaskGroups();
  const auto position = find_entry(groups, name);
  if (!position) return std::nullopt;
  return groups[*position].getValue();
}

bool has_unpromoted_canaries(schema::DeploymentGroup::Reader group) {
  return group.getDesiredCanaries() > 0 && !group.getPromoted();
}

/// When the first group that is not done must have made progress; 0 if none must.
std::int64_t progress_deadline(schema::Deployment::Reader deployment, const Rows& rows) {
  std::map<std::string_view, std::int64_t> healthy;
  for (const auto& row : rows) {
    if (!row->terminal() && is_healthy(*row->alloc)) ++healthy[row->alloc->task_group()];
  }
  std::int64_t earliest = 0;
  for (const auto entry : deployment.getTaskGroups()) {
    const auto group = entry.getValue();
    const auto due = group.getRequireProgressBy();
    const bool done = healthy[view(entry.getKey())] >= group.getDesiredTotal()
                      && !has_unpromoted_canaries(group);
    if (due == 0 || done) continue;
    if (earliest == 0 || due < earliest) earliest = due;
  }
  return earliest;
}

/// What is wrong with a deployment whose deadline is over.
struct Verdict {
  bool fails = false;
  bool rolls_back = false;
};

Verdict judge_overdue(schema::Deployment::Reader deployment) {
  Verdict verdict;
  for (const auto entry : deployment.getTaskGroups()) {
    const auto group = entry.getValue();
    const auto needed
        = has_unpromoted_canaries(group) ? group.getDesiredCanaries() : group.getDesiredTotal();
    if (group.getHealthyAllocs() >= needed) continue;
    verdict.fails = true;
    verdict.rolls_back = verdict.rolls_back || group.getAutoRevert();
  }
  return verdict;
}

/// Whether the policy lets the allocation be placed anew at all.
bool may_be_replaced(const state::AllocRef& row) {
  const auto alloc = *row->alloc;
  const auto group = scheduler::find_group(*row->job, alloc.task_group());
  if (!group || !group->hasReschedulePolicy()) return false;
  return scheduler::reschedule_time(alloc, group->getReschedulePolicy(),
                                    scheduler::fail_time(alloc))
      .eligible;
}

/// Every group with canaries promotes them by itself, and all of them are healthy. Nothing is
/// promoted while an operator has paused the deployment, or while it waits for other regions.
bool is_ripe_for_promotion(schema::Deployment::Reader deployment, const Rows& rows) {
  if (deployment.getStatus() != DeploymentState::RUNNING) return false;
  bool has_canaries = false;
  for (const auto entry : deployment.getTaskGroups()) {
    const auto group = entry.getValue();
    if (group.getDesiredCanaries() == 0) continue;
    if (group.getPromoted()) continue;
    has_canaries = true;
    if (!group.getAutoPromote()) return false;
    std::int64_t healthy = 0;
    for (const auto id : group.getPlacedCanaries()) {
      const auto row = std::ranges::find_if(
          rows, [&](const auto& other) { return other->alloc->id() == view(id); });
      healthy += row != rows.end() && is_healthy(*(*row)->alloc) ? 1 : 0;
    }
    if (healthy != group.getDesiredCanaries()) return false;
  }
  return has_canaries;
}

/// The newest evaluation of the job: it has seen every report before it.
std::uint64_t latest_eval_index(const state::Snapshot& snapshot,
                                schema::Deployment::Reader deployment) {
  std::uint64_t latest = 0;
  const auto evals
      = snapshot.evals_by_job(view(deployment.getNamespace()), view(deployment.getJobId()));
  for (const auto& entry : evals)
    latest = std::max(latest, entry.value()->getCreateIndex());
  return latest;
}

bool has_news(const Rows& rows, std::uint64_t known_index) {
  return std::ranges::any_of(rows, [known_index](const auto& row) {
    return is_healthy(*row->alloc)
           && row->alloc->deployment_status().getModifyIndex() > known_index;
  });
}

Object<schema::Command> evaluate_command(const Object<schema::Evaluation>& eval) {
  Draft<schema::Command> draft;
  draft->initEvalUpdate().initEvaluations(1).setWithCaveats(0, *eval);
  return draft.freeze();
}

Object<schema::Command> promote_command(const Object<schema::Deployment>& deployment,
                                        const Object<schema::Evaluation>& eval) {
  Draft<schema::Command> draft;
  auto promotion = draft->initDeploymentPromotion();
  promotion.setDeploymentId(deployment->getId());
  promotion.setAll(true);
  if (eval) promotion.setEvaluation(*eval);
  return draft.freeze();
}

Object<schema::Command> replace_command(const Rows& unhealthy,
                                        const Object<schema::Evaluation>& eval) {
  Draft<schema::Command> draft;
  auto transition = draft->initAllocTransition();
  auto entries = transition.initEntries(static_cast<unsigned>(unhealthy.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    entries[i].setAllocId(text(unhealthy[i]->alloc->id()));
    entries[i].initTransition().getReschedule().setValue(true);
  }
  if (eval) transition.initEvaluations(1).setWithCaveats(0, *eval);
  return draft.freeze();
}

/// The unhealthy allocations of a deployment, by what follows from them.
struct Unhealthy {
  Rows replaceable;  ///< Not marked yet.
  bool fails = false;
  bool rolls_back = false;
};

Unhealthy judge_unhealthy(schema::Deployment::Reader deployment, const Rows& rows) {
  Unhealthy result;
  for (const auto& row : rows) {
    const auto alloc = *row->alloc;
    if (alloc.health().value_or(true)) continue;
    const auto group = group_of(deployment, alloc.task_group());
    if (!group) continue;
    if (group->getProgressDeadline() != 0 && (alloc.wants_reschedule() || may_be_replaced(row))) {
      if (!alloc.wants_reschedule()) result.replaceable.push_back(row);
      continue;
    }
    result.fails = true;
    result.rolls_back = result.rolls_back || group->getAutoRevert();
  }
  return result;
}

}  // namespace

bool reverts_on_failure(schema::Deployment::Reader deployment) {
  for (const auto entry : deployment.getTaskGroups()) {
    if (entry.getValue().getAutoRevert()) return true;
  }
  return false;
}

Object<schema::Evaluation> deployment_eval(const state::Snapshot& snapshot,
                                           const Object<schema::Deployment>& deployment,
                                           const EvalSeed& seed) {
  const auto job = snapshot.job(view(deployment->getNamespace()), view(deployment->getJobId()));
  if (!job) return {};
  Draft<schema::Evaluation> eval{
      eval_for_job(*job, EvalTrigger::DEPLOYMENT_WATCHER, seed, deployment->getEvalPriority())};
  eval->setDeploymentId(deployment->getId());
  eval->setJobModifyIndex(0);  // it is for the deployment, whatever the job's version
  return eval.freeze();
}

namespace {

/// The newest version of the job that is known to work; empty if there is none.
Object<schema::Job> stable_version(const state::Snapshot& snapshot,
                                   schema::Deployment::Reader deployment) {
  for (const auto& job :
       snapshot.job_versions(view(deployment.getNamespace()), view(deployment.getJobId()))) {
    if (job->getStable()) return job;
  }
  return {};
}

std::string version_text(std::uint64_t version) {
  return std::to_string(version);
}

}  // namespace

bool has_stable_version(const state::Snapshot& snapshot, schema::Deployment::Reader deployment) {
  return static_cast<bool>(stable_version(snapshot, deployment));
}

FailedDeployment fail_deployment(const state::Snapshot& snapshot,
                                 const Object<schema::Deployment>& deployment,
                                 std::string_view description,
                                 bool rollback,
                                 const EvalSeed& seed) {
  FailedDeployment result;
  std::string why{description};
  Draft<schema::Command> draft;
  auto command = draft->initDeploymentStatusUpdate();
  if (rollback) {
    const auto current
        = snapshot.job(view(deployment->getNamespace()), view(deployment->getJobId()));
    const auto stable = stable_version(snapshot, *deployment);
    if (!stable || !current) {
      why += " - no stable job version to auto revert to";
    } else if (same_specification(*stable, *current)) {
      why += " - not rolling back to stable job version " + version_text(stable->getVersion())
             + " as current job has same specification";
    } else {
      why += " - rolling back to job version " + version_text(stable->getVersion());
      result.reverted_to = stable->getVersion();
      Draft<schema::Job> job{stable};
      job->setSubmitTime(seed.now);
      command.setJob(job.reader());
    }
  }
  auto update = command.initUpdate();
  update.setDeploymentId(deployment->getId());
  update.setStatus(DeploymentState::FAILED);
  update.setStatusDescription(text(why));
  if (const auto eval = deployment_eval(snapshot, deployment, seed)) {
    command.setEvaluation(*eval);
    result.eval_id = copy(eval->getId());
  }
  result.command = draft.freeze();
  return result;
}

NextDeploymentCommand next_deployment_command(const state::Snapshot& snapshot,
                                              std::string_view deployment_id,
                                              const EvalSeed& seed) {
  NextDeploymentCommand step;
  const auto deployment = snapshot.deployment(deployment_id);
  if (!deployment || !state::is_active(deployment->getStatus())) {
    step.is_over = true;
    return step;
  }
  const auto rows = snapshot.allocs_by_deployment(deployment_id);
  // Of one that is paused, too: as in Nomad, time goes on for it, and it fails when that is over.
  const bool waits_for_others = deployment->getStatus() == DeploymentState::PENDING;
  const auto deadline = waits_for_others ? 0 : progress_deadline(*deployment, rows);
  if (deadline != 0 && deadline > seed.now) step.look_again = deadline;

  const auto unhealthy = judge_unhealthy(*deployment, rows);
  if (unhealthy.fails) {
    step.command = fail_deployment(snapshot, deployment, "Failed due to unhealthy allocations",
                                   unhealthy.rolls_back, seed)
                       .command;
    step.reason = "an allocation is unhealthy";
    return step;
  }
  if (deadline != 0 && deadline <= seed.now) {
    const auto verdict = judge_overdue(*deployment);
    if (verdict.fails) {
      step.command = fail_deployment(snapshot, deployment, "Failed due to progress deadline",
                                     verdict.rolls_back, seed)
                         .command;
      step.reason = "no progress in time";
      return step;
    }
  }
  const auto eval = deployment_eval(snapshot, deployment, seed);
  if (is_ripe_for_promotion(*deployment, rows)) {
    step.command = promote_command(deployment, eval);
    step.reason = "its canaries are healthy";
  } else if (!unhealthy.replaceable.empty()) {
    step.command = replace_command(unhealthy.replaceable, eval);
    step.reason = "unhealthy allocations are replaced";
    step.may_wait = true;  // what fails together is replaced together, unless the deployment fails
  } else if (eval && has_news(rows, latest_eval_index(snapshot, *deployment))) {
    step.command = evaluate_command(eval);
    step.reason = "allocations are healthy";
  }
  return step;
}

}  // namespace nomad::cluster
