#include "test/properties/checks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "test/properties/judge.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::DeploymentState;

constexpr std::string_view updating = "alloc is being updated due to job update";

std::string brief(const state::AllocRow& row) {
  const auto alloc = *row.alloc;
  return std::string{alloc.name()} + " (" + std::string{alloc.id()}.substr(0, 8) + ", version "
         + std::to_string(alloc.job_version()) + ")";
}

Rows rows_on(const state::Snapshot& state, std::string_view node_id) {
  Rows rows;
  for (const auto& entry : state.allocs_by_node(node_id))
    rows.push_back(entry.value());
  return rows;
}

Rows rows_of(const state::Snapshot& state, std::string_view job_id) {
  Rows rows;
  for (const auto& entry : state.allocs_by_job("default", job_id))
    rows.push_back(entry.value());
  return rows;
}

/// Each allocation occurs once in a plan.
void check_once(const scheduler::Plan& plan) {
  std::map<std::string, std::string> seen;
  const auto take = [&seen](std::string id, std::string as) {
    const auto [before, is_first] = seen.emplace(std::move(id), as);
    require(is_first, "an allocation occurs once in a plan",
            before->first + " as " + before->second + " and " + as);
  };
  for (const auto& [node, changes] : plan.nodes) {
    for (const auto& stop : changes.stops)
      take(std::string{stop.alloc->alloc->id()}, "stopped: " + stop.description);
    for (const auto& stop : changes.preemptions)
      take(std::string{stop.alloc->alloc->id()}, "preempted");
    for (const auto& placed : changes.placements) {
      take(std::string{placed.row->id()}, placed.is_new ? "placed" : "updated");
      require(placed.row->node_id() == node, "a row is planned on its node", node);
    }
  }
}

/// What is preempted counts less, by ten at least, and only where it is switched on.
void check_preemptions(const Work& work, const scheduler::Plan& plan) {
  const auto configuration = work.seen.scheduler_configuration();
  const auto config = configuration->getPreemptionConfig();
  const auto type = view(work.eval->getType());
  const bool allowed = type == "system"     ? config.getSystemSchedulerEnabled()
                       : type == "sysbatch" ? config.getSysBatchSchedulerEnabled()
                       : type == "batch"    ? config.getBatchSchedulerEnabled()
                                            : config.getServiceSchedulerEnabled();
  for (const auto& [node, changes] : plan.nodes) {
    for (const auto& stop : changes.preemptions) {
      require(allowed, "nothing is preempted where it is switched off", std::string{type});
      require(stop.alloc->job->getPriority() + 10 <= plan.job->getPriority(),
              property::preempted_are_lower, brief(*stop.alloc));
      require(is_live(*stop.alloc->alloc), "what is preempted lives", brief(*stop.alloc));
      require(!changes.placements.empty(), "preemptions make room for something", node);
    }
  }
}

/// New allocations go where they may.
void check_suitable(const Work& work, const scheduler::Plan& plan) {
  for (const auto& [node_id, changes] : plan.nodes) {
    for (const auto& placed : changes.placements) {
      if (!placed.is_new) continue;
      const auto node = work.seen.node(node_id);
      require(static_cast<bool>(node), "placements are on known nodes", node_id);
      const bool ready
          = node->getStatus() == schema::NodeStatus::READY && !node->hasDrainStrategy()
            && node->getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE;
      require(ready, "placements are on nodes that are ready", std::string{placed.row->name()});
      const auto job
          = work.seen.job_version("default", placed.row->job_id(), placed.row->job_version());
      require(static_cast<bool>(job), "placements are of known versions",
              std::string{placed.row->name()});
      const auto why = unsuitable(*node, *job, group_of(*job, placed.row->task_group()));
      require(why.empty(), property::constraints_hold,
              std::string{placed.row->name()} + ": " + why);
    }
  }
}

std::optional<schema::DeploymentGroup::Reader> group_state(
    const Object<schema::Deployment>& deployment, std::string_view group) {
  if (!deployment) return std::nullopt;
  for (const auto entry : deployment->getTaskGroups())
    if (view(entry.getKey()) == group) return entry.getValue();
  return std::nullopt;
}

/// How many of a group the plan replaces by a new version.
std::size_t replaced(const scheduler::Plan& plan, std::string_view group) {
  std::size_t count = 0;
  for (const auto& [node, changes] : plan.nodes)
    count += static_cast<std::size_t>(std::ranges::count_if(changes.stops, [&](const auto& stop) {
      return stop.description == updating && stop.alloc->alloc->task_group() == group;
    }));
  return count;
}

