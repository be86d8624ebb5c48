#include "runtime/scheduler/system_deployment.hpp"

#include <algorithm>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

using schema::ClientStatus;
using schema::DeploymentState;

/// Whether its update block asks for what only a deployment gives. Without that a block means what
/// it does in Nomad 1.6: so many nodes change at a time, and the next after a while.
bool rolls(const GroupSpec& group) {
  if (!group.group.hasUpdate()) return false;
  const auto update = group.group.getUpdate();
  return update.getMaxParallel() > 0 && (update.getCanary() > 0 || update.getAutoRevert());
}

/// A share of the nodes that change, one at least, and no more than may change at once.
std::int64_t canaries_for(schema::UpdateStrategy::Reader update, std::size_t destructive) {
  if (update.getCanary() <= 0 || destructive == 0) return 0;
  const auto percent = std::min<std::int64_t>(update.getCanary(), 100);
  const auto share = (percent * static_cast<std::int64_t>(destructive) + 99) / 100;
  return std::min<std::int64_t>(share, update.getMaxParallel());
}

bool is_waiting(DeploymentState status) {
  return status == DeploymentState::PAUSED || status == DeploymentState::PENDING
         || status == DeploymentState::INITIALIZING;
}

bool is_canarying(const DeploymentGroupDraft& state) {
  return state.desired_canaries > 0 && !state.promoted;
}

}  // namespace

SystemDeployment::SystemDeployment(const JobSpec* job,
                                   const std::vector<AllocEntry>& allocs,
                                   const Object<schema::Deployment>& latest)
    : job_{job}, allocs_{allocs} {
  if (!latest) return;
  auto draft = DeploymentDraft::read(*latest);
  const bool is_stopped = job == nullptr || job->is_stopped();
  const bool is_of_job = !is_stopped
                         && latest->getJobCreateIndex() == job->reader().getCreateIndex()
                         && latest->getJobVersion() == job->reader().getVersion();
  if (!is_of_job) {
    if (scheduler::is_active(draft.status))
      changes_.push_back({draft.id, DeploymentState::CANCELLED,
                          is_stopped ? "Cancelled because job is stopped"
                                     : "Cancelled due to newer version of job"});
    return;
  }
  has_succeeded_ = draft.status == DeploymentState::SUCCESSFUL;
  current_ = std::move(draft);
}

void SystemDeployment::begin(const std::map<std::string_view, SystemGroupNews>& news,
                             Random& random) {
  if (current_ || job_ == nullptr || job_->is_stopped()) return;
  DeploymentDraft draft;
  for (const auto& group : job_->groups()) {
    const auto known = news.find(group.name);
    if (!rolls(group) || known == news.end()) continue;
    const auto& [destructive, in_place, missing] = known->second;
    const bool is_first = missing > 0 && !ran_before(group.name);
    if (destructive + in_place == 0 && !is_first) continue;
    const auto update = group.group.getUpdate();
    DeploymentGroupDraft state;
    state.auto_revert = update.getAutoRevert();
    state.auto_promote = update.getAutoPromote();
    state.progress_deadline = update.getProgressDeadline();
    state.desired_canaries = canaries_for(update, destructive);
    draft.groups.emplace(std::string{group.name}, std::move(state));
  }
  if (draft.groups.empty()) return;
  draft.id = make_uuid(random);
  draft.description = "Deployment is running";
  current_ = std::move(draft);
  is_new_ = true;
}

const DeploymentGroupDraft* SystemDeployment::state_of(std::string_view group) const {
  if (!current_) return nullptr;
  const auto known = current_->groups.find(group);
  return known == current_->groups.end() ? nullptr : &known->second;
}

bool SystemDeployment::is_active() const {
  return current_ && scheduler::is_active(current_->status);
}

bool SystemDeployment::ran_before(std::string_view group) const {
  return std::ranges::any_of(allocs_, [&](const AllocEntry& alloc) {
    const auto row = alloc.alloc();
    return row.task_group() == group && row.job_version() == job_->reader().getVersion()
           && row.job_create_index() == job_->reader().getCreateIndex();
  });
}

