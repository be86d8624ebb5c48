#include "runtime/scheduler/reconcile/deployment_draft.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/state/rows.hpp"

namespace nomad::scheduler {
namespace {

DeploymentGroupDraft read_group(schema::DeploymentGroup::Reader group) {
  DeploymentGroupDraft draft;
  draft.auto_revert = group.getAutoRevert();
  draft.auto_promote = group.getAutoPromote();
  draft.progress_deadline = group.getProgressDeadline();
  draft.require_progress_by = group.getRequireProgressBy();
  draft.promoted = group.getPromoted();
  for (const auto id : group.getPlacedCanaries())
    draft.placed_canaries.push_back(copy(id));
  draft.desired_canaries = group.getDesiredCanaries();
  draft.desired_total = group.getDesiredTotal();
  draft.placed_allocs = group.getPlacedAllocs();
  draft.healthy_allocs = group.getHealthyAllocs();
  draft.unhealthy_allocs = group.getUnhealthyAllocs();
  return draft;
}

void write_group(schema::DeploymentGroup::Builder group, const DeploymentGroupDraft& draft) {
  group.setAutoRevert(draft.auto_revert);
  group.setAutoPromote(draft.auto_promote);
  group.setProgressDeadline(draft.progress_deadline);
  group.setRequireProgressBy(draft.require_progress_by);
  group.setPromoted(draft.promoted);
  group.setDesiredCanaries(draft.desired_canaries);
  group.setDesiredTotal(draft.desired_total);
  group.setPlacedAllocs(draft.placed_allocs);
  group.setHealthyAllocs(draft.healthy_allocs);
  group.setUnhealthyAllocs(draft.unhealthy_allocs);
  if (draft.placed_canaries.empty()) return;
  auto canaries = group.initPlacedCanaries(static_cast<unsigned>(draft.placed_canaries.size()));
  for (unsigned i = 0; i < canaries.size(); ++i)
    canaries.set(i, text(draft.placed_canaries[i]));
}

}  // namespace

bool is_active(schema::DeploymentState status) {
  return state::is_active(status);
}

DeploymentDraft DeploymentDraft::read(schema::Deployment::Reader deployment) {
  DeploymentDraft draft;
  draft.id = copy(deployment.getId());
  draft.status = deployment.getStatus();
  draft.description = copy(deployment.getStatusDescription());
  draft.is_multiregion = deployment.getIsMultiregion();
  for (const auto entry : deployment.getTaskGroups())
    draft.groups.emplace(copy(entry.getKey()), read_group(entry.getValue()));
  return draft;
}

bool DeploymentDraft::requires_promotion() const {
  return std::ranges::any_of(groups, [](const auto& entry) {
    return entry.second.desired_canaries > 0 && !entry.second.promoted;
  });
}

bool DeploymentDraft::promotes_automatically() const {
  return requires_promotion() && std::ranges::all_of(groups, [](const auto& entry) {
           return entry.second.desired_canaries == 0 || entry.second.auto_promote;
         });
}

Object<schema::Deployment> DeploymentDraft::freeze(schema::Job::Reader job,
                                                   std::int64_t eval_priority) const {
  Draft<schema::Deployment> draft;
  auto& deployment = *draft;
  deployment.setId(text(id));
  deployment.setNamespace(job.getNamespace());
  deployment.setJobId(job.getId());
  deployment.setJobVersion(job.getVersion());
  deployment.setJobModifyIndex(job.getModifyIndex());
  deployment.setJobSpecModifyIndex(job.getJobModifyIndex());
  deployment.setJobCreateIndex(job.getCreateIndex());
  deployment.setIsMultiregion(is_multiregion);
  deployment.setStatus(status);
  deployment.setStatusDescription(text(description));
  deployment.setEvalPriority(eval_priority);
  auto entries = deployment.initTaskGroups(static_cast<unsigned>(groups.size()));
  unsigned next = 0;
  for (const auto& [name, group] : groups) {
    entries[next].setKey(text(name));
    write_group(entries[next++].initValue(), group);
  }
  return draft.freeze();
}

}  // namespace nomad::scheduler
