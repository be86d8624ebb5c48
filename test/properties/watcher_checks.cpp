// The properties of what drainer and deployment watcher decide, and of how they come to an end.
#include <map>
#include <set>

#include "test/properties/checks.hpp"
#include "test/properties/judge.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::ClientStatus;

bool is_marked(AllocView alloc) {
  const auto migrate = alloc.transition().getMigrate();
  return migrate.isValue() && migrate.getValue();
}

bool is_healthy(AllocView alloc) {
  const auto healthy = alloc.deployment_status().getHealthy();
  return alloc.client_status() != ClientStatus::UNKNOWN && healthy.isValue() && healthy.getValue();
}

bool is_lame(AllocView alloc) {
  const auto healthy = alloc.deployment_status().getHealthy();
  return alloc.client_status() == ClientStatus::UNKNOWN
         || (healthy.isValue() && !healthy.getValue());
}

std::set<std::string> marks_of(const cluster::DrainRound& round) {
  std::set<std::string> ids;
  for (const auto& command : round.commands)
    if (command->isAllocTransition())
      for (const auto entry : command->getAllocTransition().getEntries())
        require(ids.insert(copy(entry.getAllocId())).second, property::migrate_holds,
                "an allocation is marked twice in a round");
  return ids;
}

/// What a round does to one group of a service.
struct Moved {
  std::int64_t freely = 0;  ///< Marked though nothing forces it.
  bool needed = false;      ///< One of those was not known to be unhealthy.
  std::int64_t on_way = 0;  ///< Marked before, or by force.
  std::int64_t left = 0;    ///< Healthy and not marked.
};

Moved moved(const state::Snapshot& state,
            const Object<schema::Job>& job,
            std::string_view group,
            const std::set<std::string>& marks,
            std::int64_t now) {
  Moved sum;
  for (const auto& entry : state.allocs_by_job("default", view(job->getId()))) {
    const auto& row = *entry.value();
    const auto alloc = *row.alloc;
    if (row.terminal() || alloc.task_group() != group) continue;
    if (row.job->getCreateIndex() != job->getCreateIndex()) continue;
    const bool marks_now = marks.contains(std::string{alloc.id()});
    const auto node = state.node(alloc.node_id());
    const bool forced = !node || is_forced(*node, now);
    if (marks_now && !forced && node->hasDrainStrategy()) {
      ++sum.freely;
      sum.needed = sum.needed || !is_lame(alloc);
    } else if (is_marked(alloc)) {
      ++sum.on_way;
    }
    if (!marks_now && !is_marked(alloc) && is_healthy(alloc) && !alloc.is_canary()) ++sum.left;
  }
  return sum;
}

/// Whether the node runs something else than system jobs.
bool waits_for_work(const state::Snapshot& state, std::string_view node_id) {
  for (const auto& entry : state.allocs_by_node(node_id))
    if (!has_ended(*entry.value()->alloc) && view(entry.value()->job->getType()) != "system")
      return true;
  return false;
}

/// A node on which only system jobs are left, all others on it being told so, forces them.
bool is_emptied(const state::Snapshot& state, std::string_view node_id) {
  return !waits_for_work(state, node_id);
}

void check_completion(const state::Snapshot& state, schema::Node::Reader node, std::int64_t now) {
  const auto name = copy(node.getName());
  for (const auto& entry : state.allocs_by_node(view(node.getId()))) {
    const auto& row = *entry.value();
    if (row.terminal() || is_marked(*row.alloc)) continue;
    const bool ignored
        = view(row.job->getType()) == "system" && node.getDrainStrategy().getIgnoreSystemJobs();
    require(ignored, property::drains_move_all,
            std::string{row.alloc->name()} + " stays on " + name);
  }
  require(is_forced(node, now) || is_emptied(state, view(node.getId())), property::drains_move_all,
          name + " is called drained while something runs there");
}

}  // namespace

bool is_forced(schema::Node::Reader node, std::int64_t now) {
  if (!node.hasDrainStrategy()) return false;
  const auto strategy = node.getDrainStrategy();
  return strategy.getDeadline() < 0
         || (strategy.getDeadline() > 0 && strategy.getForceDeadline() <= now);
}

