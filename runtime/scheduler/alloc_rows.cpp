#include "runtime/scheduler/alloc_rows.hpp"

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/enum_name.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

void fill_tracker(schema::Allocation::Builder alloc, const AllocEntry& previous, std::int64_t now) {
  const auto history = reschedule_history(previous.alloc(), previous.job(), now);
  auto events = alloc.initRescheduleTracker().initEvents(static_cast<unsigned>(history.size()));
  for (unsigned i = 0; i < events.size(); ++i) {
    events[i].setRescheduleTime(history[i].time);
    events[i].setPrevAllocId(text(history[i].prev_alloc_id));
    events[i].setPrevNodeId(text(history[i].prev_node_id));
    events[i].setDelay(history[i].delay);
  }
}

/// Keeps what the client was given of networks, devices and cores.
void keep_assignments(schema::AllocatedResources::Builder resources,
                      schema::AllocatedResources::Reader existing) {
  const auto shared = existing.getShared();
  if (shared.hasNetworks()) resources.getShared().setNetworks(shared.getNetworks());
  if (shared.hasPorts()) resources.getShared().setPorts(shared.getPorts());
  for (auto entry : resources.getTasks()) {
    for (const auto old : existing.getTasks()) {
      if (view(old.getKey()) != view(entry.getKey().asReader())) continue;
      if (old.getValue().hasNetworks()) entry.getValue().setNetworks(old.getValue().getNetworks());
      if (old.getValue().hasDevices()) entry.getValue().setDevices(old.getValue().getDevices());
      if (const auto cpu = old.getValue().getCpu(); cpu.hasReservedCores())
        entry.getValue().getCpu().setReservedCores(cpu.getReservedCores());
    }
  }
}

PlannedAlloc planned(Draft<schema::Allocation>& draft, bool is_new) {
  PlannedAlloc result;
  result.row = draft.freeze();
  result.demand = state::demand_of(result.row->resources());
  result.is_new = is_new;
  return result;
}

}  // namespace

PlannedAlloc make_row(const NewRow& row, Random& random) {
  Draft<schema::Allocation> draft;
  auto& alloc = *draft;
  const auto job = row.job->reader();
  const auto node = row.selection->node->reader();
  alloc.setId(text(make_uuid(random)));
  alloc.setNamespace(job.getNamespace());
  alloc.setEvalId(text(row.eval_id));
  alloc.setName(text(row.name));
  alloc.setNodeId(node.getId());
  alloc.setNodeName(node.getName());
  alloc.setJobId(job.getId());
  alloc.setJobVersion(job.getVersion());
  alloc.setJobCreateIndex(job.getCreateIndex());
  alloc.setMetricNumber(row.metric_number);
  alloc.setTaskGroup(text(row.group->name));
  alloc.setDesiredStatus(schema::DesiredStatus::RUN);
  alloc.setClientStatus(schema::ClientStatus::PENDING);
  alloc.setCreateTime(row.now);
  alloc.setModifyTime(row.now);
  fill_resources(alloc.initAllocatedResources(), *row.group, *row.selection,
                 row.memory_oversubscription);
  if (const auto& preempted = row.selection->preempted; !preempted.empty()) {
    auto ids = alloc.initPreemptedAllocations(static_cast<unsigned>(preempted.size()));
    for (unsigned i = 0; i < ids.size(); ++i)
      ids.set(i, text(preempted[i]->alloc->id()));
  }
  if (!row.deployment_id.empty()) alloc.setDeploymentId(text(row.deployment_id));
  if (row.canary && !row.deployment_id.empty()) alloc.initDeploymentStatus().setCanary(true);
  if (row.previous != nullptr) {
    alloc.setPreviousAllocation(text(row.previous->id()));
    if (row.reschedule) fill_tracker(alloc, *row.previous, row.now);
  }
  PlannedAlloc result;
  result.row = draft.freeze();
  result.demand = row.selection->demand;
  if (!row.memory_oversubscription) result.demand = state::demand_of(result.row->resources());
  return result;
}

PlannedAlloc make_in_place_row(const AllocEntry& existing,
                               std::string_view eval_id,
                               const JobSpec& job,
                               const GroupSpec& group,
                               const Selection& selection,
                               std::uint32_t metric_number,
                               bool memory_oversubscription) {
  Draft<schema::Allocation> draft{existing.row->alloc};
  auto& alloc = *draft;
  alloc.setEvalId(text(eval_id));
  alloc.setJobVersion(job.reader().getVersion());
  alloc.setJobCreateIndex(job.reader().getCreateIndex());
  alloc.setMetricNumber(metric_number);
  fill_resources(alloc.initAllocatedResources(), group, selection, memory_oversubscription);
  keep_assignments(alloc.getAllocatedResources(), existing.alloc().resources());
  return planned(draft, false);
}

PlannedAlloc make_updated_row(const RowUpdate& update,
                              const Object<schema::Allocation>& row,
                              std::uint32_t metric_number,
                              std::int64_t now) {
  Draft<schema::Allocation> draft{row};
  auto& alloc = *draft;
  alloc.setMetricNumber(metric_number);
  if (update.client_status) alloc.setClientStatus(*update.client_status);
  if (!update.description.empty()) alloc.setClientDescription(text(update.description));
  if (!update.followup_eval_id.empty()) alloc.setFollowupEvalId(text(update.followup_eval_id));
  if (update.append_state) {
    const auto old = update.alloc->alloc().alloc_states();
    auto states = alloc.initAllocStates(old.size() + 1);
    for (unsigned i = 0; i < old.size(); ++i)
      states.setWithCaveats(i, old[i]);
    states[old.size()].setField("client_status");
    states[old.size()].setValue(text(enum_name(*update.append_state)));
    states[old.size()].setTime(now);
  }
  return planned(draft, false);
}

}  // namespace nomad::scheduler
