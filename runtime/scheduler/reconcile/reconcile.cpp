#include "runtime/scheduler/reconcile/reconcile.hpp"

#include <algorithm>
#include <set>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/group_reconciler.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

using schema::DeploymentState;

bool is_stopped(const ReconcileInput& input) {
  return input.job == nullptr || input.job->is_stopped();
}

/// Groups of the job and of its allocations, each with its allocations.
std::map<std::string_view, AllocSet> by_group(const ReconcileInput& input) {
  std::map<std::string_view, AllocSet> groups;
  if (input.job != nullptr) {
    for (const auto& group : input.job->groups())
      groups[group.name];
  }
  for (const auto& entry : *input.allocs)
    groups[entry.alloc().task_group()].push_back(&entry);
  return groups;
}

/// Decides which deployment is the current one, and cancels one that is not needed any more.
void choose_deployment(ReconcileContext& context) {
  const auto& input = context.input;
  if (!input.deployment) return;
  auto draft = DeploymentDraft::read(*input.deployment);
  const auto cancel = [&](std::string_view description) {
    if (is_active(draft.status))
      context.result.deployment_changes.push_back(
          {draft.id, DeploymentState::CANCELLED, std::string{description}});
    context.old_deployment = std::move(draft);
  };
  if (is_stopped(input)) return cancel("Cancelled because job is stopped");
  const auto job = input.job->reader();
  if (input.deployment->getJobCreateIndex() != job.getCreateIndex()
      || input.deployment->getJobVersion() != job.getVersion())
    return cancel("Cancelled due to newer version of job");
  if (draft.status == DeploymentState::SUCCESSFUL) {
    context.old_deployment = std::move(draft);
    return;
  }
  context.deployment_paused = draft.status == DeploymentState::PAUSED
                              || draft.status == DeploymentState::PENDING
                              || draft.status == DeploymentState::INITIALIZING;
  context.deployment_failed = draft.status == DeploymentState::FAILED;
  context.deployment = std::move(draft);
}

void change_status(ReconcileContext& context, DeploymentState status, std::string_view text) {
  context.result.deployment_changes.push_back({context.deployment->id, status, std::string{text}});
}

/// Whether something of the deployment has failed that was left to the deployment's watcher, which
/// does not replace what was healthy before or what nobody has judged.
bool leaves_failures(const ReconcileContext& context) {
  return std::ranges::any_of(*context.input.allocs, [&](const AllocEntry& entry) {
    const auto alloc = entry.alloc();
    return alloc.client_status() == schema::ClientStatus::FAILED && !entry.row->server_terminal
           && alloc.next().empty() && alloc.deployment_id() == context.deployment->id
           && reschedule_time(alloc, entry.job()).eligible;
  });
}

/// Unlike in Nomad, what the deployment left is looked at once it is over.
void succeed(ReconcileContext& context) {
  change_status(context, DeploymentState::SUCCESSFUL, "Deployment completed successfully");
  if (!leaves_failures(context)) return;
  const auto& input = context.input;
  context.result.followups.push_back(make_followup(input, make_uuid(context.random),
                                                   schema::EvalTrigger::ALLOC_FAILURE, input.now));
}

/// Ends the deployment when its work is done, and writes a new one.
void finish_deployment(ReconcileContext& context, bool complete) {
  if (!context.deployment) return;
  auto& deployment = *context.deployment;
  const bool stored = !context.deployment_is_new;
  if (stored && complete && is_active(deployment.status)) {
    if (!deployment.is_multiregion)
      succeed(context);
    else if (deployment.status != DeploymentState::UNBLOCKING
             && deployment.status != DeploymentState::BLOCKED)
      change_status(context, DeploymentState::BLOCKED,
                    "Deployment is complete but waiting for peer region");
  }
  if (stored && deployment.status == DeploymentState::INITIALIZING)
    change_status(context, DeploymentState::PENDING,
                  "Deployment is pending, waiting for peer region");
  const bool whole
      = context.deployment_is_new || deployment.status == DeploymentState::INITIALIZING;
  if (!whole) return;
  if (deployment.promotes_automatically())
    deployment.description = "Deployment is running pending automatic promotion";
  else if (deployment.requires_promotion())
    deployment.description = "Deployment is running but requires manual promotion";
  context.result.deployment
      = deployment.freeze(context.input.job->reader(), context.input.eval_priority);
}

}  // namespace

Reconciliation reconcile(const ReconcileInput& input, const UpdateDecider& decide, Random& random) {
  Reconciliation result;
  ReconcileContext context{input, decide, random, result, {}, {}, false, false, false, {}};
  choose_deployment(context);
  if (is_stopped(input)) {
    for (const auto& [name, all] : by_group(input)) {
      const auto live
          = filtered(all, [](const AllocEntry& alloc) { return !alloc.row->terminal(); });
      result.desired_updates[std::string{name}].stop = stop_all(context, live);
    }
    return result;
  }
  bool complete = true;
  for (const auto& [name, all] : by_group(input)) {
    if (const auto* group = input.job->find(name)) {
      complete = GroupReconciler{context, *group}.run(all) && complete;
    } else {
      // Also what has ended by itself: nobody wants it to run any more.
      const auto wanted
          = filtered(all, [](const AllocEntry& alloc) { return !alloc.row->server_terminal; });
      stop_all(context, wanted);
      result.desired_updates[std::string{name}].stop = all.size();
    }
  }
  // Who is told to end needs no note that its client is back.
  std::set<const AllocEntry*> stopped;
  for (const auto& stop : result.stop)
    stopped.insert(stop.alloc);
  std::erase_if(result.row_updates,
                [&stopped](const RowUpdate& update) { return stopped.contains(update.alloc); });
  finish_deployment(context, complete);
  return result;
}

}  // namespace nomad::scheduler
