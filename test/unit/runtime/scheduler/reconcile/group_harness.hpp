// GroupRun: one group's allocations, made up by a test, and what reconciling them comes to.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/scheduler/reconcile/group_reconciler.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"
#include "test/unit/runtime/scheduler/reconcile/running_alloc.hpp"

namespace nomad::test {

using schema::ClientStatus;
using schema::DeploymentState;
using schema::DesiredStatus;
using schema::NodeStatus;

inline constexpr std::uint64_t incarnation = 10;  ///< The job's create index.

struct GroupRun : Harness {
  using EditGroup = std::function<void(schema::TaskGroup::Builder)>;
  using EditState = std::function<void(schema::DeploymentGroup::Builder)>;

  Object<schema::Job> job;
  std::vector<AllocEntry> entries;
  TaintedNodes tainted;
  Object<schema::Deployment> deployment;
  UpdateKind kind_of_update = UpdateKind::destructive;
  bool is_batch = false;
  Reconciliation result;

  /// The job wants `count`, in version 1.
  void want(std::int64_t count, const EditGroup& edit = {}) { job = version(1, count, edit); }

  Object<schema::Job> version(std::uint64_t number,
                              std::int64_t count,
                              const EditGroup& edit = {}) {
    return make_job(count, [&](schema::Job::Builder draft) {
      draft.setVersion(number);
      draft.setCreateIndex(incarnation);
      if (edit) edit(draft.getTaskGroups()[0]);
    });
  }

  static EditGroup rolling(std::int64_t parallel, std::int64_t canaries = 0) {
    return [=](schema::TaskGroup::Builder group) {
      auto update = group.initUpdate();
      update.setMaxParallel(parallel);
      update.setCanary(canaries);
      update.setProgressDeadline(600 * second);
    };
  }

  static void tolerates_absence(schema::TaskGroup::Builder group) {
    group.getMaxClientDisconnect().setValue(600 * second);
  }

  /// A running allocation "web.api[index]" on the node "n", of id `id`.
  void add(const char* id, int index, std::uint64_t of_version, const EditAlloc& edit = {}) {
    entries.push_back(running_alloc(job, now, [&](schema::Allocation::Builder alloc) {
      alloc.setId(id);
      alloc.setName(text("web.api[" + std::to_string(index) + "]"));
      alloc.setJobVersion(of_version);
      alloc.setJobCreateIndex(incarnation);
      if (edit) edit(alloc);
    }));
  }

  static EditAlloc on(const char* node) {
    return [node](schema::Allocation::Builder alloc) { alloc.setNodeId(node); };
  }

  static EditAlloc in_deployment(std::optional<bool> healthy) {
    return [healthy](schema::Allocation::Builder alloc) {
      alloc.setDeploymentId("d");
      if (healthy) alloc.initDeploymentStatus().getHealthy().setValue(*healthy);
    };
  }

  EditAlloc failed_before(std::int64_t time, const char* of_deployment = "") const {
    return [=, this](schema::Allocation::Builder alloc) {
      alloc.setClientStatus(ClientStatus::FAILED);
      alloc.setModifyTime(now - time);
      alloc.setDeploymentId(of_deployment);
    };
  }

  static void migrates(schema::Allocation::Builder alloc) {
    alloc.initDesiredTransition().getMigrate().setValue(true);
  }

  void taint(const char* id, NodeStatus status) {
    Draft<schema::Node> node;
    node->setId(id);
    node->setStatus(status);
    tainted.insert_or_assign(id, node.freeze());
  }

  /// A deployment "d" of this version of the job.
  void deploy(DeploymentState status, const EditState& edit = {}, std::uint64_t of_version = 1) {
    Draft<schema::Deployment> draft;
    draft->setId("d");
    draft->setStatus(status);
    draft->setJobVersion(of_version);
    draft->setJobCreateIndex(incarnation);
    auto group = draft->initTaskGroups(1)[0];
    group.setKey("api");
    group.initValue().setDesiredTotal(static_cast<std::int64_t>(entries.size()));
    if (edit) edit(group.getValue());
    deployment = draft.freeze();
  }

  static EditState with_canaries(const std::vector<const char*>& ids, bool promoted) {
    return [=](schema::DeploymentGroup::Builder group) {
      group.setDesiredCanaries(static_cast<std::int64_t>(ids.size()));
      group.setPromoted(promoted);
      auto placed = group.initPlacedCanaries(static_cast<unsigned>(ids.size()));
      for (unsigned i = 0; i < placed.size(); ++i)
        placed.set(i, ids[i]);
    };
  }

  /// Reconciles; returns the counts that are not 0.
  std::string run() {
    const JobSpec spec{job};
    ReconcileInput input;
    input.job = &spec;
    input.ns = "default";
    input.job_id = "web";
    input.deployment = deployment;
    input.allocs = &entries;
    input.tainted = &tainted;
    input.eval_id = "eval";
    input.is_batch = is_batch;
    input.now = now;
    const auto decide = [this](const AllocEntry& alloc, const GroupSpec&) {
      return alloc.alloc().job_version() == 1 ? UpdateKind::ignore : kind_of_update;
    };
    result = reconcile(input, decide, random);
    for (auto* list : {&result.place, &result.destructive})  // the group ends with `spec`
      for (auto& request : *list)
        request.group = nullptr;
    const auto& changes = result.desired_updates.at("api");
    std::string text;
    const std::pair<std::uint64_t, const char*> counts[] = {{changes.place, "place"},
                                                            {changes.canary, "canary"},
                                                            {changes.destructive_update, "destroy"},
                                                            {changes.in_place_update, "in place"},
                                                            {changes.migrate, "migrate"},
                                                            {changes.stop, "stop"},
                                                            {changes.ignore, "ignore"}};
    for (const auto& [count, name] : counts)
      if (count != 0)
        text += (text.empty() ? "" : ", ") + std::string{name} + " " + std::to_string(count);
    return text;
  }

  /// The ids of what is stopped, in alphabetical order.
  std::string stopped() const {
    std::vector<std::string> ids;
    for (const auto& stop : result.stop)
      ids.emplace_back(stop.alloc->id());
    std::ranges::sort(ids);
    std::string joined;
    for (const auto& id : ids)
      joined += (joined.empty() ? "" : " ") + id;
    return joined;
  }

  /// The indexes of what is placed, in that order.
  std::string placed() const {
    std::string joined;
    for (const auto& request : result.place)
      joined += (joined.empty() ? "" : " ") + std::to_string(alloc_index(request.name));
    return joined;
  }

  /// The status that the deployment gets, or -1.
  int new_status() const {
    return result.deployment_changes.empty()
               ? -1
               : static_cast<int>(result.deployment_changes.back().status);
  }
};

}  // namespace nomad::test
