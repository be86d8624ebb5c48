// Deployments: created by plans, counted up by their allocations, moved on by their watcher and by
// operators. Terminal states are final.
#include <algorithm>

#include "runtime/base/saturated.hpp"
#include "runtime/object/enum_name.hpp"
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

namespace {

using State = schema::DeploymentState;

/// As Nomad tells of several mistakes, and of one.
std::string listed(const std::vector<std::string>& problems) {
  auto text = std::to_string(problems.size())
              + (problems.size() == 1 ? " error occurred:\n" : " errors occurred:\n");
  for (const auto& problem : problems)
    text += "\t* " + problem + '\n';
  return text + '\n';
}

bool names_group(schema::DeploymentPromotion::Reader command, std::string_view group) {
  for (auto name : command.getGroups())
    if (view(name) == group) return true;
  return false;
}

bool needs_promotion(schema::Deployment::Reader deployment) {
  if (!is_active(deployment.getStatus())) return false;
  for (auto group : deployment.getTaskGroups())
    if (group.getValue().getDesiredCanaries() > 0 && !group.getValue().getPromoted()) return true;
  return false;
}

}  // namespace

std::optional<Error> Applier::check_active(std::string_view deployment_id) const {
  const auto* found = t_.deployments.find(deployment_id);
  const std::string id{deployment_id};
  if (found == nullptr)
    return Error{Errc::not_found,
                 "Deployment ID \"" + id + "\" couldn't be updated as it does not exist"};
  if (!is_active((*found)->getStatus()))
    return Error{Errc::conflict, "Deployment \"" + id + "\" has terminal status \""
                                     + std::string{enum_name((*found)->getStatus())} + "\""};
  return std::nullopt;
}

/// Stores a deployment whose create index is set.
void Applier::put_deployment(Object<schema::Deployment> deployment) {
  put<kind::Deployments>(deployment);
  if (deployment->getStatus() == State::SUCCESSFUL)
    set_stable(view(deployment->getNamespace()), view(deployment->getJobId()),
               deployment->getJobVersion(), true);
}

