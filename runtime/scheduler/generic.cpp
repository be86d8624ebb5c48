#include "runtime/scheduler/generic.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/attempt.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/reconcile/deployment_draft.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

/// More allocations of a job are not even counted out: registrations are bound far below
/// (`job_max_count`), and what came past them must not take all memory.
constexpr std::int64_t most_allocations = 1'000'000;

bool asks_for_too_many(const JobSpec& job) {
  std::int64_t left = most_allocations;
  for (const auto& group : job.groups()) {
    if (group.group.getCount() > left) return true;
    left -= std::max<std::int64_t>(group.group.getCount(), 0);
  }
  return false;
}

/// The name that a placement gets: a free one if several have the one that is asked for. A canary
/// shares its name with what it is to replace. Where no name is free another would not be better;
/// unlike Nomad, which takes the lowest then.
std::string name_for(const PlaceRequest& request, Reconciliation& result) {
  const auto names = result.name_indexes.find(request.group->name);
  if (request.canary || names == result.name_indexes.end()) return request.name;
  const auto index = alloc_index(request.name);
  if (!names->second.is_duplicate(index)) return request.name;
  auto free = names->second.next_free();
  if (!free) return request.name;
  names->second.release(index);
  return std::move(*free);
}

class GenericScheduler final : public Scheduler {
public:
  GenericScheduler(Object<schema::Evaluation> eval,
                   std::uint64_t salt,
                   bool is_batch,
                   Progress before)
      : eval_{eval},
        salt_{salt},
        is_batch_{is_batch},
        progress_{std::move(before)},
        outcome_{std::move(eval), random_, progress_.blocked_id} {}

  Step start(const Moment& moment) override;
  Step resume(const Moment& moment, const PlanResult& result) override;

  const std::map<std::string, DesiredUpdates, std::less<>>& desired_updates() const override {
    return desired_updates_;
  }

private:
  /// A version of the job that a placement uses, if it is not the newest one.
  struct OtherVersion {
    std::unique_ptr<JobSpec> job;
    Eligibility eligibility;  ///< Its constraints are its own.
    std::unique_ptr<Selector> selector;
    NodeChoice nodes;
    bool memory_oversubscription = false;
    std::string deployment_id;
  };

  Step attempt(const Moment& moment);
  UpdateKind decide_update(Attempt& attempt, const AllocEntry& alloc, const GroupSpec& group);
  void stage(Attempt& attempt, const Reconciliation& result);
  void place_all(Attempt& attempt, Reconciliation& result);
  void place_one(Attempt& attempt,
                 const PlaceRequest& request,
                 const NodeChoice& nodes,
                 Reconciliation& result);
  SelectRequest select_request(Attempt& attempt, const PlaceRequest& request) const;
  OtherVersion* other_version(Attempt& attempt, const PlaceRequest& request);
  Object<schema::Job> stable_version(Attempt& attempt,
                                     const PlaceRequest& request,
                                     std::string& deployment_id) const;
  Step conclude(Attempt& attempt, Reconciliation& result);

  Object<schema::Evaluation> eval_;
  std::uint64_t salt_;
  Random random_{0};  ///< Of the attempt in progress.
  bool is_batch_;
  Progress progress_;
  EvalOutcome outcome_;
  std::map<std::string, DesiredUpdates, std::less<>> desired_updates_;

  // Of the attempt in progress.
  std::string deployment_id_;  ///< Of the active deployment.
  std::map<const AllocEntry*, PlannedAlloc> in_place_rows_;
  VersionComparison versions_;
  std::map<std::uint64_t, OtherVersion> other_versions_;
  std::optional<Step> finished_;
};

Step GenericScheduler::start(const Moment& moment) {
  if (eval_->getTriggeredBy() == schema::EvalTrigger::NONE) {
    Step step;
    step.evaluations.push_back(outcome_.finished(
        schema::EvalStatus::FAILED, "scheduler cannot handle '' evaluation reason", moment.now));
    return step;
  }
  return attempt(moment);
}

Step GenericScheduler::resume(const Moment& moment, const PlanResult& result) {
  auto end = settle(moment, result, *finished_, progress_, outcome_, attempt_limit(is_batch_));
  return end ? std::move(*end) : attempt(moment);
}

