// Plan results: the schedulers' verified decisions. A result is applied as a whole or, when it
// names an allocation or a version of a job that is gone, not at all.
#include <unordered_map>

#include "runtime/state/alloc_index.hpp"
#include "runtime/state/applier.hpp"

namespace nomad::state {

namespace {

bool is_same_job(AllocView a, AllocView b) {
  return a.job_id() == b.job_id() && a.ns() == b.ns();
}

bool may_overrule_client(schema::ClientStatus status) {
  return status == schema::ClientStatus::LOST || status == schema::ClientStatus::UNKNOWN;
}

/// Carries over what its client, operators and the drainer have said of an allocation, and what
/// came in its place, from the row as it is now: the scheduler saw an older one, and the same plan
/// may place its successor. Health belongs to a deployment.
void keep_what_others_said(schema::Allocation::Builder alloc, AllocView stored) {
  alloc.setTaskStates(stored.task_states());
  alloc.setReportNumber(stored.report_number());
  if (!stored.next().empty()) alloc.setNextAllocation(text(stored.next()));
  if (stored.has_network_status()) alloc.setNetworkStatus(stored.network_status());
  if (stored.has_transition()) alloc.setDesiredTransition(stored.transition());
  if (stored.has_deployment_status()
      && stored.deployment_id() == AllocView{alloc.asReader()}.deployment_id())
    alloc.setDeploymentStatus(stored.deployment_status());
  if (may_overrule_client(alloc.getClientStatus()) && !stored.is_client_terminal()) return;
  alloc.setClientStatus(stored.client_status());
  alloc.setClientDescription(text(stored.client_description()));
}

/// An identity lasts as long as its allocation, whatever the job becomes.
void keep_identity(schema::Allocation::Builder alloc,
                   AllocView stored,
                   schema::PlanResult::Reader plan) {
  const bool has_one = stored.identity_key() != 0;
  alloc.setIdentityKey(has_one ? stored.identity_key() : plan.getIdentityKey());
  const bool gets_one = !has_one && plan.getIdentityKey() != 0;
  alloc.setIdentityTime(gets_one ? plan.getModifyTime() / 1'000'000'000 : stored.identity_time());
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
    for (const AllocView change : changes)
      if (!t_.allocs.contains(change.id()))
        return Error{Errc::not_found, "alloc \"" + std::string{change.id()} + "\" doesn't exist"};
  std::unordered_map<std::string_view, AllocView> placed;
  placed.reserve(plan.getPlaced().size());
  for (const AllocView alloc : plan.getPlaced()) {
    if (find_version(alloc) == nullptr)
      return Error{Errc::conflict, "attempting to upsert allocation \"" + std::string{alloc.id()}
                                       + "\" without a job"};
    const AllocRef* stored = t_.allocs.find(alloc.id());
    const auto [first, is_new] = placed.try_emplace(alloc.id(), alloc);
    if (!is_same_job(first->second, alloc)
        || (stored != nullptr && !is_same_job(*(*stored)->alloc, alloc)))
      return Error{Errc::conflict,
                   "allocation \"" + std::string{alloc.id()} + "\" belongs to another job"};
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
  put_plan_evals(plan.getEvaluations());
}

/// Only those of jobs that lost allocations are Nomad's planner's; the scheduler writes the others.
void Applier::put_plan_evals(capnp::List<schema::Evaluation>::Reader evals) {
  const auto planned = event_type_;
  for (const auto eval : evals) {
    event_type_ = eval.getTriggeredBy() == schema::EvalTrigger::PREEMPTION ? planned : eval_event;
    put_eval(eval);
  }
  event_type_ = planned;
}

/// A new allocation, or one that is updated in place.
void Applier::place(schema::Allocation::Reader planned, schema::PlanResult::Reader plan) {
  const AllocView alloc{planned};
  const AllocRef* found = t_.allocs.find(alloc.id());
  const AllocRef before = found != nullptr ? *found : AllocRef{};
  const auto old = before ? *before->alloc : AllocView{};
  Draft<schema::Allocation> draft{planned};
  if (before) {
    draft->setCreateIndex(old.create_index());
    draft->setCreateTime(old.create_time());
    keep_what_others_said(*draft, old);
  } else {
    draft->setCreateIndex(index_);
    if (alloc.create_time() == 0) draft->setCreateTime(plan.getModifyTime());
    if (alloc.has_deployment_status()) {
      draft->getDeploymentStatus().setModifyIndex(index_);
      if (is_promoted(alloc)) draft->getDeploymentStatus().setCanary(false);
    }
  }
  keep_identity(*draft, old, plan);
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
  const std::uint32_t position = alloc.getMetricNumber();
  const std::string eval{AllocView{alloc.asReader()}.eval_id()};
  alloc.setMetricNumber(no_metric);
  if (position >= plan.getMetrics().size()) return {};
  const std::string local = metric_key(eval, position);
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
                .emplace(local, Object<schema::AllocMetric>::freeze(plan.getMetrics()[position]))
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
const Object<schema::Job>* Applier::find_version(AllocView alloc) {
  if (last_version_) {
    const auto job = *last_version_;
    if (job.getVersion() == alloc.job_version() && job.getCreateIndex() == alloc.job_create_index()
        && view(job.getId()) == alloc.job_id() && view(job.getNamespace()) == alloc.ns())
      return &last_version_;
  }
  const auto* found = find_job_version(t_, alloc);
  if (found == nullptr) return nullptr;
  last_version_ = *found;
  return &last_version_;
}

/// The allocation that a new one replaces learns by which.
void Applier::link_previous(AllocView alloc) {
  if (alloc.previous().empty()) return;
  const AllocRef* found = t_.allocs.find(alloc.previous());
  if (found == nullptr || (*found)->alloc->next() == alloc.id()) return;
  const AllocRef before = *found;
  Draft<schema::Allocation> draft{before->alloc};
  draft->setNextAllocation(text(alloc.id()));
  draft->setModifyIndex(index_);
  AllocRow row = *before;
  row.alloc = draft.freeze();
  put_alloc(&before, std::move(row), Author::client);  // nothing that its client must learn
}

/// Stops or evicts an allocation; `change` names only what changes.
void Applier::end_alloc(AllocView change,
                        schema::PlanResult::Reader plan,
                        schema::DesiredStatus desired) {
  const AllocRef before = *t_.allocs.find(change.id());
  const auto old = *before->alloc;
  Draft<schema::Allocation> draft{before->alloc};
  draft->setDesiredStatus(desired);
  draft->setDesiredDescription(text(change.desired_description()));
  if (!change.followup_eval_id().empty()) draft->setFollowupEvalId(text(change.followup_eval_id()));
  if (!change.preempted_by().empty()) {
    draft->setPreemptedByAllocation(text(change.preempted_by()));
    if (change.desired_description().empty())
      draft->setDesiredDescription(
          text("Preempted by alloc ID " + std::string{change.preempted_by()}));
  }
  if (may_overrule_client(change.client_status()) && !before->client_terminal) {
    draft->setClientStatus(change.client_status());
    // What its client said last stays: why it ends is the description of what is desired.
    if (!change.client_description().empty())
      draft->setClientDescription(text(change.client_description()));
  }
  draft->setModifyIndex(index_);
  draft->setAllocModifyIndex(index_);
  if (plan.getModifyTime() != 0) draft->setModifyTime(plan.getModifyTime());
  count_alloc(&old, draft.reader());

  AllocRow row = *before;
  row.alloc = draft.freeze();
  row.server_terminal = true;
  row.client_terminal = row.alloc->is_client_terminal();
  put_alloc(&before, std::move(row), Author::server);
}

}  // namespace nomad::state