bool stops(const scheduler::Plan& plan, const state::AllocRow& row) {
  const auto changes = plan.nodes.find(row.alloc->node_id());
  if (changes == plan.nodes.end()) return false;
  return std::ranges::any_of(changes->second.stops, [&row](const auto& stop) {
    return stop.alloc->alloc->id() == row.alloc->id();
  });
}

/// How many of the deployment's allocations are not healthy yet, and whether one never will be.
struct Progress {
  std::size_t waiting = 0;
  bool failed = false;
};

Progress progress_of(const Work& work,
                     const scheduler::Plan& plan,
                     const Object<schema::Deployment>& deployment,
                     std::string_view group) {
  Progress progress;
  for (const auto& row : rows_of(work.seen, view(work.eval->getJobId()))) {
    const auto alloc = *row->alloc;
    if (alloc.task_group() != group || !is_live(alloc) || stops(plan, *row)) continue;
    if (alloc.deployment_id() != view(deployment->getId())) continue;
    const auto node = work.seen.node(alloc.node_id());
    if (!node || node->getStatus() != schema::NodeStatus::READY) continue;
    const auto healthy = alloc.deployment_status().getHealthy();
    if (!healthy.isValue()) ++progress.waiting;
    progress.failed = progress.failed || (healthy.isValue() && !healthy.getValue());
  }
  return progress;
}

/// How many a plan may replace at once, by the group's update strategy.
void check_group_update(const Work& work,
                        const scheduler::Plan& plan,
                        schema::TaskGroup::Reader group) {
  const auto name = view(group.getName());
  const auto count = replaced(plan, name);
  const auto update = group.getUpdate();
  if (count == 0 || update.getMaxParallel() <= 0) return;
  const auto text = copy(plan.job->getId()) + "." + std::string{name} + " replaces "
                    + std::to_string(count) + " at once";
  auto deployment = work.seen.latest_deployment("default", view(plan.job->getId()));
  if (deployment
      && (deployment->getJobVersion() != plan.job->getVersion()
          || deployment->getJobCreateIndex() != plan.job->getCreateIndex()
          || deployment->getStatus() == DeploymentState::CANCELLED))
    deployment = {};
  const auto state = group_state(deployment, name);
  require(update.getCanary() == 0 || (state && state->getPromoted()), property::canaries_first,
          text);
  require(count <= static_cast<std::size_t>(update.getMaxParallel()), property::max_parallel_holds,
          text);
  if (!deployment) return;
  const auto status = deployment->getStatus();
  require(status != DeploymentState::PAUSED && status != DeploymentState::FAILED,
          "nothing is replaced while a deployment is paused or has failed", text);
  if (!state::is_active(status)) return;
  const auto progress = progress_of(work, plan, deployment, name);
  require(count + progress.waiting <= static_cast<std::size_t>(update.getMaxParallel()),
          property::max_parallel_holds,
          text + " while " + std::to_string(progress.waiting) + " are not healthy");
  require(!progress.failed, "nothing is replaced while a new one is unhealthy", text);
}

void check_updates(const Work& work, const scheduler::Plan& plan) {
  if (!plan.job || plan.job->getStop()) return;
  const auto type = view(plan.job->getType());
  if (type == "system" && plan.job->getUpdate().getStagger() > 0
      && plan.job->getUpdate().getMaxParallel() > 0) {
    std::size_t count = 0;
    for (const auto group : plan.job->getTaskGroups())
      if (!group.hasUpdate()) count += replaced(plan, view(group.getName()));
    require(count <= static_cast<std::size_t>(plan.job->getUpdate().getMaxParallel()),
            property::max_parallel_holds, copy(plan.job->getId()));
  }
  if (type != "service" && type != "system") return;
  for (const auto group : plan.job->getTaskGroups())
    if (type == "service" || group.hasUpdate()) check_group_update(work, plan, group);
}

/// What an allocation was given stays its own when it goes on with a new version.
void check_kept(const Work& work, const scheduler::Plan& plan) {
  const auto given = [](AllocView alloc) {
    std::string all;
    for (const auto port : alloc.resources().getShared().getPorts())
      all += copy(port.getLabel()) + "=" + copy(port.getHostIp()) + ":"
             + std::to_string(port.getValue()) + " ";
    for (const auto task : alloc.resources().getTasks()) {
      for (const auto core : task.getValue().getCpu().getReservedCores())
        all += copy(task.getKey()) + " core " + std::to_string(core) + " ";
      for (const auto device : task.getValue().getDevices())
        for (const auto id : device.getDeviceIds())
          all += copy(task.getKey()) + " device " + copy(device.getName()) + copy(id) + " ";
    }
    return all;
  };
  for (const auto& [node, changes] : plan.nodes) {
    for (const auto& placed : changes.placements) {
      if (placed.is_new) continue;
      const auto before = work.seen.alloc(placed.row->id());
      require(given(*before->alloc) == given(*placed.row),
              "what goes on keeps its ports, cores and devices", std::string{placed.row->name()});
    }
  }
}

}  // namespace