Step GenericScheduler::attempt(const Moment& moment) {
  inputs_ = inputs_of(eval_, moment, progress_, salt_);
  random_ = Random{decision_seed(*inputs_)};
  ++progress_.attempts;
  outcome_.begin(moment.state.index());
  in_place_rows_.clear();
  other_versions_.clear();
  versions_ = {};
  SelectorOptions options;
  options.is_batch = is_batch_;
  Attempt ground{moment, eval_, random_, options};
  if (ground.job != nullptr && !ground.job->is_stopped() && asks_for_too_many(*ground.job)) {
    Step step;
    step.inputs = std::exchange(inputs_, nullptr);
    step.evaluations.push_back(outcome_.finished(schema::EvalStatus::FAILED,
                                                 "the job asks for more than "
                                                     + std::to_string(most_allocations)
                                                     + " allocations; lower its count",
                                                 moment.now));
    return step;
  }
  outcome_.set_quota(ground.quota_name());
  ground.finish_lost_stops();

  ReconcileInput input;
  input.job = ground.job.get();
  input.ns = view(eval_->getNamespace());
  input.job_id = view(eval_->getJobId());
  if (!is_batch_) input.deployment = moment.state.latest_deployment(input.ns, input.job_id);
  input.allocs = &ground.allocs;
  input.tainted = &ground.tainted;
  input.eval_id = view(eval_->getId());
  input.eval_priority = eval_->getPriority();
  input.is_batch = is_batch_;
  input.now = moment.now;
  const auto decide = [&](const AllocEntry& alloc, const GroupSpec& group) {
    return decide_update(ground, alloc, group);
  };
  auto result = reconcile(input, decide, random_);
  stage(ground, result);
  place_all(ground, result);
  auto step = conclude(ground, result);
  step.inputs = std::exchange(inputs_, nullptr);
  return step;
}

UpdateKind GenericScheduler::decide_update(Attempt& attempt,
                                           const AllocEntry& alloc,
                                           const GroupSpec& group) {
  if (alloc.job().getJobModifyIndex() == attempt.job->reader().getJobModifyIndex()
      && alloc.job().getCreateIndex() == attempt.job->reader().getCreateIndex())
    return UpdateKind::ignore;
  if (versions_.tasks_updated(alloc, *attempt.job, group)) return UpdateKind::destructive;
  if (alloc.row->terminal()) return UpdateKind::ignore;
  const auto selection = select_in_place(attempt, alloc, group);
  if (!selection) return UpdateKind::destructive;
  in_place_rows_.emplace(&alloc, make_in_place_row(alloc, view(eval_->getId()), *attempt.job, group,
                                                   *selection, attempt.keep_metric(alloc),
                                                   attempt.options.memory_oversubscription));
  return UpdateKind::in_place;
}

/// Everything but placements.
void GenericScheduler::stage(Attempt& attempt, const Reconciliation& result) {
  const auto current = result.deployment ? result.deployment
                                         : attempt.moment.state.latest_deployment(
                                             view(eval_->getNamespace()), view(eval_->getJobId()));
  deployment_id_.clear();
  if (!is_batch_ && current && attempt.job != nullptr && state::is_active(current->getStatus())
      && current->getJobCreateIndex() == attempt.job->reader().getCreateIndex()
      && current->getJobVersion() == attempt.job->reader().getVersion())
    deployment_id_ = copy(current->getId());
  // An evaluation names the job's newest deployment even when that has ended.
  outcome_.set_deployment(!is_batch_ && current ? view(current->getId()) : std::string_view{});
  attempt.plan.deployment = result.deployment;
  attempt.plan.deployment_changes = result.deployment_changes;
  attempt.plan.evaluations = result.followups;
  desired_updates_ = result.desired_updates;
  for (const auto& stop : result.stop)
    attempt.stop({stop.alloc->row,
                  schema::DesiredStatus::STOP,
                  std::string{stop.description},
                  stop.client_status,
                  stop.followup_eval_id,
                  {}});
  for (const auto& update : result.row_updates) {
    const auto in_place = in_place_rows_.find(update.alloc);
    const bool is_stored = in_place == in_place_rows_.end();
    auto row = make_updated_row(update, is_stored ? update.alloc->row->alloc : in_place->second.row,
                                attempt.keep_metric(*update.alloc), attempt.moment.now);
    if (is_stored)
      attempt.place(std::move(row), {});
    else
      in_place->second = std::move(row);
  }
  const auto joined = current ? copy(current->getId()) : std::string{};
  for (const auto* alloc : result.in_place) {
    auto& row = in_place_rows_.at(alloc);
    if (row.row->deployment_id() != joined) {
      Draft<schema::Allocation> draft{row.row};
      draft->setDeploymentId(text(joined));
      draft->disownDeploymentStatus();  // its health counts anew
      row.row = draft.freeze();
    }
    attempt.place(std::move(row), {});
  }
}

