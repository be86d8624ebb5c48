// What a job has when nothing is due any more.
#include <algorithm>
#include <set>

#include "runtime/object/disconnect.hpp"
#include "runtime/scheduler/reconcile/tasks_updated.hpp"
#include "test/properties/checks.hpp"
#include "test/properties/judge.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::ClientStatus;
using schema::DeploymentState;

bool is_unknown(AllocView alloc) {
  return alloc.client_status() == ClientStatus::UNKNOWN;
}

bool is_ready(schema::Node::Reader node) {
  return node.getStatus() == schema::NodeStatus::READY && !node.hasDrainStrategy()
         && node.getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE;
}

/// One job and what it has.
struct Holding {
  const state::Snapshot& state;
  std::string id;
  Object<schema::Job> job;
  Rows rows;
  Object<schema::Deployment> deployment;  ///< Of the newest version; empty: none.

  Holding(const state::Snapshot& snapshot, const std::string& job_id)
      : state{snapshot}, id{job_id}, job{snapshot.job("default", job_id)} {
    for (const auto& entry : state.allocs_by_job("default", job_id))
      rows.push_back(entry.value());
    deployment = state.latest_deployment("default", job_id);
    if (deployment && job
        && (deployment->getJobVersion() != job->getVersion()
            || deployment->getJobCreateIndex() != job->getCreateIndex()))
      deployment = {};
  }

  bool is_wanted() const { return job && !job->getStop(); }

  bool is_of(const state::AllocRef& row, std::string_view group) const {
    return row->alloc->task_group() == group;
  }

  /// The deployment holds new allocations back.
  bool is_held(std::string_view group) const {
    if (!deployment) return false;
    const auto status = deployment->getStatus();
    if (status == DeploymentState::FAILED || status == DeploymentState::PAUSED) return true;
    for (const auto entry : deployment->getTaskGroups())
      if (view(entry.getKey()) == group && entry.getValue().getDesiredCanaries() > 0
          && !entry.getValue().getPromoted() && state::is_active(status))
        return true;
    return false;
  }

  bool is_canary(const state::AllocRef& row) const { return row->alloc->is_canary(); }

  bool is_newest(const state::AllocRef& row) const {
    return row->alloc->job_version() == job->getVersion()
           && row->alloc->job_create_index() == job->getCreateIndex();
  }
};

/// Live ones that run as far as anybody knows, canaries not counted.
std::size_t count_known(const Holding& holding, std::string_view group) {
  return static_cast<std::size_t>(std::ranges::count_if(holding.rows, [&](const auto& row) {
    return holding.is_of(row, group) && is_live(*row->alloc) && !is_unknown(*row->alloc)
           && !holding.is_canary(row);
  }));
}

/// Whom clients that are away may still have. As in Nomad they count as no surplus, but may be what
/// is chosen to go of one, so that it goes only with the next evaluation.
std::size_t count_away(const Holding& holding, std::string_view group) {
  return static_cast<std::size_t>(std::ranges::count_if(holding.rows, [&](const auto& row) {
    return holding.is_of(row, group) && is_unknown(*row->alloc);
  }));
}

/// Those that ended and are not to be replaced: done, or failed for good.
std::size_t count_over(const Holding& holding, std::string_view group) {
  const bool is_batch = view(holding.job->getType()) == "batch";
  return static_cast<std::size_t>(std::ranges::count_if(holding.rows, [&](const auto& row) {
    const auto alloc = *row->alloc;
    if (!holding.is_of(row, group) || !has_ended(alloc) || !alloc.next().empty()) return false;
    const bool wanted = alloc.desired_status() == schema::DesiredStatus::RUN;
    if (alloc.client_status() == ClientStatus::FAILED) return wanted;
    return is_batch && alloc.client_status() == ClientStatus::COMPLETE && holding.is_newest(row);
  }));
}

Rows unended(const state::Snapshot& state, std::string_view node_id) {
  Rows rows;
  for (const auto& entry : state.allocs_by_node(node_id))
    if (!has_ended(*entry.value()->alloc)) rows.push_back(entry.value());
  return rows;
}

