#include "runtime/scheduler/system.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/attempt.hpp"
#include "runtime/scheduler/reconcile/alloc_sets.hpp"
#include "runtime/scheduler/system_deployment.hpp"
#include "runtime/scheduler/system_diff.hpp"

namespace nomad::scheduler {
namespace {

/// Updates by what they need.
struct SortedUpdates {
  std::vector<SystemUpdate> destructive;
  std::vector<std::pair<SystemUpdate, PlannedAlloc>> in_place;  ///< With the new rows.
};

enum class Placed : std::uint8_t { yes, unwanted, no_room };

class SystemScheduler final : public Scheduler {
public:
  SystemScheduler(Object<schema::Evaluation> eval,
                  std::uint64_t salt,
                  bool is_sysbatch,
                  Progress before)
      : eval_{eval},
        salt_{salt},
        is_sysbatch_{is_sysbatch},
        progress_{std::move(before)},
        outcome_{std::move(eval), random_} {}

  Step start(const Moment& moment) override { return attempt(moment); }

  Step resume(const Moment& moment, const PlanResult& result) override;

  const std::map<std::string, DesiredUpdates, std::less<>>& desired_updates() const override {
    return desired_updates_;
  }

private:
  Step attempt(const Moment& moment);
  void stage_stops(Attempt& attempt, const SystemDiff& diff);
  void stage_row(Attempt& attempt, RowUpdate update);
  void bring_out(Attempt& attempt, SystemDiff& diff, const NodeChoice& nodes);
  SortedUpdates sort_updates(Attempt& attempt, const SystemDiff& diff);
  void begin_deployment(const SortedUpdates& updates, SystemDiff& diff);
  void update_in_place(Attempt& attempt, SortedUpdates& updates);
  std::vector<SystemUpdate> roll(Attempt& attempt,
                                 const std::vector<SystemUpdate>& updates,
                                 const NodeChoice& nodes);
  void roll_one(Attempt& attempt,
                const SystemUpdate& update,
                SystemWave& wave,
                const NodeChoice& nodes);
  void count_staying(const SystemDiff& diff);
  void replace(Attempt& attempt,
               const std::vector<SystemUpdate>& updates,
               std::vector<SystemPlacement>& place);
  Placed place_one(Attempt& attempt, const SystemPlacement& placement, const NodeChoice& nodes);
  void wait_for(const DrainedWork& work, const NodeChoice& nodes);
  void block(Attempt& attempt);
  Step conclude(Attempt& attempt);

  DesiredUpdates& changes(std::string_view group) { return desired_updates_[std::string{group}]; }

  Object<schema::Evaluation> eval_;
  std::uint64_t salt_;
  Random random_{0};  ///< Of the attempt in progress.
  bool is_sysbatch_;
  Progress progress_;
  EvalOutcome outcome_;
  std::map<std::string, DesiredUpdates, std::less<>> desired_updates_;