void GenericScheduler::place_all(Attempt& attempt, Reconciliation& result) {
  if (attempt.job == nullptr) return;
  for (const auto& group : attempt.job->groups())
    outcome_.set_queued(group.name, 0);  // what waited for room waits no more
  if (attempt.job->is_stopped()) return;
  if (result.destructive.empty() && result.place.empty()) return;
  auto nodes = choose_nodes(attempt.moment.state, attempt.job->reader());
  attempt.selector->set_nodes(nodes.ready);
  for (const auto& request : result.destructive)
    place_one(attempt, request, nodes, result);
  for (const auto& request : result.place)
    place_one(attempt, request, nodes, result);
}

SelectRequest GenericScheduler::select_request(Attempt& attempt,
                                               const PlaceRequest& request) const {
  SelectRequest select;
  select.alloc_name = request.name;
  if (request.previous == nullptr) return select;
  const auto previous = request.previous->alloc();
  if (previous.client_status() == schema::ClientStatus::FAILED)
    select.penalty_nodes.insert(std::string{previous.node_id()});
  for (const auto event : previous.reschedule_events())
    select.penalty_nodes.insert(copy(event.getPrevNodeId()));
  const auto disk = request.group->group.getEphemeralDisk();
  if (!disk.getSticky() && !disk.getMigrate()) return select;
  const auto node = attempt.moment.state.node(previous.node_id());
  if (node && is_ready(*node)) select.preferred = node;
  return select;
}

void GenericScheduler::place_one(Attempt& attempt,
                                 const PlaceRequest& request,
                                 const NodeChoice& nodes,
                                 Reconciliation& result) {
  const auto group_name = request.group->name;
  outcome_.add_queued(group_name, 1);
  const JobSpec* job = attempt.job.get();
  const GroupSpec* group = request.group;
  auto* selector = attempt.selector.get();
  const auto* looked_at = &nodes;
  bool memory_oversubscription = attempt.options.memory_oversubscription;
  std::string_view deployment_id = deployment_id_;
  if (request.downgrade) {
    if (auto* other = other_version(attempt, request)) {
      looked_at = &other->nodes;
      memory_oversubscription = other->memory_oversubscription;
      job = other->job.get();
      group = job->find(group_name);
      selector = other->selector.get();
      deployment_id = other->deployment_id;
    }
  }
  if (outcome_.coalesce(*group)) return;
  if (request.stop_previous)
    attempt.stop({request.previous->row,
                  schema::DesiredStatus::STOP,
                  std::string{alloc_updating},
                  {},
                  {},
                  {}});
  MetricBuilder metrics;
  metrics.set_nodes(static_cast<std::int64_t>(looked_at->ready.size()), looked_at->by_datacenter);
  auto wanted = select_request(attempt, request);
  // Unlike in Nomad a disk does not keep an allocation where its job must not be any more.
  if (wanted.preferred && !is_in_job_scope(*wanted.preferred, job->reader())) wanted.preferred = {};
  const auto selection = selector->select(*group, wanted, metrics);
  if (!selection) {
    metrics.exhaust_resources(*group);
    outcome_.fail(group_name, std::move(metrics));
    // What is known of classes is the newest version's: what another one waits for may come
    // anywhere.
    if (job != attempt.job.get()) attempt.eligibility.set_group(group_name, true);
    if (request.stop_previous) attempt.unstop();
    return;
  }
  if (request.stop_previous) attempt.withdraw_update(*request.previous);
  const auto name = name_for(request, result);
  NewRow row;
  row.eval_id = view(eval_->getId());
  row.name = name;
  row.job = job;
  row.group = group;
  row.selection = &*selection;
  row.previous = request.previous;
  row.reschedule = request.reschedule;
  row.canary = request.canary;
  row.deployment_id = deployment_id;
  row.metric_number
      = attempt.add_metric(group_name, view(selection->node->reader().getId()), metrics);
  row.memory_oversubscription = memory_oversubscription;
  row.now = attempt.moment.now;
  attempt.place(make_row(row, random_), group_name, selection->preempted);
  const auto preempted = selection->preempted.size();
  desired_updates_[std::string{group_name}].preemptions += preempted;
  outcome_.add_queued(group_name, -1);
}

