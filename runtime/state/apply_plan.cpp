// Plan results: the schedulers' verified decisions. A result is applied as a whole or, when it
// names an allocation or a version of a job that is gone, not at all.
#include <unordered_map>

#include "runtime/state/alloc_index.hpp"
#include "runtime/state/applier.hpp"

namespace nomad::state {

namespace {

bool is_same_job(schema::Allocation::Reader a, schema::Allocation::Reader b) {
  return view(a.getJobId()) == view(b.getJobId())
         && view(a.getNamespace()) == view(b.getNamespace());
}

bool may_overrule_client(schema::ClientStatus status) {
  return status == schema::ClientStatus::LOST || status == schema::ClientStatus::UNKNOWN;
}

/// Carries over what its client, operators and the drainer have said of an allocation, and what
/// came in its place, from the row as it is now: the scheduler saw an older one, and the same plan
/// may place its successor. Health belongs to a deployment.
void keep_what_others_said(schema::Allocation::Builder alloc, schema::Allocation::Reader stored) {
  alloc.setTaskStates(stored.getTaskStates());
  alloc.setReportNumber(stored.getReportNumber());
  if (stored.getNextAllocation().size() > 0) alloc.setNextAllocation(stored.getNextAllocation());
  if (stored.hasNetworkStatus()) alloc.setNetworkStatus(stored.getNetworkStatus());
  if (stored.hasDesiredTransition()) alloc.setDesiredTransition(stored.getDesiredTransition());
  if (stored.hasDeploymentStatus()
      && view(stored.getDeploymentId()) == view(alloc.asReader().getDeploymentId()))
    alloc.setDeploymentStatus(stored.getDeploymentStatus());
  if (may_overrule_client(alloc.getClientStatus()) && !is_client_terminal(stored.getClientStatus()))
    return;
  alloc.setClientStatus(stored.getClientStatus());
  alloc.setClientDescription(stored.getClientDescription());
}

}  // namespace

void Applier::plan_results(schema::PlanResults::Reader command) {
  for (auto plan : command.getPlans()) {
    outcome_.plans.push_back(check_plan(plan));
    if (!outcome_.plans.back()) plan_result(plan);
  }
}

std::optional<Error> Applier::check_plan(schema::PlanResult::Reader plan) {
  for (const auto& changes : {plan.getStopped(), plan.getPreempted()})
    for (auto change : changes)
      if (!t_.allocs.contains(view(change.getId())))
        return Error{Errc::not_found, "alloc \"" + copy(change.getId()) + "\" doesn't exist"};
  std::unordered_map<std::string_view, schema::Allocation::Reader> placed;
  placed.reserve(plan.getPlaced().size());
  for (auto alloc : plan.getPlaced()) {
    if (find_version(alloc) == nullptr)
      return Error{Errc::conflict,
                   "attempting to upsert allocation \"" + copy(alloc.getId()) + "\" without a job"};
    const AllocRef* stored = t_.allocs.find(view(alloc.getId()));
    const auto [first, is_new] = placed.try_emplace(view(alloc.getId()), alloc);
    if (!is_same_job(first->second, alloc)
        || (stored != nullptr && !is_same_job(*(*stored)->alloc, alloc)))
      return Error{Errc::conflict,
                   "allocation \"" + copy(alloc.getId()) + "\" belongs to another job"};
  }
  return std::nullopt;
}

void Applier::plan_result(schema::PlanResult::Reader plan) {
  plan_metrics_.clear();
  plan_metric_numbers_.clear();
  if (plan.hasDeployment()) upsert_deployment(plan.getDeployment());
  for (auto update : plan.getDeploymentUpdates())
    update_deployment(update);
  if (plan.getEvalId().size() > 0) touch_eval(view(plan.getEvalId()));
  for (auto change : plan.getStopped())
    end_alloc(change, plan, schema::DesiredStatus::STOP);
  for (auto alloc : plan.getPlaced())
    place(alloc, plan);
  for (auto change : plan.getPreempted())
    end_alloc(change, plan, schema::DesiredStatus::EVICT);
  put_evals(plan.getEvaluations());
}

/// A new allocation, or one that is updated in place.
void Applier::place(schema::Allocation::Reader alloc, schema::PlanResult::Reader plan) {
  const AllocRef* found = t_.allocs.find(view(alloc.getId()));
  const AllocRef before = found != nullptr ? *found : AllocRef{};
  const auto old = before ? *before->alloc : schema::Allocation::Reader{};
  Draft<schema::Allocation> draft{alloc};
  if (before) {
    draft->setCreateIndex(old.getCreateIndex());
    draft->setCreateTime(old.getCreateTime());
    keep_what_others_said(*draft, old);
  } else {
    draft->setCreateIndex(index_);
    if (alloc.getCreateTime() == 0) draft->setCreateTime(plan.getModifyTime());
    if (alloc.hasDeploymentStatus()) {
      draft->getDeploymentStatus().setModifyIndex(index_);
      if (is_promoted(alloc)) draft->getDeploymentStatus().setCanary(false);
    }
  }
  draft->setModifyIndex(index_);
  draft->setAllocModifyIndex(index_);
  if (plan.getModifyTime() != 0) draft->setModifyTime(plan.getModifyTime());
  const Object<schema::AllocMetric> metric = plan_metric(*draft, plan);
  const Object<schema::Job> job = *find_version(draft.reader());
  count_in_deployment(before ? &old : nullptr, *draft);
  count_alloc(before ? &old : nullptr, draft.reader());
  put_alloc(before ? &before : nullptr, make_row(draft.freeze(), job, metric), Author::server);
  link_previous(alloc);
}

/// The metrics that a placed allocation shares with others of its plan, stored under a number that
/// is new to its evaluation: an evaluation may submit several plans.
Object<schema::AllocMetric> Applier::plan_metric(AllocBuilder alloc,
                                                 schema::PlanResult::Reader plan) {
  const std::uint32_t place = alloc.getMetricNumber();
  const std::string eval = copy(alloc.asReader().getEvalId());
  alloc.setMetricNumber(no_metric);
  if (place >= plan.getMetrics().size()) return {};
  const std::string local = metric_key(eval, place);
  auto known = plan_metrics_.find(local);
  if (known == plan_metrics_.end()) {
    std::string end = join_key(eval, "");
    end.back() = '\x01';
    const auto last = t_.alloc_metrics.before(end);
    std::uint32_t number = 0;
    if (last.valid() && last.key().starts_with(join_key(eval, ""))) {
      for (const char part : last.key().substr(eval.size() + 1))
        number = number << 8 | static_cast<unsigned char>(part);
      ++number;
    }
    known = plan_metrics_
                .emplace(local, Object<schema::AllocMetric>::freeze(plan.getMetrics()[place]))
                .first;
    plan_metric_numbers_[local] = number;
    t_.alloc_metrics.insert_or_assign(metric_key(eval, number), known->second);
    touch(Table::alloc_metrics);
  }
  alloc.setMetricNumber(plan_metric_numbers_[local]);
  return known->second;
}

/// The version of its job that a placed allocation names; null if it is gone. A plan's allocations
/// mostly name the same, which is remembered.
const Object<schema::Job>* Applier::find_version(schema::Allocation::Reader alloc) {
  if (last_version_) {
    const auto job = *last_version_;
    if (job.getVersion() == alloc.getJobVersion()
        && job.getCreateIndex() == alloc.getJobCreateIndex()
        && view(job.getId()) == view(alloc.getJobId())
        && view(job.getNamespace()) == view(alloc.getNamespace()))
      return &last_version_;
  }
  const auto* found = find_job_version(t_, alloc);
  if (found == nullptr) return nullptr;
  last_version_ = *found;
  return &last_version_;
}

/// The allocation that a new one replaces learns by which.
void Applier::link_previous(schema::Allocation::Reader alloc) {
  if (alloc.getPreviousAllocation().size() == 0) return;
  const AllocRef* found = t_.allocs.find(view(alloc.getPreviousAllocation()));
  if (found == nullptr || view((*found)->alloc->getNextAllocation()) == view(alloc.getId())) return;
  const AllocRef before = *found;
  Draft<schema::Allocation> draft{before->alloc};
  draft->setNextAllocation(alloc.getId());
  draft->setModifyIndex(index_);
  AllocRow row = *before;
  row.alloc = draft.freeze();
  put_alloc(&before, std::move(row), Author::client);  // nothing that its client must learn
}

/// Stops or evicts an allocation; `change` names only what changes.
void Applier::end_alloc(schema::Allocation::Reader change,
                        schema::PlanResult::Reader plan,
                        schema::DesiredStatus desired) {
  const AllocRef before = *t_.allocs.find(view(change.getId()));
  const auto old = *before->alloc;
  Draft<schema::Allocation> draft{before->alloc};
  draft->setDesiredStatus(desired);
  draft->setDesiredDescription(change.getDesiredDescription());
  if (change.getFollowupEvalId().size() > 0) draft->setFollowupEvalId(change.getFollowupEvalId());
  if (change.getPreemptedByAllocation().size() > 0) {
    draft->setPreemptedByAllocation(change.getPreemptedByAllocation());
    if (change.getDesiredDescription().size() == 0)
      draft->setDesiredDescription(
          text("Preempted by alloc ID " + copy(change.getPreemptedByAllocation())));
  }
  if (may_overrule_client(change.getClientStatus()) && !before->client_terminal) {
    draft->setClientStatus(change.getClientStatus());
    // What its client said last stays: why it ends is the description of what is desired.
    if (change.getClientDescription().size() > 0)
      draft->setClientDescription(change.getClientDescription());
  }
  draft->setModifyIndex(index_);
  draft->setAllocModifyIndex(index_);
  if (plan.getModifyTime() != 0) draft->setModifyTime(plan.getModifyTime());
  count_alloc(&old, draft.reader());

  AllocRow row = *before;
  row.alloc = draft.freeze();
  row.server_terminal = true;
  row.client_terminal = is_client_terminal(row.alloc->getClientStatus());
  put_alloc(&before, std::move(row), Author::server);
}

}  // namespace nomad::state