/// Where one more of the group could go; empty if nowhere.
std::string free_place(const Holding& holding, schema::TaskGroup::Reader group) {
  for (const auto& entry : holding.state.nodes()) {
    const auto node = *entry.value();
    if (!is_ready(node) || !unsuitable(node, *holding.job, group).empty()) continue;
    if (would_break_distinct(holding.state, node, *holding.job, group, holding.rows)) continue;
    if (no_room(node, group, unended(holding.state, entry.key())).empty())
      return copy(node.getName());
  }
  return {};
}

bool once_per_node(const Holding& holding) {
  const auto type = view(holding.job->getType());
  return type == "system" || type == "sysbatch";
}

void check_counted(const Holding& holding, schema::TaskGroup::Reader group, bool waits) {
  const auto name = view(group.getName());
  const auto wanted = static_cast<std::size_t>(group.getCount());
  const auto unknown = std::ranges::count_if(holding.rows, [&](const auto& row) {
    return holding.is_of(row, name) && is_live(*row->alloc) && is_unknown(*row->alloc);
  });
  const auto there
      = count_known(holding, name) + count_over(holding, name) + static_cast<std::size_t>(unknown);
  if (there >= wanted || holding.is_held(name)) return;
  const auto text = holding.id + "." + std::string{name} + " has " + std::to_string(there) + " of "
                    + std::to_string(wanted);
  require(waits, "what can't be placed waits for capacity", text);
  if (holding.job->getAllAtOnce()) return;
  const auto place = free_place(holding, group);
  require(place.empty(), property::counts_converge, text + ", and there is room on " + place);
}

void check_each_node(const Holding& holding, schema::TaskGroup::Reader group) {
  if (group.getCount() < 1) return;
  const bool is_sysbatch = view(holding.job->getType()) == "sysbatch";
  for (const auto& entry : holding.state.nodes()) {
    const auto node = *entry.value();
    if (!is_ready(node) || !unsuitable(node, *holding.job, group).empty()) continue;
    const bool there = std::ranges::any_of(holding.rows, [&](const auto& row) {
      const auto alloc = *row->alloc;
      if (alloc.node_id() != entry.key() || !holding.is_of(row, view(group.getName())))
        return false;
      return is_live(alloc) || (is_sysbatch && has_ended(alloc));
    });
    if (there) continue;
    const auto why = no_room(node, group, unended(holding.state, entry.key()));
    require(!why.empty(), "system jobs are on every node that suits",
            holding.id + " is not on " + copy(node.getName()));
  }
}

/// The ids of all that has ever been a canary of the job.
std::set<std::string> canaries_of(const state::Snapshot& state, const std::string& job_id) {
  std::set<std::string> ids;
  for (const auto& entry : state.deployments_by_job("default", job_id))
    for (const auto group : entry.value()->getTaskGroups())
      for (const auto id : group.getValue().getPlacedCanaries())
        ids.insert(copy(id));
  return ids;
}

}  // namespace

void check_surplus(const state::Snapshot& state, const std::string& job_id, bool partly_refused) {
  const Holding holding{state, job_id};
  std::set<std::string> seen;
  const auto canaries = canaries_of(state, job_id);
  for (const auto& row : holding.rows) {
    const auto alloc = *row->alloc;
    if (!is_live(alloc)) continue;
    const auto text = std::string{alloc.name()} + " " + std::string{alloc.id()}.substr(0, 8);
    require(holding.is_wanted(), "nothing of a stopped job is wanted", text);
    require(has_group(*holding.job, alloc.task_group()),
            "nothing of a group that is gone is wanted", text);
    if (is_unknown(alloc)) continue;
    const auto place = once_per_node(holding) ? std::string{alloc.node_id()} : std::string{};
    const auto version = "@" + std::to_string(alloc.job_version());
    // A canary has the name of what it is to replace. When the count grows meanwhile both stay, as
    // in Nomad. So do, where there are not too many, what was to end on a node that refused its
    // part of a plan and what came for it elsewhere.
    require(canaries.contains(std::string{alloc.id()})
                || seen.insert(std::string{alloc.name()} + version + place).second
                || (partly_refused && !once_per_node(holding)),
            "names occur once", text);
    if (!holding.is_canary(row)) continue;
    const auto deployment = state.deployment(alloc.deployment_id());
    require(deployment && state::is_active(deployment->getStatus()),
            "canaries end with their deployment", text);
  }
  if (!holding.is_wanted() || once_per_node(holding)) return;
  for (const auto group : holding.job->getTaskGroups()) {
    const auto known = count_known(holding, view(group.getName()));
    std::string text = job_id + "." + copy(group.getName()) + ": " + std::to_string(known) + " of "
                       + std::to_string(group.getCount());
    for (const auto& row : holding.rows)
      if (holding.is_of(row, view(group.getName())))
        text += "; " + std::string{row->alloc->name()} + "@"
                + std::to_string(row->alloc->job_version()) + (is_live(*row->alloc) ? "" : " over")
                + (holding.is_canary(row) ? " canary" : "");
    const auto away = count_away(holding, view(group.getName()));
    require(known <= static_cast<std::size_t>(group.getCount()) + away, property::no_surplus, text);
  }
}

