// ClusterWorld at rest: what operators do for it, and whether jobs have what they want; rules (8)
// and (16).
#include <map>

#include <fmt/format.h>

#include "runtime/cluster/deployment_commands.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/capacity.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

using state::Snapshot;

namespace {

state::Demand demand_of_group(schema::TaskGroup::Reader group) {
  state::Demand demand;
  for (const auto task : group.getTasks()) {
    demand.cpu_mhz += task.getResources().getCpu();
    demand.memory_mb += task.getResources().getMemoryMb();
  }
  demand.memory_max_mb = demand.memory_mb;
  demand.disk_mb = group.getEphemeralDisk().getSizeMb();
  return demand;
}

/// Whether one more of the job would fit on the node once all that it may preempt were gone.
bool has_room(const Snapshot& state, schema::Node::Reader node, schema::Job::Reader job) {
  auto demand = demand_of_group(job.getTaskGroups()[0]);
  for (const auto& entry : state.allocs_by_node(view(node.getId()))) {
    const auto& row = *entry.value();
    if (row.terminal()) continue;
    const bool is_own = row.alloc->job_id() == view(job.getId());
    if (is_own && has_distinct_hosts(view(job.getId()))) return false;
    if (is_own || row.job->getPriority() + priority_gap > job.getPriority()) demand += row.demand;
  }
  return scheduler::Capacity::of(node).exhausted_by(demand).empty();
}

bool is_blocked(const Snapshot& state, std::string_view job_id) {
  for (const auto& entry : state.evals_by_job("default", job_id))
    if (entry.value()->getStatus() == schema::EvalStatus::BLOCKED) return true;
  return false;
}

/// Why the job may not have fewer allocations than it wants: an evaluation of it must wait, and no
/// node have room. "" if it may.
std::string why_lacking(const Snapshot& state, schema::Job::Reader job) {
  const auto id = view(job.getId());
  if (!is_blocked(state, id)) return "and nothing waits for room";
  for (const auto& entry : state.nodes())
    if (has_room(state, *entry.value(), job))
      return fmt::format("though node {} has room", entry.key());
  return {};
}

bool is_held(schema::Deployment::Reader deployment) {
  for (const auto group : deployment.getTaskGroups())
    if (group.getValue().getDesiredCanaries() > 0 && !group.getValue().getPromoted()) return true;
  return false;
}

/// Whether as many were healthy as a deadline asks for, be they there still or not: it does not
/// fail any more, as with Nomad.
bool is_past_deadlines(schema::Deployment::Reader deployment) {
  for (const auto group : deployment.getTaskGroups()) {
    const auto counts = group.getValue();
    const bool waits = counts.getDesiredCanaries() > 0 && !counts.getPromoted();
    if (counts.getHealthyAllocs()
        < (waits ? counts.getDesiredCanaries() : counts.getDesiredTotal()))
      return false;
  }
  return true;
}

/// So often an operator tries to promote what is never promoted.
constexpr int tries_to_promote = 6;

}  // namespace

/// Whoever waits for an operator to promote it is promoted. Canaries that were healthy and went,
/// preempted or drained, are not replaced when nothing of the old version is left, or count as
/// there (as with Nomad): such a deployment waits until an operator fails it.
void ClusterWorld::end_deployments() {
  auto* boss = leader();
  if (boss == nullptr) return;
  const auto state = boss->store()->snapshot();
  for (const auto& entry : state.deployments()) {
    const auto deployment = *entry.value();
    if (!state::is_active(deployment.getStatus()) || !is_held(deployment)) continue;
    const auto id = copy(deployment.getId());
    // Before anything is placed there is no deadline, either.
    const auto groups = deployment.getTaskGroups();
    const bool ends
        = groups[0].getValue().getRequireProgressBy() != 0 && !is_past_deadlines(deployment);
    if (!ends && !is_blocked(state, view(deployment.getJobId()))
        && ++held_[id] > tries_to_promote) {
      boss->write(
          [id](const Snapshot& now, const cluster::EvalSeed& seed) {
            return cluster::decide_fail(now, nomad::test::anybody(), id, seed);
          },
          [](const auto&) {});
      continue;
    }
    promotions_.insert(id);
    boss->write(
        [id](const Snapshot& now, const cluster::EvalSeed& seed) {
          return cluster::decide_promote(now, nomad::test::anybody(), id, true, {}, seed);
        },
        [](const auto&) {});  // else at the next look
  }
}

/// They would go on for ever.
void ClusterWorld::end_periodic_jobs() {
  auto* boss = leader();
  if (boss == nullptr) return;
  const auto state = boss->store()->snapshot();
  for (const auto& entry : state.jobs()) {
    const auto job = *entry.value();
    if (!job.hasPeriodic() || job.getStop()) continue;
    boss->write(
        [id = copy(job.getId())](const Snapshot& now, const cluster::EvalSeed& seed) {
          return cluster::decide_deregister(now, nomad::test::anybody(), "default", id, false, 0,
                                            seed);
        },
        [](const auto&) {});
  }
}