/// A plan's deployment: a new one, or one whose groups it computed anew.
void Applier::upsert_deployment(schema::Deployment::Reader deployment) {
  const auto* found = t_.deployments.find(view(deployment.getId()));
  if (found != nullptr && !is_active((*found)->getStatus())) return;
  Draft<schema::Deployment> draft{deployment};
  if (found != nullptr) {
    draft->setNamespace((*found)->getNamespace());
    draft->setJobId((*found)->getJobId());
  }
  draft->setCreateIndex(found != nullptr ? (*found)->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  put_deployment(draft.freeze());
}

/// The deployment that comes with a version of a job, in place of an active one.
void Applier::begin_deployment(schema::Deployment::Reader deployment, JobReader job) {
  Object<schema::Deployment> last;
  for (const auto& entry :
       t_.deployments_by_job.prefix(join_key(view(job.getNamespace()), view(job.getId()), "")))
    last = entry.value();
  if (last && is_active(last->getStatus())) {
    Draft<schema::Deployment> ended{last};
    ended->setStatus(State::CANCELLED);
    ended->setStatusDescription("Cancelled due to newer version of job");
    ended->setModifyIndex(index_);
    put_deployment(ended.freeze());
  }
  Draft<schema::Deployment> draft{deployment};
  draft->setNamespace(job.getNamespace());
  draft->setJobId(job.getId());
  draft->setJobVersion(job.getVersion());
  draft->setJobCreateIndex(job.getCreateIndex());
  draft->setJobModifyIndex(job.getModifyIndex());
  draft->setJobSpecModifyIndex(job.getJobModifyIndex());
  draft->setCreateIndex(index_);
  draft->setModifyIndex(index_);
  put_deployment(draft.freeze());
}

/// Passes over unknown and ended deployments.
void Applier::update_deployment(schema::DeploymentUpdate::Reader update) {
  if (check_active(view(update.getDeploymentId()))) return;
  Draft<schema::Deployment> draft{*t_.deployments.find(view(update.getDeploymentId()))};
  draft->setStatus(update.getStatus());
  draft->setStatusDescription(update.getStatusDescription());
  draft->setModifyIndex(index_);
  put_deployment(draft.freeze());
}

void Applier::remove_deployment(std::string_view id) {
  remove<kind::Deployments>(id);
}

void Applier::deployment_status_update(schema::DeploymentStatusUpdate::Reader command) {
  auto error = check_active(view(command.getUpdate().getDeploymentId()));
  if (!error && command.hasJob()) error = check_job(command.getJob());
  if (error) {
    outcome_.error = std::move(error);
    return;
  }
  update_deployment(command.getUpdate());
  if (command.hasJob()) {
    put_job_spec(command.getJob(), false, command.getJob().getVersion());
    outcome_.job_modify_index = index_;
  }
  if (command.hasEvaluation()) put_eval(command.getEvaluation());
}

void Applier::deployment_promotion(schema::DeploymentPromotion::Reader command) {
  const std::string_view id = view(command.getDeploymentId());
  if (auto error = check_active(id)) {
    outcome_.error = std::move(error);
    return;
  }
  const Object<schema::Deployment> deployment = *t_.deployments.find(id);
  std::set<std::string, std::less<>> chosen;
  for (auto group : deployment->getTaskGroups())
    if (command.getAll() || names_group(command, view(group.getKey())))
      chosen.insert(copy(group.getKey()));

  const std::vector<AllocRef> promotable = healthy_canaries(*deployment, chosen);
  std::map<std::string_view, std::int64_t> healthy;
  for (const AllocRef& row : promotable)
    ++healthy[row->alloc->task_group()];
  std::vector<std::string> problems;
  for (auto group : deployment->getTaskGroups()) {
    const std::string_view name = view(group.getKey());
    const std::int64_t needed = group.getValue().getDesiredCanaries();
    if (!chosen.contains(name) || healthy[name] >= needed) continue;
    problems.push_back("Task group \"" + std::string{name} + "\" has "
                       + std::to_string(healthy[name]) + "/" + std::to_string(needed)
                       + " healthy allocations");
  }
  if (!problems.empty()) return refuse(Errc::conflict, listed(problems));

  Draft<schema::Deployment> draft{deployment};
  const std::int64_t now = command.hasEvaluation() ? command.getEvaluation().getModifyTime() : 0;
  for (auto group : draft->getTaskGroups()) {
    if (!chosen.contains(view(group.asReader().getKey()))) continue;
    auto value = group.getValue();
    value.setPromoted(true);
    if (value.getProgressDeadline() > 0 && value.getRequireProgressBy() != 0 && now != 0)
      value.setRequireProgressBy(saturated_sum(now, value.getProgressDeadline()));
  }
  if (draft->getStatus() == State::RUNNING && !needs_promotion(draft.reader()))
    draft->setStatusDescription("Deployment is running");
  draft->setModifyIndex(index_);
  put_deployment(draft.freeze());
  if (command.hasEvaluation()) put_eval(command.getEvaluation());
  for (const AllocRef& canary : promotable)
    promote(canary);
}

/// The canaries of `groups` that run and are healthy.
std::vector<AllocRef> Applier::healthy_canaries(
    schema::Deployment::Reader deployment, const std::set<std::string, std::less<>>& groups) const {
  std::set<std::string_view> canaries;
  for (auto group : deployment.getTaskGroups())
    for (auto canary : group.getValue().getPlacedCanaries())
      canaries.insert(view(canary));
  std::vector<AllocRef> healthy;
  const std::string prefix = join_key(view(deployment.getId()), "");
  for (const auto& entry : t_.allocs_by_deployment.prefix(prefix)) {
    const AllocRef& row = *t_.allocs.find(entry.key().substr(prefix.size()));
    const auto alloc = *row->alloc;
    if (!canaries.contains(alloc.id()) || !groups.contains(alloc.task_group())) continue;
    if (!row->terminal() && alloc.health().value_or(false)) healthy.push_back(row);
  }
  return healthy;
}

/// A promoted canary is an allocation like others.
void Applier::promote(const AllocRef& canary) {
  Draft<schema::Allocation> draft{canary->alloc};
  draft->getDeploymentStatus().setCanary(false);
  draft->getDeploymentStatus().setModifyIndex(index_);
  draft->setModifyIndex(index_);
  draft->setAllocModifyIndex(index_);
  AllocRow row = *canary;
  row.alloc = draft.freeze();
  const AllocRef before = canary;
  put_alloc(&before, std::move(row), Author::server);
}

/// Whether the allocation's group needs no canaries any more: a plan may have been under way while
/// they were promoted.
bool Applier::is_promoted(AllocView alloc) const {
  const auto* deployment = t_.deployments.find(alloc.deployment_id());
  if (deployment == nullptr) return false;
  for (auto group : (*deployment)->getTaskGroups())
    if (view(group.getKey()) == alloc.task_group()) return group.getValue().getPromoted();
  return false;
}

std::optional<Error> Applier::check_health_ids(
    schema::DeploymentAllocHealth::Reader command) const {
  for (const auto& ids : {command.getHealthyIds(), command.getUnhealthyIds()})
    for (auto id : ids) {
      const AllocRef* found = t_.allocs.find(view(id));
      if (found == nullptr) return Error{Errc::not_found, "unknown alloc \"" + copy(id) + "\""};
      if ((*found)->alloc->deployment_id() != view(command.getDeploymentId()))
        return Error{Errc::conflict, "alloc \"" + copy(id) + "\" is not part of deployment \""
                                         + copy(command.getDeploymentId()) + "\""};
    }
  return std::nullopt;
}

void Applier::deployment_alloc_health(schema::DeploymentAllocHealth::Reader command) {
  auto error = check_active(view(command.getDeploymentId()));
  if (!error) error = check_health_ids(command);
  if (!error && command.hasJob()) error = check_job(command.getJob());
  if (error) {
    outcome_.error = std::move(error);
    return;
  }
  for (auto id : command.getHealthyIds())
    set_health(view(id), true, command.getTimestamp());
  for (auto id : command.getUnhealthyIds())
    set_health(view(id), false, command.getTimestamp());
  settle_deployments();  // before the status ends it
  if (command.hasUpdate()) update_deployment(command.getUpdate());
  if (command.hasJob()) {
    put_job_spec(command.getJob(), false, command.getJob().getVersion());
    outcome_.job_modify_index = index_;
  }
  if (command.hasEvaluation()) put_eval(command.getEvaluation());
}

void Applier::set_health(std::string_view alloc_id, bool healthy, std::int64_t timestamp) {
  const AllocRef before = *t_.allocs.find(alloc_id);
  const auto old = *before->alloc;
  Draft<schema::Allocation> draft{before->alloc};
  auto status = draft->getDeploymentStatus();
  status.getHealthy().setValue(healthy);
  status.setTimestamp(timestamp);
  status.setModifyIndex(index_);
  draft->setModifyIndex(index_);
  count_in_deployment(&old, *draft);
  AllocRow row = *before;
  row.alloc = draft.freeze();
  put_alloc(&before, std::move(row), Author::client);
}

/// An allocation is placed by its deployment or has new health; `before` is null for a new one.
void Applier::count_in_deployment(const AllocView* before, AllocBuilder after) {
  const AllocView alloc{after.asReader()};
  if (alloc.deployment_id().empty()) return;
  const auto had = before != nullptr ? before->health() : std::nullopt;
  const auto has = alloc.health();
  const bool placed = before == nullptr || before->deployment_id() != alloc.deployment_id();
  const bool judged = !placed && has && (!had || (*had && !*has));
  if (!placed && !judged) return;
  DeploymentCounts* counts = deployment_counts(alloc.deployment_id(), alloc.task_group());
  if (counts == nullptr) return;

  if (placed) ++counts->placed;
  if (judged) {
    if (*has) ++counts->healthy;
    if (!*has) ++counts->unhealthy;
    if (had && *had && !*has) --counts->healthy;
    after.getDeploymentStatus().setModifyIndex(index_);
  }
  if (alloc.is_canary()) counts->canaries.push_back(std::string{alloc.id()});
  if (counts->progress_deadline == 0) return;
  if (placed && counts->require_progress_by == 0)
    counts->require_progress_by = saturated_sum(alloc.modify_time(), counts->progress_deadline);
  else if (judged && *has)
    counts->require_progress_by = std::max(
        counts->require_progress_by,
        saturated_sum(alloc.deployment_status().getTimestamp(), counts->progress_deadline));
}

/// The command's counts of a group; null if the deployment or its group is unknown.
Applier::DeploymentCounts* Applier::deployment_counts(std::string_view deployment_id,
                                                      std::string_view group) {
  auto known = deployments_.find(deployment_id);
  if (known == deployments_.end()) {
    const auto* found = t_.deployments.find(deployment_id);
    if (found == nullptr) return nullptr;
    known = deployments_.try_emplace(std::string{deployment_id}).first;
    for (auto entry : (*found)->getTaskGroups()) {
      DeploymentCounts counts;
      counts.progress_deadline = entry.getValue().getProgressDeadline();
      counts.require_progress_by = entry.getValue().getRequireProgressBy();
      known->second.emplace(copy(entry.getKey()), std::move(counts));
    }
  }
  const auto counts = known->second.find(group);
  return counts != known->second.end() ? &counts->second : nullptr;
}

void Applier::settle_deployments() {
  for (const auto& [id, groups] : deployments_) {
    const bool any = std::any_of(groups.begin(), groups.end(), [](const auto& group) {
      const DeploymentCounts& counts = group.second;
      return counts.placed != 0 || counts.healthy != 0 || counts.unhealthy != 0;
    });
    const auto* found = t_.deployments.find(id);
    if (!any || found == nullptr) continue;
    Draft<schema::Deployment> draft{*found};
    for (auto entry : draft->getTaskGroups()) {
      const auto counted = groups.find(view(entry.asReader().getKey()));
      if (counted == groups.end()) continue;
      const DeploymentCounts& counts = counted->second;
      auto group = entry.getValue();
      group.setPlacedAllocs(group.getPlacedAllocs() + counts.placed);
      group.setHealthyAllocs(group.getHealthyAllocs() + counts.healthy);
      group.setUnhealthyAllocs(group.getUnhealthyAllocs() + counts.unhealthy);
      group.setRequireProgressBy(counts.require_progress_by);
      std::vector<std::string> canaries;
      for (auto canary : group.asReader().getPlacedCanaries())
        canaries.push_back(copy(canary));
      const std::size_t known = canaries.size();
      for (const auto& canary : counts.canaries)
        if (std::find(canaries.begin(), canaries.end(), canary) == canaries.end())
          canaries.push_back(canary);
      if (canaries.size() == known) continue;
      auto list = group.initPlacedCanaries(static_cast<unsigned>(canaries.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.set(i, text(canaries[i]));
    }
    draft->setModifyIndex(index_);
    put_deployment(draft.freeze());
  }
  deployments_.clear();
}

}  // namespace nomad::state