bool is_left_to_chance(const state::Snapshot& state, const std::string& job_id) {
  // What a failed deployment held back may go on in place once others have left room for it: no
  // evaluation waits for that.
  const auto deployment = state.latest_deployment("default", job_id);
  if (deployment && deployment->getStatus() == DeploymentState::FAILED) return true;
  // What has failed of a group that tolerates absence counts as gone, whatever its policy: as in
  // Nomad it has a successor as soon as anything is decided about the job.
  const auto is_absent = [](const state::AllocRow& row) {
    const auto alloc = *row.alloc;
    return alloc.client_status() == ClientStatus::FAILED
           && alloc.desired_status() == schema::DesiredStatus::RUN
           && disconnect_rules(group_of(*row.job, alloc.task_group())).tolerates_absence();
  };
  // Batch work that was told to stop and ended well counts as done once it has ended: as in Nomad
  // what came for it until then is too much.
  const auto is_done_late = [](const state::AllocRow& row) {
    return view(row.job->getType()) == "batch"
           && row.alloc->desired_status() == schema::DesiredStatus::STOP
           && row.alloc->client_status() == ClientStatus::COMPLETE;
  };
  const Holding holding{state, job_id};
  // What came as the old version while canaries are awaited is looked at with the newest one by the
  // next evaluation only, as in Nomad: it may go on in place.
  const auto is_overtaken = [&holding](const state::AllocRow& row) {
    const auto group = row.alloc->task_group();
    return is_live(*row.alloc) && has_group(*holding.job, group) && holding.is_held(group)
           && row.alloc->job_version() != holding.job->getVersion()
           && !scheduler::tasks_updated(*row.job, *holding.job, group);
  };
  if (holding.is_wanted()
      && std::ranges::any_of(holding.rows, [&](const auto& row) { return is_overtaken(*row); }))
    return true;
  if (holding.is_wanted() && !once_per_node(holding)
      && any(holding.job->getTaskGroups(), [&](auto group) {
           return count_known(holding, view(group.getName()))
                  > static_cast<std::size_t>(group.getCount());
         }))
    return true;
  return std::ranges::any_of(holding.rows, [&](const auto& row) {
    return row->alloc->next().empty() && (is_absent(*row) || is_done_late(*row));
  });
}

void check_settled(const state::Snapshot& state,
                   const std::string& job_id,
                   bool waits,
                   bool partly_refused) {
  const Holding holding{state, job_id};
  check_surplus(state, job_id, partly_refused);
  if (!holding.is_wanted()) return;
  for (const auto group : holding.job->getTaskGroups()) {
    if (once_per_node(holding))
      check_each_node(holding, group);
    else
      check_counted(holding, group, waits);
  }
  if (waits
      || (holding.deployment && holding.deployment->getStatus() != DeploymentState::SUCCESSFUL))
    return;
  for (const auto& row : holding.rows) {
    if (!is_live(*row->alloc) || is_unknown(*row->alloc)) continue;
    const auto node = state.node(row->alloc->node_id());
    // On a node that takes nothing new a system job's stays as it is.
    if (once_per_node(holding) && (!node || !is_ready(*node))) continue;
    require(holding.is_newest(row), property::newest_version,
            std::string{row->alloc->name()} + " runs " + std::to_string(row->alloc->job_version())
                + " of " + std::to_string(holding.job->getVersion()));
  }
}

}  // namespace nomad::properties