std::string brief(const scheduler::Plan& plan, const state::Snapshot& state) {
  std::string all = copy(plan.job ? plan.job->getId() : capnp::Text::Reader{});
  for (const auto& [node_id, changes] : plan.nodes) {
    const auto node = state.node(node_id);
    const auto where = " on " + (node ? copy(node->getName()) : node_id);
    for (const auto& stop : changes.stops)
      all += "; stops " + brief(*stop.alloc) + where + ": " + stop.description;
    for (const auto& stop : changes.preemptions)
      all += "; preempts " + brief(*stop.alloc) + where;
    for (const auto& placed : changes.placements) {
      const auto row = *placed.row;
      all += (placed.is_new ? "; places " : "; updates ") + std::string{row.name()} + " ("
             + std::string{row.id()}.substr(0, 8) + ", version " + std::to_string(row.job_version())
             + (row.is_canary() ? ", a canary)" : ")") + where;
    }
  }
  for (const auto& change : plan.deployment_changes)
    all += "; a deployment: " + change.description;
  return plan.deployment ? all + "; writes a deployment" : all;
}

void PlanChecks::on_plan(const Work& work, const scheduler::Plan& plan) {
  require(!nothing_to_do, property::unchanged_is_empty, brief(plan, work.seen));
  check_once(plan);
  check_preemptions(work, plan);
  check_suitable(work, plan);
  check_updates(work, plan);
  check_kept(work, plan);
}

/// A class is called ineligible only if none of its nodes can run what was not placed.
void PlanChecks::on_evaluations(const Work& work,
                                const std::vector<Object<schema::Evaluation>>& evaluations) {
  require(evaluations.size() <= 24, "an evaluation makes few others",
          copy(work.eval->getJobId()) + ": " + std::to_string(evaluations.size()));
  const auto job = work.seen.job("default", view(work.eval->getJobId()));
  for (const auto& eval : evaluations) {
    if (eval->getStatus() != schema::EvalStatus::BLOCKED || eval->getEscapedComputedClass() || !job)
      continue;
    // One that was tried again knows the classes of this try, and the reasons of its first.
    if (view(eval->getId()) == view(work.eval->getId())) continue;
    for (const auto known : eval->getClassEligibility()) {
      if (known.getValue()) continue;
      for (const auto& node : work.seen.nodes()) {
        if (view(node.value()->getComputedClass()) != view(known.getKey())) continue;
        for (const auto failed : eval->getFailedTgAllocs()) {
          if (!has_group(*job, view(failed.getKey()))) continue;
          const auto group = group_of(*job, view(failed.getKey()));
          require(!unsuitable(*node.value(), *job, group).empty(),
                  "a class is ineligible only if none of its nodes is eligible",
                  copy(job->getId()) + " on " + copy(node.value()->getName()));
        }
      }
    }
  }
}

