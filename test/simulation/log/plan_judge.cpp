#include "test/simulation/log/plan_judge.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_jobs.hpp"

namespace nomad::test {

namespace {

constexpr std::string_view updating = "alloc is being updated due to job update";

std::optional<schema::DeploymentGroup::Reader> group_of(schema::Deployment::Reader deployment,
                                                        std::string_view name) {
  for (const auto group : deployment.getTaskGroups())
    if (view(group.getKey()) == name) return group.getValue();
  return {};
}

/// The plan's own deployment, or the newest one of the job; empty if it is of another version.
std::optional<schema::Deployment::Reader> deployment_of(schema::PlanResult::Reader plan,
                                                        const Object<schema::Deployment>& newest,
                                                        schema::Job::Reader job) {
  const auto is_of_job = [&job](schema::Deployment::Reader deployment) {
    return deployment.getJobVersion() == job.getVersion()
           && deployment.getJobCreateIndex() == job.getCreateIndex();
  };
  if (plan.hasDeployment() && is_of_job(plan.getDeployment())) return plan.getDeployment();
  if (newest && is_of_job(*newest)) return *newest;
  return {};
}

/// What a plan replaces of a job because it was changed.
struct Replacing {
  std::int64_t count = 0;
  std::string group;
  std::set<std::string> leaving;  ///< All that the plan stops, for whatever reason.
};

std::map<std::string, Replacing> replaced_by(schema::PlanResult::Reader plan,
                                             const state::Snapshot& before) {
  std::map<std::string, Replacing> all;
  std::set<std::string> leaving;
  for (const auto stop : plan.getStopped()) {
    leaving.insert(copy(stop.getId()));
    if (view(stop.getDesiredDescription()) != updating) continue;
    const auto row = before.alloc(view(stop.getId()));
    if (!row || row->terminal()) continue;
    auto& of_job = all[std::string{row->alloc->job_id()}];
    ++of_job.count;
    of_job.group = std::string{row->alloc->task_group()};
  }
  for (auto& [id, of_job] : all)
    of_job.leaving = leaving;
  return all;
}

/// The version of the job that the plan was made for: the newest of what it places.
Object<schema::Job> job_of(const LogEntry& entry,
                           schema::PlanResult::Reader plan,
                           std::string_view id) {
  Object<schema::Job> newest;
  for (const auto placed : plan.getPlaced()) {
    if (view(placed.getJobId()) != id) continue;
    const auto row = entry.after.alloc(view(placed.getId()));
    if (row && (!newest || row->job->getVersion() > newest->getVersion())) newest = row->job;
  }
  return newest;
}

/// How many of the deployment run of which nobody knows yet whether they are healthy.
std::int64_t count_waiting(const state::Snapshot& state,
                           schema::Deployment::Reader deployment,
                           const Replacing& replacing) {
  std::int64_t waiting = 0;
  for (const auto& entry : state.allocs_by_job("default", view(deployment.getJobId()))) {
    const auto& row = *entry.value();
    const auto alloc = *row.alloc;
    if (row.terminal() || alloc.deployment_id() != view(deployment.getId())) continue;
    if (replacing.leaving.contains(std::string{alloc.id()})) continue;
    if (alloc.transition().getMigrate().isValue()) continue;  // a drain's
    const auto node = state.node(alloc.node_id());
    if (!node || node->getStatus() != schema::NodeStatus::READY) continue;
    if (!alloc.deployment_status().getHealthy().isValue()) ++waiting;
  }
  return waiting;
}

std::string judge_service(const LogEntry& entry,
                          schema::PlanResult::Reader plan,
                          schema::Job::Reader job,
                          const Replacing& replacing) {
  schema::TaskGroup::Reader group;
  for (const auto each : job.getTaskGroups())
    if (view(each.getName()) == replacing.group) group = each;
  const auto update = group.getUpdate();
  const auto most = update.getMaxParallel();
  if (most <= 0) return {};
  const auto says = [&](std::string_view why) {
    return fmt::format("{} of {} are replaced at once at {}: {}", replacing.count,
                       view(job.getId()), entry.index, why);
  };
  if (replacing.count > most) return says(fmt::format("max_parallel is {}", most));
  const auto newest = entry.before.latest_deployment("default", view(job.getId()));
  const auto deployment = deployment_of(plan, newest, job);
  if (!deployment || !state::is_active(deployment->getStatus())) return {};
  const auto known = group_of(*deployment, replacing.group);
  if (known && known->getDesiredCanaries() > 0 && !known->getPromoted())
    return says("its canaries are not promoted");
  const auto waiting = count_waiting(entry.before, *deployment, replacing);
  if (replacing.count + waiting > most)
    return says(
        fmt::format("{} others are not known to be healthy, max_parallel is {}", waiting, most));
  return {};
}

std::string judge_canaries(const LogEntry& entry, std::string_view job_id) {
  for (const auto& each : entry.after.deployments_by_job("default", job_id)) {
    const auto& deployment = each.value();
    if (!state::is_active(deployment->getStatus())) continue;
    std::map<std::string, std::int64_t> count;
    for (const auto& other : entry.after.allocs_by_job("default", job_id)) {
      const auto& row = *other.value();
      if (row.terminal() || row.alloc->deployment_id() != view(deployment->getId())) continue;
      if (row.alloc->is_canary()) ++count[std::string{row.alloc->task_group()}];
    }
    for (const auto group : deployment->getTaskGroups())
      if (count[copy(group.getKey())] > group.getValue().getDesiredCanaries())
        return fmt::format("{} has {} canaries of {} at {}", job_id, count[copy(group.getKey())],
                           group.getValue().getDesiredCanaries(), entry.index);
  }
  return {};
}

}  // namespace

std::string PlanJudge::take(const LogEntry& entry) {
  if (!entry.accepted) return {};
  if (entry.command.isDeploymentPromotion()) return judge_promotion(entry);
  if (!entry.command.isPlanResults()) return {};
  for (const auto plan : entry.command.getPlanResults().getPlans())
    if (auto wrong = judge_plan(entry, plan); !wrong.empty()) return wrong;
  return {};
}

std::string PlanJudge::judge_plan(const LogEntry& entry, schema::PlanResult::Reader plan) {
  if (auto wrong = judge_preemptions(entry, plan); !wrong.empty()) return wrong;
  if (auto wrong = judge_updates(entry, plan); !wrong.empty()) return wrong;
  std::set<std::string> jobs;
  for (const auto placed : plan.getPlaced()) {
    jobs.insert(copy(placed.getJobId()));
    if (placed.getDeploymentStatus().getCanary()) ++canaries;
  }
  for (const auto& id : jobs)
    if (auto wrong = judge_canaries(entry, id); !wrong.empty()) return wrong;
  return {};
}

std::string PlanJudge::judge_preemptions(const LogEntry& entry, schema::PlanResult::Reader plan) {
  for (const auto victim : plan.getPreempted()) {
    const auto row = entry.before.alloc(view(victim.getId()));
    const auto by = entry.after.alloc(view(victim.getPreemptedByAllocation()));
    if (!row || !by)
      return fmt::format("allocation {} is preempted by one that is not there at {}",
                         view(victim.getId()), entry.index);
    ++preempted;
    if (by->job->getPriority() < row->job->getPriority() + priority_gap)
      return fmt::format("{} of priority {} preempts {} of priority {} at {}", by->alloc->name(),
                         by->job->getPriority(), row->alloc->name(), row->job->getPriority(),
                         entry.index);
  }
  return {};
}

std::string PlanJudge::judge_updates(const LogEntry& entry, schema::PlanResult::Reader plan) {
  for (const auto& [id, replacing] : replaced_by(plan, entry.before)) {
    const auto job = job_of(entry, plan, id);
    if (!job) continue;
    replaced += static_cast<std::uint64_t>(replacing.count);
    const auto type = view(job->getType());
    const auto most = job->getUpdate().getMaxParallel();
    if (type == "system" && job->getUpdate().getStagger() > 0 && most > 0 && replacing.count > most)
      return fmt::format("{} of {} are replaced at once at {}: max_parallel is {}", replacing.count,
                         id, entry.index, most);
    if (type != "service") continue;
    if (auto wrong = judge_service(entry, plan, *job, replacing); !wrong.empty()) return wrong;
  }
  return {};
}

/// Of those that somebody has to promote.
std::string PlanJudge::judge_promotion(const LogEntry& entry) {
  const auto id = copy(entry.command.getDeploymentPromotion().getDeploymentId());
  const auto deployment = entry.before.deployment(id);
  if (!deployment) return {};
  ++promoted;
  if (wanted_.contains(id)) return {};
  for (const auto group : deployment->getTaskGroups())
    if (group.getValue().getDesiredCanaries() > 0 && !group.getValue().getPromoted()
        && !group.getValue().getAutoPromote())
      return fmt::format("the deployment {} of {} is promoted at {}, which nobody wanted", id,
                         view(deployment->getJobId()), entry.index);
  return {};
}

}  // namespace nomad::test