void PlanChecks::on_drain(const state::Snapshot& state,
                          const cluster::DrainRound& round,
                          std::int64_t now) {
  const auto marks = marks_of(round);
  std::set<std::string> jobs;
  for (const auto& id : marks) {
    const auto row = state.alloc(id);
    require(row && !row->terminal() && !is_marked(*row->alloc), property::migrate_holds,
            "an allocation that is to move already, or has ended, is marked: " + id);
    if (view(row->job->getType()) == "service") jobs.insert(std::string{row->alloc->job_id()});
  }
  for (const auto& id : jobs) {
    const auto job = state.job("default", id);
    if (!job || job->getStop()) continue;
    for (const auto group : job->getTaskGroups()) {
      const auto most = group.hasMigrate() ? group.getMigrate().getMaxParallel() : 1;
      const auto sum = moved(state, job, view(group.getName()), marks, now);
      const auto text = id + "." + copy(group.getName()) + ": " + std::to_string(sum.freely)
                        + " beside " + std::to_string(sum.on_way) + " that move, "
                        + std::to_string(sum.left) + " healthy are left of "
                        + std::to_string(group.getCount()) + ", max_parallel "
                        + std::to_string(most);
      require(sum.freely == 0 || sum.freely + sum.on_way <= most, property::migrate_holds, text);
      require(!sum.needed || sum.left >= group.getCount() - most, property::migrate_holds, text);
    }
  }
  for (const auto& command : round.commands) {
    if (!command->isNodeDrainUpdate()) continue;
    const auto node = state.node(view(command->getNodeDrainUpdate().getNodeId()));
    if (node && node->hasDrainStrategy()) check_completion(state, *node, now);
  }
}

void PlanChecks::on_deployment(const state::Snapshot& state,
                               schema::Deployment::Reader deployment,
                               schema::Command::Reader command,
                               std::int64_t) {
  if (!command.isDeploymentPromotion()) return;
  const auto text = "the deployment of " + copy(deployment.getJobId());
  require(deployment.getStatus() == schema::DeploymentState::RUNNING,
          property::promotions_are_healthy, text + " is not running");
  for (const auto entry : deployment.getTaskGroups()) {
    const auto group = entry.getValue();
    if (group.getPromoted() || group.getDesiredCanaries() == 0) continue;
    std::int64_t healthy = 0;
    for (const auto id : group.getPlacedCanaries()) {
      const auto row = state.alloc(view(id));
      if (!row) continue;
      const auto health = row->alloc->deployment_status().getHealthy();
      healthy += health.isValue() && health.getValue() ? 1 : 0;
    }
    require(healthy >= group.getDesiredCanaries() && group.getAutoPromote(),
            property::promotions_are_healthy,
            text + ": " + std::to_string(healthy) + " of "
                + std::to_string(group.getDesiredCanaries()));
  }
}

void check_ended(const state::Snapshot& state, std::int64_t now) {
  for (const auto& entry : state.nodes()) {
    const auto node = *entry.value();
    if (!node.hasDrainStrategy()) continue;
    require(node.getDrainStrategy().getDeadline() == 0, property::drains_end,
            copy(node.getName()) + " drains though nothing is due any more");
    require(waits_for_work(state, entry.key()), property::drains_end,
            copy(node.getName()) + " drains though nothing is left there");
  }
  for (const auto& entry : state.deployments()) {
    const auto deployment = *entry.value();
    if (!state::is_active(deployment.getStatus())) continue;
    for (const auto entry_of_group : deployment.getTaskGroups()) {
      const auto group = entry_of_group.getValue();
      const auto needed = group.getDesiredCanaries() > 0 && !group.getPromoted()
                              ? group.getDesiredCanaries()
                              : group.getDesiredTotal();
      // As long as nothing is placed it has no deadline.
      require(group.getRequireProgressBy() == 0 || group.getHealthyAllocs() >= needed,
              property::deployments_end,
              "that of " + copy(deployment.getJobId()) + ", version "
                  + std::to_string(deployment.getJobVersion()) + ": "
                  + std::to_string(group.getHealthyAllocs()) + " of " + std::to_string(needed)
                  + " of " + copy(entry_of_group.getKey()) + " are healthy, its deadline is "
                  + std::to_string((group.getRequireProgressBy() - now) / second) + " s away");
    }
  }
}

}  // namespace nomad::properties