/// The newest version whose deployment of this group is over: what replaces allocations that are no
/// canaries while canaries run.
Object<schema::Job> GenericScheduler::stable_version(Attempt& attempt,
                                                     const PlaceRequest& request,
                                                     std::string& deployment_id) const {
  const auto& state = attempt.moment.state;
  const auto job = attempt.job->reader();
  const auto ns = view(job.getNamespace());
  const auto id = view(job.getId());
  Object<schema::Deployment> best;
  for (const auto& entry : state.deployments_by_job(ns, id)) {
    const auto& deployment = entry.value();
    if (deployment->getJobCreateIndex() != job.getCreateIndex()) continue;
    const auto draft = DeploymentDraft::read(*deployment);
    const auto group = draft.groups.find(request.group->name);
    if (group == draft.groups.end()) continue;
    const bool over = group->second.promoted || group->second.desired_canaries == 0;
    if (over && (!best || deployment->getJobVersion() > best->getJobVersion())) best = deployment;
  }
  if (best) {
    deployment_id = copy(best->getId());
    return state.job_version(ns, id, best->getJobVersion());
  }
  auto fallback = state.job_version(ns, id, request.min_job_version);
  const auto group = fallback ? find_group(*fallback, request.group->name) : std::nullopt;
  return group && !group->hasUpdate() ? fallback : Object<schema::Job>{};
}

GenericScheduler::OtherVersion* GenericScheduler::other_version(Attempt& attempt,
                                                                const PlaceRequest& request) {
  std::string deployment_id;
  auto object = stable_version(attempt, request, deployment_id);
  if (!object || object->getVersion() < request.min_job_version
      || !find_group(*object, request.group->name))
    return nullptr;
  const auto version = object->getVersion();
  if (version == attempt.job->reader().getVersion()) return nullptr;
  auto& other = other_versions_[version];
  other.deployment_id = deployment_id;
  if (other.job != nullptr) return &other;
  other.job = std::make_unique<JobSpec>(std::move(object));
  const auto options = attempt.options_for(other.job->reader());
  other.memory_oversubscription = options.memory_oversubscription;
  other.nodes = choose_nodes(attempt.moment.state, other.job->reader());
  other.selector
      = std::make_unique<Selector>(*other.job, attempt.moment.state, attempt.rows, attempt.proposal,
                                   other.eligibility, random_, options);
  other.selector->set_nodes(other.nodes.ready);
  attempt.inform(*other.selector);
  return &other;
}

/// The step that the attempt comes to. What is written along with the plan assumes that all of it
/// is accepted; if not, the next attempt writes anew.
Step GenericScheduler::conclude(Attempt& attempt, Reconciliation& result) {
  const auto& moment = attempt.moment;
  const bool delays_instead = !result.followups.empty() && eval_->getWaitUntil() == 0;
  const bool failed = outcome_.has_failures();
  Step end;
  end.lacks_room = failed;
  if (failed && !outcome_.was_blocked() && outcome_.blocked_id().empty() && !delays_instead) {
    attempt.plan.evaluations.push_back(
        outcome_.make_blocked(attempt.eligibility, moment.state.index(), moment.now));
  }
  const auto last = outcome_.was_blocked() && failed
                        ? outcome_.reblocked(attempt.eligibility, moment.state.index(), moment.now)
                        : outcome_.finished(schema::EvalStatus::COMPLETE, {}, moment.now);
  end.evaluations.push_back(last);
  if (attempt.plan.is_no_op()) {
    end.evaluations.insert(end.evaluations.begin(), attempt.plan.evaluations.begin(),
                           attempt.plan.evaluations.end());
    return end;
  }
  attempt.plan.desired_updates = desired_updates_;
  attempt.plan.completion = last;
  Step step;
  step.lacks_room = failed;
  step.plan = std::move(attempt.plan);
  finished_ = std::move(end);
  return step;
}

}  // namespace

std::unique_ptr<Scheduler> make_generic_scheduler(Object<schema::Evaluation> eval,
                                                  std::uint64_t salt,
                                                  bool is_batch,
                                                  const Progress& before) {
  return std::make_unique<GenericScheduler>(std::move(eval), salt, is_batch, before);
}

}  // namespace nomad::scheduler