namespace {

bool is_new(const scheduler::NodeChanges& changes, const state::AllocRow& row) {
  return std::ranges::any_of(changes.placements, [&row](const auto& placed) {
    return placed.is_new && placed.row->id() == row.alloc->id();
  });
}

/// What new rows of a plan take fits beside all that has not ended, but for what the plan ends: of
/// that, and of what another plan has ended, the client may still be at work.
void check_fits(const UnderWay& under_way,
                const std::string& node_id,
                const scheduler::NodeChanges& changes,
                const state::Snapshot& after) {
  const auto node = after.node(node_id);
  if (!node) return;
  std::set<std::string_view> ended;
  for (const auto& alloc : changes.ended_before)
    ended.insert(alloc->alloc->id());
  for (const auto* stops : {&changes.stops, &changes.preemptions})
    for (const auto& stop : *stops)
      ended.insert(stop.alloc->alloc->id());
  auto rows = rows_on(after, node_id);
  std::erase_if(rows, [&](const auto& row) {
    return has_ended(*row->alloc) || ended.contains(row->alloc->id());
  });
  const auto place = copy(under_way.part->job->getId()) + " on " + copy(node->getName()) + ": ";
  auto why = excess(*node, rows);
  require(why.empty(), property::no_overcommit, place + why);
  for (const auto& row : rows) {
    if (!is_new(changes, *row)) continue;
    for (const auto& other : rows) {
      if (other->alloc->id() == row->alloc->id()) continue;
      why = clash(*node, {row, other});
      require(why.empty(), property::nothing_twice, place + why);
    }
  }
}

/// A row that is written anew was decided on an older state than it is written to.
void check_words(const state::Snapshot& before, const state::Snapshot& after, std::string_view id) {
  const auto old = before.alloc(id);
  const auto row = after.alloc(id);
  require(old && row, property::words_stay, "an updated row is gone: " + std::string{id});
  const auto says = [](const auto& wish) { return wish.isValue() && wish.getValue(); };
  const auto had = old->alloc->transition();
  const auto has = row->alloc->transition();
  require(!says(had.getMigrate()) || says(has.getMigrate()), property::words_stay,
          "nobody moves any more " + brief(*old));
  require(!says(had.getReschedule()) || says(has.getReschedule()), property::words_stay,
          "nobody replaces any more " + brief(*old));
  require(old->alloc->desired_status() == row->alloc->desired_status()
              || row->alloc->desired_status() != schema::DesiredStatus::RUN,
          property::words_stay, "told to run again: " + brief(*old));
  if (old->alloc->deployment_id() != row->alloc->deployment_id()) return;
  const auto health = old->alloc->deployment_status().getHealthy();
  const auto now = row->alloc->deployment_status().getHealthy();
  require(!health.isValue() || (now.isValue() && now.getValue() == health.getValue()),
          property::words_stay, "of another health than before: " + brief(*old));
}

void check_canaries(const state::Snapshot& state, schema::Job::Reader job) {
  for (const auto& entry : state.deployments_by_job("default", view(job.getId()))) {
    const auto& deployment = entry.value();
    if (!state::is_active(deployment->getStatus())) continue;
    for (const auto group : deployment->getTaskGroups()) {
      const auto wanted = group.getValue().getDesiredCanaries();
      const auto rows = rows_of(state, view(job.getId()));
      const auto count = std::ranges::count_if(rows, [&](const auto& row) {
        const auto alloc = *row->alloc;
        return is_live(alloc) && alloc.client_status() != schema::ClientStatus::UNKNOWN
               && alloc.is_canary() && alloc.deployment_id() == view(deployment->getId())
               && alloc.task_group() == view(group.getKey());
      });
      require(count <= wanted, property::canary_limit,
              copy(job.getId()) + ": " + std::to_string(count) + " of " + std::to_string(wanted));
    }
  }
}

}  // namespace

void PlanChecks::on_commit(const UnderWay& under_way,
                           const state::Snapshot& before,
                           const state::Snapshot& after) {
  const auto& plan = *under_way.part;
  const bool whole = under_way.verdict.rejected_nodes.empty() && !plan.is_part;
  require(under_way.verdict.rejected_nodes.empty() || !plan.all_at_once || plan.is_part,
          property::all_at_once, "of evaluation " + plan.eval_id);
  if (!under_way.verdict.rejected_nodes.empty()) partly_refused.insert(copy(plan.job->getId()));
  for (const auto& [node_id, changes] : plan.nodes) {
    if (under_way.verdict.rejected_nodes.contains(node_id)) continue;
    bool has_new = false;
    for (const auto& placed : changes.placements) {
      if (!placed.is_new) {
        check_words(before, after, placed.row->id());
        continue;
      }
      has_new = true;
      require(!before.alloc(placed.row->id()), "a new allocation has a new id",
              std::string{placed.row->id()});
      const auto row = after.alloc(placed.row->id());
      require(static_cast<bool>(row), "what was accepted is there",
              std::string{placed.row->name()});
      if (const auto node = after.node(node_id)) {
        const auto why = wrong_resources(*node, *row);
        require(why.empty(), "an allocation gets what its group asks for",
                brief(*row) + ": " + why);
        auto others = rows_of(after, view(plan.job->getId()));
        std::erase_if(others,
                      [&](const auto& other) { return other->alloc->id() == row->alloc->id(); });
        // Without its stops on other nodes a plan may break them for a while.
        const auto broken = whole ? not_distinct(after, row, others) : std::string{};
        require(broken.empty(), property::distinct_holds, brief(*row) + ": " + broken);
      }
    }
    if (has_new) check_fits(under_way, node_id, changes, after);
  }
  if (whole && plan.job && view(plan.job->getType()) == "service") check_canaries(after, *plan.job);
}

void check_nodes(const state::Snapshot& state) {
  for (const auto& node : state.nodes()) {
    auto rows = rows_on(state, node.key());
    std::erase_if(rows, [](const auto& row) { return !is_live(*row->alloc); });
    auto why = excess(*node.value(), rows);
    require(why.empty(), property::no_overcommit, copy(node.value()->getName()) + ": " + why);
    why = clash(*node.value(), rows);
    require(why.empty(), property::nothing_twice, copy(node.value()->getName()) + ": " + why);
  }
}

}  // namespace nomad::properties