/// Often enough that none is collected before.
void ClusterWorld::note_failed_deployments() {
  for (auto* server : live_servers())
    for (const auto& entry : server->store()->snapshot().deployments()) {
      const auto deployment = *entry.value();
      if (deployment.getStatus() == schema::DeploymentState::FAILED)
        failed_versions_.emplace(copy(deployment.getJobId()), deployment.getJobCreateIndex(),
                                 deployment.getJobVersion());
    }
}

std::string ClusterWorld::account_for_jobs(const Snapshot& state) {
  counts_.waiting = 0;
  for (const auto& entry : state.jobs()) {
    const auto& job = entry.value();
    std::string why;
    if (view(job->getType()) == "service") why = account_for_service(state, job);
    if (view(job->getType()) == "system") why = account_for_system(state, job);
    if (!why.empty()) return why;
  }
  return {};
}

/// Where its deployment has failed (there was no node for too long), nothing more is placed, also
/// when the deployment itself was collected meanwhile.
std::string ClusterWorld::account_for_service(const Snapshot& state,
                                              const Object<schema::Job>& job) {
  std::int64_t running = 0;
  std::int64_t old = 0;
  for (const auto& entry : state.allocs_by_job("default", view(job->getId()))) {
    const auto& row = *entry.value();
    if (row.terminal()) continue;
    ++running;
    const bool is_newest = row.alloc->job_version() == job->getVersion()
                           && row.alloc->job_create_index() == job->getCreateIndex();
    if (!is_newest) ++old;
  }
  const auto wanted = job->getStop() ? 0 : job->getTaskGroups()[0].getCount();
  const bool has_failed
      = failed_versions_.contains({copy(job->getId()), job->getCreateIndex(), job->getVersion()});
  if (running > wanted)
    return fmt::format("job {} has {} allocations of {}", view(job->getId()), running, wanted);
  if (has_failed || (running == wanted && old == 0)) return {};
  const auto why = why_lacking(state, *job);
  if (why.empty()) {
    ++counts_.waiting;
    return {};
  }
  return fmt::format("job {} has {} allocations of {}, {} of an old version, {}",
                     view(job->getId()), running, wanted, old, why);
}

std::string ClusterWorld::account_for_system(const Snapshot& state,
                                             const Object<schema::Job>& job) {
  std::map<std::string, bool> newest;  // by node
  for (const auto& entry : state.allocs_by_job("default", view(job->getId()))) {
    const auto& row = *entry.value();
    if (!row.terminal())
      newest[std::string{row.alloc->node_id()}]
          = row.alloc->job_version() == job->getVersion()
            && row.alloc->job_create_index() == job->getCreateIndex();
  }
  const bool is_wanted = !job->getStop() && job->getTaskGroups()[0].getCount() > 0;
  if (!is_wanted)
    return newest.empty() ? std::string{}
                          : fmt::format("job {} is not wanted and runs on {}", view(job->getId()),
                                        newest.begin()->first);
  bool lacks = false;
  for (const auto& entry : state.nodes()) {
    const auto known = newest.find(std::string{entry.key()});
    if (known != newest.end() && known->second) continue;
    const auto* what = known == newest.end() ? "no allocation" : "an old version";
    if (known != newest.end() || has_room(state, *entry.value(), *job))
      return fmt::format("job {} has {} on node {}", view(job->getId()), what, entry.key());
    lacks = true;
  }
  if (lacks && !is_blocked(state, view(job->getId())))
    return fmt::format("job {} lacks allocations, and nothing waits for room", view(job->getId()));
  if (lacks) ++counts_.waiting;
  return {};
}

/// Nobody pauses deployments here, and each has a deadline of its progress as soon as something is
/// placed and until enough were healthy.
std::string ClusterWorld::account_for_deployments(const Snapshot& state) {
  for (const auto& entry : state.deployments()) {
    const auto deployment = *entry.value();
    if (!state::is_active(deployment.getStatus())) continue;
    const auto job = state.job("default", view(deployment.getJobId()));
    const auto groups = deployment.getTaskGroups();
    const bool has_begun = groups.size() == 0 || groups[0].getValue().getRequireProgressBy() != 0;
    const bool ends = has_begun && !is_past_deadlines(deployment);
    if (!ends && job && why_lacking(state, *job).empty()) continue;
    return fmt::format("the deployment {} of job {} has neither succeeded nor failed",
                       view(deployment.getId()), view(deployment.getJobId()));
  }
  return {};
}

}  // namespace nomad::test