  // Of the attempt in progress.
  std::map<std::string, MetricBuilder, std::less<>> filtered_;  ///< By group.
  std::map<std::string, std::int64_t, std::less<>> queued_;
  std::map<std::string, std::int64_t, std::less<>> placed_;
  /// The first without room for the last such group, or that drained work waits for; empty: none.
  std::string full_node_;
  std::string next_eval_;
  std::optional<SystemDeployment> deployment_;
  SystemDeployment::End brought_out_;
  std::optional<Step> finished_;
};

Step SystemScheduler::resume(const Moment& moment, const PlanResult& result) {
  if (result.is_full()) {
    Step step = std::move(*finished_);
    if (result.completion_written) step.evaluations.clear();
    return step;
  }
  progress_.fruitless = result.made_progress ? 0 : progress_.fruitless + 1;
  if (progress_.fruitless < attempt_limit(is_sysbatch_)) return attempt(moment);
  Step step;
  step.evaluations.push_back(outcome_.finished(
      schema::EvalStatus::FAILED,
      "maximum attempts reached (" + std::to_string(attempt_limit(is_sysbatch_)) + ")",
      moment.now));
  return step;
}

Step SystemScheduler::attempt(const Moment& moment) {
  inputs_ = inputs_of(eval_, moment, progress_, salt_);
  random_ = Random{decision_seed(*inputs_)};
  ++progress_.attempts;
  outcome_.begin(moment.state.index());
  desired_updates_.clear();
  filtered_.clear();
  queued_.clear();
  placed_.clear();
  full_node_.clear();
  next_eval_.clear();
  SelectorOptions options;
  options.is_system = true;
  Attempt ground{moment, eval_, random_, options};
  outcome_.set_quota(ground.quota_name());
  ground.finish_lost_stops();
  NodeChoice nodes;
  if (ground.job != nullptr) nodes = choose_nodes(moment.state, ground.job->reader());
  Object<schema::Deployment> latest;
  if (!is_sysbatch_)
    latest = moment.state.latest_deployment(view(eval_->getNamespace()), view(eval_->getJobId()));
  deployment_.emplace(ground.job.get(), ground.allocs, latest);
  brought_out_ = {};
  auto diff = diff_system(ground, nodes, is_sysbatch_);
  stage_stops(ground, diff);
  if (ground.job != nullptr && !ground.job->is_stopped()) bring_out(ground, diff, nodes);
  deployment_->finish(brought_out_, eval_->getPriority(), ground.plan);
  const auto& current = ground.plan.deployment ? ground.plan.deployment : latest;
  outcome_.set_deployment(current ? view(current->getId()) : std::string_view{});
  auto step = conclude(ground);
  step.inputs = std::exchange(inputs_, nullptr);
  return step;
}

void SystemScheduler::bring_out(Attempt& attempt, SystemDiff& diff, const NodeChoice& nodes) {
  for (const auto& group : attempt.job->groups()) {
    queued_[std::string{group.name}] = 0;
    changes(group.name);
  }
  auto updates = sort_updates(attempt, diff);
  begin_deployment(updates, diff);
  count_staying(diff);
  update_in_place(attempt, updates);
  replace(attempt, roll(attempt, updates.destructive, nodes), diff.place);
  for (const auto& placement : diff.place) {
    ++queued_[std::string{placement.group->name}];
    ++changes(placement.group->name).place;
  }
  for (const auto& placement : diff.place) {
    if (place_one(attempt, placement, nodes) != Placed::yes) continue;
    brought_out_.is_settled = false;
    ++brought_out_.totals[placement.group->name];
  }
  for (const auto& work : diff.waiting)
    wait_for(work, nodes);
  block(attempt);
}

void SystemScheduler::stage_row(Attempt& attempt, RowUpdate update) {
  attempt.place(make_updated_row(update, update.alloc->row->alloc,
                                 attempt.keep_metric(*update.alloc), attempt.moment.now),
                {});
}

void SystemScheduler::stage_stops(Attempt& attempt, const SystemDiff& diff) {
  const auto stop = [&](const AllocEntry* entry, std::string_view description,
                        std::optional<schema::ClientStatus> status) {
    attempt.stop(
        {entry->row, schema::DesiredStatus::STOP, std::string{description}, status, {}, {}});
  };
  for (const auto* entry : diff.stop) {
    stop(entry, alloc_not_needed, {});
    ++changes(entry->alloc().task_group()).stop;
  }
  for (const auto* entry : diff.migrate) {
    stop(entry, alloc_node_tainted, {});
    ++changes(entry->alloc().task_group()).migrate;
  }
  for (const auto* entry : diff.lost) {
    stop(entry, alloc_lost, schema::ClientStatus::LOST);
    ++changes(entry->alloc().task_group()).stop;
  }
  for (const auto* entry : diff.disconnecting)
    stage_row(
        attempt,
        {entry, schema::ClientStatus::UNKNOWN, schema::ClientStatus::UNKNOWN, alloc_unknown, {}});
  for (const auto* entry : diff.reconnecting)
    stage_row(attempt, {entry, {}, entry->alloc().client_status(), {}, {}});
  for (const auto& [group, count] : diff.ignored)
    changes(group).ignore += count;
}

SortedUpdates SystemScheduler::sort_updates(Attempt& attempt, const SystemDiff& diff) {
  SortedUpdates sorted;
  VersionComparison versions;
  for (const auto& update : diff.update) {
    std::optional<Selection> selection;
    if (!versions.tasks_updated(*update.alloc, *attempt.job, *update.group)) {
      if (update.alloc->row->terminal()) {  // nothing runs that could take the update over
        ++changes(update.group->name).in_place_update;
        continue;
      }
      selection = select_in_place(attempt, *update.alloc, *update.group);
    }
    if (!selection) {
      sorted.destructive.push_back(update);
      continue;
    }
    ++changes(update.group->name).in_place_update;
    const auto metric = attempt.keep_metric(*update.alloc);
    auto row = make_in_place_row(*update.alloc, view(eval_->getId()), *attempt.job, *update.group,
                                 *selection, metric, attempt.options.memory_oversubscription);
    if (supports_disconnect(*update.alloc) && needs_reconnect(*update.alloc))
      row = make_updated_row({update.alloc, {}, update.alloc->alloc().client_status(), {}, {}},
                             row.row, metric, attempt.moment.now);
    sorted.in_place.emplace_back(update, std::move(row));
  }
  return sorted;
}

/// A deployment begins if there is something to bring out. What has failed in the one under way is
/// its watcher's to judge before anything comes in its place.
void SystemScheduler::begin_deployment(const SortedUpdates& updates, SystemDiff& diff) {
  std::erase_if(diff.place, [this](const SystemPlacement& placement) {
    return placement.previous != nullptr && deployment_->awaits_verdict(*placement.previous);
  });
  brought_out_.is_settled = updates.in_place.empty();
  if (is_sysbatch_) return;
  std::map<std::string_view, SystemGroupNews> news;
  for (const auto& update : updates.destructive)
    ++news[update.group->name].destructive;
  for (const auto& [update, row] : updates.in_place)
    ++news[update.group->name].in_place;
  for (const auto& placement : diff.place)
    ++news[placement.group->name].missing;
  deployment_->begin(news, random_);
}

/// What stays as it is, and what ends.
void SystemScheduler::count_staying(const SystemDiff& diff) {
  for (const auto& [group, count] : diff.ignored)
    brought_out_.totals[group] += static_cast<std::int64_t>(count);
  for (const auto* set : {&diff.reconnecting, &diff.disconnecting})
    for (const auto* entry : *set)
      ++brought_out_.totals[entry->alloc().task_group()];
  for (const auto* set : {&diff.stop, &diff.migrate, &diff.lost})
    brought_out_.ended.insert(set->begin(), set->end());
}

/// In a deployment their health counts anew.
void SystemScheduler::update_in_place(Attempt& attempt, SortedUpdates& updates) {
  for (auto& [update, row] : updates.in_place) {
    const auto id = deployment_->deployment_of(update.group->name);
    ++brought_out_.totals[update.group->name];
    if (!id.empty() && row.row->deployment_id() != id) {
      Draft<schema::Allocation> draft{row.row};
      draft->setDeploymentId(text(id));
      draft->disownDeploymentStatus();
      row.row = draft.freeze();
    }
    attempt.place(std::move(row), {});
  }
}

/// Replaces what deployments let through now. Returns what belongs to none.
std::vector<SystemUpdate> SystemScheduler::roll(Attempt& attempt,
                                                const std::vector<SystemUpdate>& updates,
                                                const NodeChoice& nodes) {
  std::map<std::string_view, std::optional<SystemWave>> waves;
  std::vector<SystemUpdate> others;
  for (const auto& update : updates) {
    const auto group = update.group->name;
    auto known = waves.find(group);
    if (known == waves.end())
      known = waves.emplace(group, deployment_->wave(group, brought_out_.ended)).first;
    if (known->second)
      roll_one(attempt, update, *known->second, nodes);
    else
      others.push_back(update);
  }
  brought_out_.is_settled = brought_out_.is_settled && others.empty();
  return others;
}

/// Where the new one finds no room, the old one stays. Where the job does not want to be any more,
/// it ends, but not while canaries try the new version.
void SystemScheduler::roll_one(Attempt& attempt,
                               const SystemUpdate& update,
                               SystemWave& wave,
                               const NodeChoice& nodes) {
  const auto group = update.group->name;
  const bool is_canary = wave.canaries > 0;
  auto& left = is_canary ? wave.canaries : wave.others;
  auto node = attempt.moment.state.node(update.alloc->alloc().node_id());
  const auto stop = [&](std::string_view why) {
    attempt.stop({update.alloc->row, schema::DesiredStatus::STOP, std::string{why}, {}, {}, {}});
  };
  ++brought_out_.totals[group];
  if (left == 0 || !node) {
    brought_out_.is_settled = false;
    ++changes(group).ignore;
    return;
  }
  stop(alloc_updating);
  ++queued_[std::string{group}];
  const auto placed = place_one(
      attempt,
      {std::string{update.alloc->name()}, update.group, std::move(node), update.alloc, is_canary},
      nodes);
  if (placed == Placed::yes) {
    --left;
    brought_out_.is_settled = false;
    ++(is_canary ? changes(group).canary : changes(group).destructive_update);
    return;
  }
  attempt.unstop();
  if (placed == Placed::unwanted && !is_canary) {
    stop(alloc_not_needed);
    brought_out_.ended.insert(update.alloc);
    --brought_out_.totals[group];
    ++changes(group).stop;
    return;
  }
  brought_out_.is_settled = false;
  ++changes(group).ignore;
}

/// Replaces as many as the job's update strategy lets through at once; a later evaluation goes on.
void SystemScheduler::replace(Attempt& attempt,
                              const std::vector<SystemUpdate>& updates,
                              std::vector<SystemPlacement>& place) {
  const auto strategy = attempt.job->reader().getUpdate();
  const bool rolls = strategy.getStagger() > 0 && strategy.getMaxParallel() > 0;
  const auto limit = rolls ? static_cast<std::size_t>(strategy.getMaxParallel()) : updates.size();
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const auto& [alloc, group] = updates[i];
    ++changes(group->name).destructive_update;  // sooner or later
    if (i >= limit) continue;
    // Ended work whose successor found no room was stopped by an earlier evaluation.
    if (!alloc->row->server_terminal)
      attempt.stop(
          {alloc->row, schema::DesiredStatus::STOP, std::string{alloc_updating}, {}, {}, {}});
    auto node = attempt.moment.state.node(alloc->alloc().node_id());
    if (!node) continue;
    place.push_back({std::string{alloc->name()}, group, std::move(node), alloc, false});
    --changes(group->name).place;  // counted as a destructive update
  }
  if (updates.size() <= limit) return;
  Draft<schema::Evaluation> draft;
  next_eval_ = make_uuid(random_);
  draft->setId(text(next_eval_));
  draft->setNamespace(eval_->getNamespace());
  draft->setPriority(eval_->getPriority());
  draft->setType(eval_->getType());
  draft->setTriggeredBy(schema::EvalTrigger::ROLLING_UPDATE);
  draft->setJobId(eval_->getJobId());
  draft->setJobModifyIndex(eval_->getJobModifyIndex());
  draft->setStatus(schema::EvalStatus::PENDING);
  draft->setWait(strategy.getStagger());
  draft->setPreviousEval(eval_->getId());
  draft->setCreateTime(attempt.moment.now);
  draft->setModifyTime(attempt.moment.now);
  attempt.plan.evaluations.push_back(draft.freeze());
}

/// Waits for room, or for drained nodes. One evaluation does for all of them: it names one, and
/// whatever frees some of a node whose class is not known to be unfit wakes it. So it is made last,
/// when all classes are known.
void SystemScheduler::block(Attempt& attempt) {
  if (full_node_.empty()) return;
  attempt.plan.evaluations.push_back(outcome_.make_blocked(
      attempt.eligibility, attempt.moment.state.index(), attempt.moment.now, full_node_));
}

Placed SystemScheduler::place_one(Attempt& attempt,
                                  const SystemPlacement& placement,
                                  const NodeChoice& nodes) {
  const auto group = placement.group->name;
  MetricBuilder metrics;
  SelectRequest request;
  request.alloc_name = placement.name;
  request.may_preempt = attempt.options.preemption;
  const auto selection
      = attempt.selector->select_on(placement.node, *placement.group, request, metrics);
  auto& queued = queued_.find(group)->second;
  if (!selection && metrics.nodes_filtered() > 0) {
    // The job does not want this node: no failure, unless it wants none.
    --queued;
    if (eval_->getAnnotatePlan()) --changes(group).place;
    filtered_[std::string{group}].merge_filters(metrics);
    if (queued == 0 && !outcome_.coalesce(*placement.group))
      outcome_.fail(group, filtered_.find(group)->second);
    return Placed::unwanted;
  }
  metrics.set_nodes(static_cast<std::int64_t>(nodes.ready.size()), nodes.by_datacenter);
  if (!selection) {
    metrics.exhaust_resources(*placement.group);
    const bool is_first = !outcome_.coalesce(*placement.group);
    if (is_first) outcome_.fail(group, std::move(metrics));
    if (!is_first && !full_node_.empty()) return Placed::no_room;
    full_node_ = copy(placement.node->getId());
    outcome_.keep_failures();
    return Placed::no_room;
  }
  NewRow row;
  row.eval_id = view(eval_->getId());
  row.name = placement.name;
  row.job = attempt.job.get();
  row.group = placement.group;
  row.selection = &*selection;
  row.previous = placement.previous;
  row.canary = placement.canary;
  row.deployment_id = deployment_->deployment_of(group);
  row.metric_number = attempt.add_metric(group, view(placement.node->getId()), metrics);
  row.memory_oversubscription = attempt.options.memory_oversubscription;
  row.now = attempt.moment.now;
  changes(group).preemptions += selection->preempted.size();
  attempt.place(make_row(row, random_), group, selection->preempted);
  ++placed_[std::string{group}];
  return Placed::yes;
}

/// Work that waits for its node is as work that finds no room: the job is not over.
void SystemScheduler::wait_for(const DrainedWork& work, const NodeChoice& nodes) {
  ++queued_[std::string{work.group->name}];
  if (full_node_.empty()) full_node_ = work.node_id;
  if (outcome_.coalesce(*work.group)) return;
  MetricBuilder metrics;
  metrics.set_nodes(static_cast<std::int64_t>(nodes.ready.size()), nodes.by_datacenter);
  outcome_.fail(work.group->name, std::move(metrics));
}

Step SystemScheduler::conclude(Attempt& attempt) {
  for (const auto& [group, count] : queued_) {
    const auto placed = placed_.find(group);
    outcome_.set_queued(group, count - (placed == placed_.end() ? 0 : placed->second));
  }
  attempt.plan.desired_updates = desired_updates_;
  Step end;
  end.lacks_room = outcome_.has_failures();
  auto last = outcome_.finished(schema::EvalStatus::COMPLETE, {}, attempt.moment.now);
  if (!next_eval_.empty()) {
    Draft<schema::Evaluation> draft{last};
    draft->setNextEval(text(next_eval_));
    last = draft.freeze();
  }
  end.evaluations.push_back(last);
  if (attempt.plan.is_no_op()) {
    end.evaluations.insert(end.evaluations.begin(), attempt.plan.evaluations.begin(),
                           attempt.plan.evaluations.end());
    return end;
  }
  attempt.plan.completion = last;
  Step step;
  step.lacks_room = end.lacks_room;
  step.plan = std::move(attempt.plan);
  finished_ = std::move(end);
  return step;
}

}  // namespace

std::unique_ptr<Scheduler> make_system_scheduler(Object<schema::Evaluation> eval,
                                                 std::uint64_t salt,
                                                 bool is_sysbatch,
                                                 const Progress& before) {
  return std::make_unique<SystemScheduler>(std::move(eval), salt, is_sysbatch, before);
}

}  // namespace nomad::scheduler
