#include "runtime/cluster/deployment_commands.hpp"

#include <algorithm>

#include "runtime/cluster/next_deployment_command.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::cluster {
namespace {

using schema::DeploymentState;

bool is_terminal(DeploymentState status) {
  return status >= DeploymentState::SUCCESSFUL;
}

/// A deployment that the caller may change, and that may be changed.
struct Active {
  access::Allowed allowed;
  Object<schema::Deployment> deployment;
};

/// `refusal`: "can't … terminal deployment".
Result<Active> active(const state::Snapshot& snapshot,
                      const access::Asking& asking,
                      std::string_view id,
                      std::string_view refusal) {
  auto deployment = snapshot.deployment(id);
  if (!deployment) return Error{Errc::not_found, "deployment not found"};
  const auto allowed = NOMAD_TRY(access::authorize(asking, {view(deployment->getNamespace())}));
  if (is_terminal(deployment->getStatus())) return Error{Errc::rejected, std::string{refusal}};
  return Active{allowed, std::move(deployment)};
}

template <class CommandBuilder>
std::string attach(CommandBuilder command, const Object<schema::Evaluation>& eval) {
  if (!eval) return {};
  command.setEvaluation(*eval);
  return copy(eval->getId());
}

/// `eval`: what follows from it; none if empty.
DeploymentDecision status_update(const Active& found,
                                 DeploymentState status,
                                 std::string_view description,
                                 const Object<schema::Evaluation>& eval) {
  Draft<schema::Command> draft;
  auto command = draft->initDeploymentStatusUpdate();
  auto update = command.initUpdate();
  update.setDeploymentId(found.deployment->getId());
  update.setStatus(status);
  update.setStatusDescription(text(description));
  DeploymentDecision decision{.allowed = found.allowed};
  decision.eval_id = attach(command, eval);
  decision.command = draft.freeze();
  return decision;
}

}  // namespace

Result<DeploymentDecision> decide_fail(const state::Snapshot& snapshot,
                                       const access::Asking& asking,
                                       std::string_view deployment_id,
                                       const EvalSeed& seed) {
  const auto found
      = NOMAD_TRY(active(snapshot, asking, deployment_id, "can't fail terminal deployment"));
  auto failed = fail_deployment(snapshot, found.deployment, "Deployment marked as failed",
                                reverts_on_failure(*found.deployment), seed);
  return DeploymentDecision{found.allowed, std::move(failed.command), std::move(failed.eval_id),
                            failed.reverted_to};
}

Result<DeploymentDecision> decide_pause(const state::Snapshot& snapshot,
                                        const access::Asking& asking,
                                        std::string_view deployment_id,
                                        bool pause,
                                        const EvalSeed& seed) {
  const auto found = NOMAD_TRY(
      active(snapshot, asking, deployment_id,
             pause ? "can't pause terminal deployment" : "can't resume terminal deployment"));
  if (pause) return status_update(found, DeploymentState::PAUSED, "Deployment is paused", {});
  return status_update(found, DeploymentState::RUNNING, "Deployment is running",
                       deployment_eval(snapshot, found.deployment, seed));
}

Result<DeploymentDecision> decide_unblock(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view deployment_id,
                                          const EvalSeed& seed) {
  const auto found
      = NOMAD_TRY(active(snapshot, asking, deployment_id, "can't unblock terminal deployment"));
  if (found.deployment->getStatus() != DeploymentState::BLOCKED)
    return DeploymentDecision{found.allowed};
  return status_update(found, DeploymentState::SUCCESSFUL, "Deployment completed successfully",
                       deployment_eval(snapshot, found.deployment, seed));
}

Result<DeploymentDecision> decide_promote(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view deployment_id,
                                          bool all,
                                          const std::vector<std::string>& groups,
                                          const EvalSeed& seed) {
  const auto found
      = NOMAD_TRY(active(snapshot, asking, deployment_id, "can't promote terminal deployment"));
  Draft<schema::Command> draft;
  auto command = draft->initDeploymentPromotion();
  command.setDeploymentId(text(deployment_id));
  command.setAll(all);
  auto names = command.initGroups(static_cast<unsigned>(groups.size()));
  for (unsigned i = 0; i < names.size(); ++i)
    names.set(i, text(groups[i]));
  DeploymentDecision decision{.allowed = found.allowed};
  decision.eval_id = attach(command, deployment_eval(snapshot, found.deployment, seed));
  decision.command = draft.freeze();
  return decision;
}

namespace {

/// Whether one of the allocations is of a group that asks for a rollback, and there is a version to
/// go back to.
bool rolls_back(const state::Snapshot& snapshot,
                schema::Deployment::Reader deployment,
                const std::vector<std::string>& unhealthy) {
  if (!has_stable_version(snapshot, deployment)) return false;
  return std::ranges::any_of(unhealthy, [&](const std::string& id) {
    const auto row = snapshot.unguarded().alloc(id);  // Neither of what is read of it changes.
    if (!row || row->alloc->deployment_id() != view(deployment.getId())) return false;
    const auto groups = deployment.getTaskGroups();
    const auto position = find_entry(groups, row->alloc->task_group());
    return position && groups[*position].getValue().getAutoRevert();
  });
}

}  // namespace

Result<DeploymentDecision> decide_alloc_health(const state::Snapshot& snapshot,
                                               const access::Asking& asking,
                                               std::string_view deployment_id,
                                               const std::vector<std::string>& healthy,
                                               const std::vector<std::string>& unhealthy,
                                               const EvalSeed& seed) {
  if (healthy.empty() && unhealthy.empty())
    return Error{Errc::rejected, "must specify at least one healthy/unhealthy allocation ID"};
  const auto found = NOMAD_TRY(active(snapshot, asking, deployment_id,
                                      "can't set health of allocations for a terminal deployment"));
  for (const auto* ids : {&healthy, &unhealthy})
    for (const auto& id : *ids)
      if (const auto row = snapshot.unguarded().alloc(id))  // It stays in its namespace.
        NOMAD_TRY(access::authorize(asking, {row->alloc->ns()}));
  Draft<schema::Command> draft;
  auto command = draft->initDeploymentAllocHealth();
  command.setDeploymentId(text(deployment_id));
  const auto fill = [](auto list, const std::vector<std::string>& ids) {
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text(ids[i]));
  };
  fill(command.initHealthyIds(static_cast<unsigned>(healthy.size())), healthy);
  fill(command.initUnhealthyIds(static_cast<unsigned>(unhealthy.size())), unhealthy);
  command.setTimestamp(seed.now);
  DeploymentDecision decision{.allowed = found.allowed};
  if (!unhealthy.empty()) {
    const auto failed
        = fail_deployment(snapshot, found.deployment, "Failed due to unhealthy allocations",
                          rolls_back(snapshot, *found.deployment, unhealthy), seed);
    const auto failure = failed.command->getDeploymentStatusUpdate();
    command.setUpdate(failure.getUpdate());
    if (failure.hasJob()) command.setJob(failure.getJob());
    decision.reverted_to = failed.reverted_to;
  }
  decision.eval_id = attach(command, deployment_eval(snapshot, found.deployment, seed));
  decision.command = draft.freeze();
  return decision;
}

}  // namespace nomad::cluster