/// What the deployment has brought out of the group and goes on.
std::vector<const AllocEntry*> SystemDeployment::live(std::string_view group,
                                                      const Ended& ended) const {
  std::vector<const AllocEntry*> found;
  for (const auto& alloc : allocs_) {
    const auto row = alloc.alloc();
    if (row.task_group() == group && row.deployment_id() == current_->id && !alloc.row->terminal()
        && !ended.contains(&alloc))
      found.push_back(&alloc);
  }
  return found;
}

/// How many more may be replaced: each that is not known to be healthy yet takes a place, and one
/// that is unhealthy takes all.
std::size_t SystemDeployment::budget(const GroupSpec& group, const Ended& ended) const {
  auto left = static_cast<std::int64_t>(group.group.getUpdate().getMaxParallel());
  for (const auto* alloc : live(group.name, ended)) {
    const auto health = alloc->alloc().health();
    if (health && !*health) return 0;
    if (!health) --left;
  }
  return left > 0 ? static_cast<std::size_t>(left) : 0;
}

std::optional<SystemWave> SystemDeployment::wave(std::string_view group, const Ended& ended) const {
  const auto* state = state_of(group);
  if (state == nullptr || has_succeeded_) return std::nullopt;
  if (!is_active() || is_waiting(current_->status)) return SystemWave{};
  if (!is_canarying(*state)) return SystemWave{0, budget(*job_->find(group), ended)};
  const auto there = std::ranges::count_if(
      live(group, ended), [](const AllocEntry* alloc) { return alloc->alloc().is_canary(); });
  return SystemWave{
      static_cast<std::size_t>(std::max<std::int64_t>(state->desired_canaries - there, 0)), 0};
}

std::string_view SystemDeployment::deployment_of(std::string_view group) const {
  return is_active() && state_of(group) != nullptr ? std::string_view{current_->id}
                                                   : std::string_view{};
}

bool SystemDeployment::awaits_verdict(const AllocEntry& ended) const {
  const auto alloc = ended.alloc();
  return is_active() && alloc.deployment_id() == current_->id
         && alloc.client_status() == ClientStatus::FAILED && !alloc.wants_reschedule()
         && !ended.row->server_terminal;
}

bool SystemDeployment::is_complete(const End& end) const {
  if (!end.is_settled || std::ranges::any_of(current_->groups, [](const auto& group) {
        return is_canarying(group.second);
      }))
    return false;
  return std::ranges::all_of(allocs_, [&](const AllocEntry& alloc) {
    const auto row = alloc.alloc();
    const bool counts = row.deployment_id() == current_->id && !alloc.row->server_terminal
                        && row.client_status() != ClientStatus::UNKNOWN
                        && !end.ended.contains(&alloc);
    return !counts || row.health().value_or(false);
  });
}

void SystemDeployment::finish(const End& end, std::int64_t eval_priority, Plan& plan) {
  plan.deployment_changes = changes_;
  if (!is_active()) return;
  if (!is_new_) {
    if (is_complete(end))
      plan.deployment_changes.push_back(
          {current_->id, DeploymentState::SUCCESSFUL, "Deployment completed successfully"});
    return;
  }
  for (auto& [name, state] : current_->groups) {
    const auto total = end.totals.find(name);
    state.desired_total = total == end.totals.end() ? 0 : total->second;
  }
  std::erase_if(current_->groups,
                [](const auto& group) { return group.second.desired_total == 0; });
  if (current_->groups.empty()) return;
  if (current_->promotes_automatically())
    current_->description = "Deployment is running pending automatic promotion";
  else if (current_->requires_promotion())
    current_->description = "Deployment is running but requires manual promotion";
  plan.deployment = current_->freeze(job_->reader(), eval_priority);
}

}  // namespace nomad::scheduler
