#include "runtime/scheduler/reconcile/group_reconciler.hpp"

#include <algorithm>

#include "runtime/base/ids.hpp"
#include "runtime/base/saturated.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/reconnecting.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

using schema::ClientStatus;
using schema::DesiredStatus;

/// Items due less than this after the first one share a follow-up evaluation.
constexpr std::int64_t followup_window = 5'000'000'000;

std::vector<std::string_view> names_of(const AllocSet& set) {
  std::vector<std::string_view> names;
  names.reserve(set.size());
  for (const auto* alloc : set)
    names.push_back(alloc->name());
  return names;
}

std::size_t as_count(std::int64_t count) {
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

bool is_running(const AllocEntry& alloc) {
  return alloc.alloc().client_status() == ClientStatus::RUNNING;
}

}  // namespace

Object<schema::Evaluation> make_followup(const ReconcileInput& input,
                                         const std::string& id,
                                         schema::EvalTrigger trigger,
                                         std::int64_t wait_until) {
  Draft<schema::Evaluation> draft;
  auto& eval = *draft;
  const auto job = input.job->reader();
  eval.setId(text(id));
  eval.setNamespace(job.getNamespace());
  eval.setPriority(input.eval_priority);
  eval.setType(job.getType());
  eval.setTriggeredBy(trigger);
  eval.setJobId(job.getId());
  eval.setJobModifyIndex(job.getModifyIndex());
  eval.setStatus(schema::EvalStatus::PENDING);
  eval.setStatusDescription(trigger == schema::EvalTrigger::MAX_DISCONNECT_TIMEOUT
                                ? "created for delayed disconnect timeout"
                                : "created for delayed rescheduling");
  eval.setPreviousEval(text(input.eval_id));
  eval.setWaitUntil(wait_until);
  eval.setCreateTime(input.now);
  eval.setModifyTime(input.now);
  return draft.freeze();
}

void ReconcileContext::stop(const AllocSet& set,
                            std::string_view description,
                            std::optional<ClientStatus> status) {
  for (const auto* alloc : set)
    result.stop.push_back({alloc, description, status, {}});
}

std::uint64_t stop_all(ReconcileContext& context, const AllocSet& all) {
  const auto sets = filter_by_taint(all, *context.input.tainted, context.input.now);
  const auto unknown = filtered(sets.ignore, [](const AllocEntry& alloc) {
    return alloc.alloc().client_status() == ClientStatus::UNKNOWN;
  });
  context.stop(sets.untainted, alloc_not_needed);
  context.stop(sets.migrate, alloc_not_needed);
  context.stop(sets.lost, alloc_lost, ClientStatus::LOST);
  context.stop(sets.disconnecting, alloc_not_needed);
  context.stop(sets.reconnecting, alloc_not_needed);
  context.stop(unknown, alloc_not_needed);
  return sets.untainted.size() + sets.migrate.size() + sets.lost.size() + sets.disconnecting.size()
         + sets.reconnecting.size() + unknown.size();
}

GroupReconciler::GroupReconciler(ReconcileContext& context, const GroupSpec& group)
    : context_{context},
      input_{context.input},
      group_{group},
      update_{group.group.getUpdate()},
      rolls_{group.group.hasUpdate() && update_.getMaxParallel() > 0},
      changes_{context.result.desired_updates[std::string{group.name}]} {}

bool GroupReconciler::is_canarying() const {
  return state_.desired_canaries != 0 && !state_.promoted;
}

bool GroupReconciler::run(AllocSet all) {
  begin_deployment_state();
  all = cancel_unneeded_canaries(drop_old_terminal(all));
  sort_out(all);
  names_.emplace(input_.job_id, group_.name, static_cast<std::uint64_t>(as_count(group_.count)),
                 names_of(united(united(untainted_, migrate_), united(reschedule_now_, missed_))));
  compute_stop();
  drop_needless_reschedules();
  compute_updates();
  if (!state_exists_)
    state_.desired_total += static_cast<std::int64_t>(destructive_.size() + in_place_.size());
  if (is_canarying()) untainted_ = difference(untainted_, canaries_);
  const bool needs_canaries = requires_canaries();
  if (needs_canaries) place_canaries();

  auto budget = under_provisioned();
  std::vector<PlaceRequest> place;
  if (!waits_for_clients_) {
    place = compute_placements();
    if (!state_exists_) state_.desired_total += static_cast<std::int64_t>(place.size());
  }
  const bool ready = !context_.deployment_paused && !context_.deployment_failed && !is_canarying();
  budget = compute_replacements(ready, place, budget);
  if (ready)
    compute_destructive(budget);
  else
    changes_.ignore += destructive_.size() + stood_in_.size();
  compute_migrations();
  create_deployment(all);
  if (needs_canaries && state_exists_ && context_.deployment)
    context_.deployment->groups[std::string{group_.name}] = state_;
  context_.result.name_indexes.emplace(group_.name, std::move(*names_));
  return is_complete(place.size(), needs_canaries);
}

void GroupReconciler::begin_deployment_state() {
  if (context_.deployment) {
    const auto known = context_.deployment->groups.find(group_.name);
    state_exists_ = known != context_.deployment->groups.end();
    if (state_exists_) state_ = known->second;
  }
  if (state_exists_ || !rolls_) return;
  state_.auto_revert = update_.getAutoRevert();
  state_.auto_promote = update_.getAutoPromote();
  state_.progress_deadline = update_.getProgressDeadline();
}

/// Finished work of an earlier version of a batch job is not looked at. Nor is what failed of a job
/// that was purged: in Nomad it takes a place of the next job of that name.
AllocSet GroupReconciler::drop_old_terminal(const AllocSet& all) {
  auto kept = filtered(all, [this](const AllocEntry& alloc) {
    if (!alloc.row->terminal()) return true;
    return input_.is_batch ? !is_older(alloc, *input_.job) : is_of(alloc, *input_.job);
  });
  changes_.ignore += all.size() - kept.size();
  return kept;
}

AllocSet GroupReconciler::cancel_unneeded_canaries(AllocSet all) {
  std::set<std::string_view> unneeded;
  std::set<std::string_view> current;
  const auto collect = [](const DeploymentDraft& from, bool unpromoted_only, auto& into) {
    for (const auto& [name, group] : from.groups) {
      if (unpromoted_only && group.promoted) continue;
      into.insert(group.placed_canaries.begin(), group.placed_canaries.end());
    }
  };
  if (context_.old_deployment) collect(*context_.old_deployment, true, unneeded);
  if (context_.deployment && context_.deployment_failed)
    collect(*context_.deployment, true, unneeded);
  // Of a deployment before those two: its node did not take the part of the plan that stopped it.
  const auto is_left_over = [this](const AllocEntry& alloc) {
    const auto id = alloc.alloc().deployment_id();
    return alloc.alloc().is_canary() && !alloc.row->terminal()
           && !(context_.deployment && context_.deployment->id == id)
           && !(context_.old_deployment && context_.old_deployment->id == id);
  };
  // One that was to be replaced is not: it is told so.
  const auto stopped = filtered(all, [&](const AllocEntry& alloc) {
    if (!unneeded.contains(alloc.id())) return is_left_over(alloc);
    return !alloc.row->server_terminal || alloc.alloc().desired_description() == alloc_rescheduled;
  });
  context_.stop(stopped, alloc_not_needed);
  changes_.stop += stopped.size();
  all = difference(all, stopped);

  if (!context_.deployment) return all;
  collect(*context_.deployment, false, current);
  const auto canaries
      = filtered(all, [&](const AllocEntry& alloc) { return current.contains(alloc.id()); });
  const auto sets = filter_by_taint(canaries, *input_.tainted, input_.now);
  context_.stop(sets.migrate, alloc_migrating);
  context_.stop(sets.lost, alloc_lost, ClientStatus::LOST);
  canaries_ = sets.untainted;
  absent_canaries_ = sets.disconnecting;
  returning_canaries_ = sets.reconnecting;
  return difference(all, united(sets.migrate, sets.lost));
}

/// The deployment whose watcher decides about failures in this group. It does not look at groups
/// that have no part in it: unlike in Nomad, these do not wait for its end.
std::string_view GroupReconciler::active_deployment() const {
  const bool watched
      = context_.deployment && state_exists_ && is_active(context_.deployment->status);
  return watched ? std::string_view{context_.deployment->id} : std::string_view{};
}

/// Sorts the group's allocations by what happens to them apart from the new job.
void GroupReconciler::sort_out(const AllocSet& all) {
  auto sets = filter_by_taint(all, *input_.tainted, input_.now);
  changes_.ignore += sets.ignore.size();
  migrate_ = std::move(sets.migrate);
  lost_ = std::move(sets.lost);
  disconnecting_ = std::move(sets.disconnecting);
  reconnecting_ = std::move(sets.reconnecting);
  const RescheduleInput reschedule{input_.is_batch, false, input_.now, input_.eval_id,
                                   active_deployment()};
  auto failed = filter_by_reschedule(sets.untainted, reschedule);
  untainted_ = std::move(failed.untainted);
  reschedule_now_ = std::move(failed.now);
  reschedule_later_ = std::move(failed.later);
  if (!reconnecting_.empty()) settle_reconnecting(all);
  if (!disconnecting_.empty()) settle_disconnecting();
  if (!lost_.empty()) settle_lost();
  settle_succeeded();
  missed_ = filtered(lost_, [this](const AllocEntry& alloc) {
    return !alloc.row->server_terminal && !has_successor(alloc);
  });
  mark_reschedule_later();
}

void GroupReconciler::settle_lost() {
  auto delayed = delayed_by_client_stop(lost_, input_.now);
  waits_for_clients_ = !delayed.empty();
  auto ids = make_followups(std::move(delayed), schema::EvalTrigger::ALLOC_FAILURE);
  lost_followups_.merge(ids);
}

// Allocations that wait: for their client to come back, for their reschedule time, or for a lost
// client to have stopped them.

/// One follow-up evaluation for each batch of items; the id of each item's.
GroupReconciler::Ids GroupReconciler::make_followups(std::vector<Delayed> delayed,
                                                     schema::EvalTrigger trigger) {
  std::ranges::stable_sort(delayed, {}, &Delayed::time);
  Ids ids;
  std::int64_t batch_start = 0;
  std::string id;
  for (const auto& item : delayed) {
    if (id.empty() || item.time - batch_start >= followup_window) {
      id = make_uuid(context_.random);
      batch_start = item.time;
      context_.result.followups.push_back(make_followup(input_, id, trigger, item.time));
    }
    ids.emplace(item.alloc, id);
  }
  return ids;
}

void GroupReconciler::mark_reschedule_later() {
  const auto ids = make_followups(reschedule_later_, schema::EvalTrigger::ALLOC_FAILURE);
  auto& updates = context_.result.row_updates;
  for (const auto& [alloc, id] : ids) {
    const auto pending = std::ranges::find(updates, alloc, &RowUpdate::alloc);
    if (pending == updates.end())
      updates.push_back({alloc, {}, {}, {}, id});
    else
      pending->followup_eval_id = id;
  }
}

/// Their clients are away: they become unknown, and some are replaced at once.
void GroupReconciler::settle_disconnecting() {
  const RescheduleInput reschedule{input_.is_batch, true, input_.now, input_.eval_id,
                                   active_deployment()};
  auto sets = filter_by_reschedule(disconnecting_, reschedule);
  std::ranges::sort(sets.now);
  reschedule_now_ = united(reschedule_now_, sets.now);
  untainted_ = united(untainted_, sets.untainted);
  reschedule_later_.insert(reschedule_later_.end(), sets.later.begin(), sets.later.end());

  std::vector<Delayed> timeouts;
  for (const auto* alloc : disconnecting_) {
    const auto rules = disconnect_rules_of(*alloc);      // of its version: is_expired
    if (!rules.lost_after || !rules.replaces) continue;  // it is never lost
    const auto since = last_unknown(*alloc);
    const auto from = since != 0 ? since : input_.now;
    timeouts.push_back({alloc, saturated_sum(from, *rules.lost_after)});
  }
  const auto ids = make_followups(std::move(timeouts), schema::EvalTrigger::MAX_DISCONNECT_TIMEOUT);
  for (const auto* alloc : disconnecting_) {
    const auto id = ids.find(alloc);
    context_.result.row_updates.push_back({alloc, ClientStatus::UNKNOWN, ClientStatus::UNKNOWN,
                                           alloc_unknown,
                                           id == ids.end() ? std::string{} : id->second});
    context_.disconnected.insert(alloc);
  }
}

bool GroupReconciler::must_stop_reconnecting(const AllocEntry& alloc) const {
  return alloc.alloc().desired_status() != DesiredStatus::RUN || alloc.alloc().wants_migration()
         || alloc.alloc().wants_reschedule() || alloc.alloc().forces_reschedule()
         || is_older(alloc, *input_.job);
}

/// Their clients are back: of each and its replacement, one stays.
void GroupReconciler::settle_reconnecting(const AllocSet& all) {
  std::set<const AllocEntry*> stopped;
  const auto strategy = disconnect_rules(group_.group).reconcile;
  const auto stop = [&](const AllocEntry* alloc, std::string_view description,
                        std::optional<ClientStatus> status = {}) {
    if (stopped.insert(alloc).second)
      context_.result.stop.push_back({alloc, description, status, {}});
  };
  for (const auto* original : reconnecting_) {
    if (!original->row->server_terminal
        && original->alloc().client_status() == ClientStatus::FAILED) {
      stop(original, alloc_rescheduled, ClientStatus::FAILED);
      continue;
    }
    if (must_stop_reconnecting(*original)) {
      stop(original, alloc_not_needed);
      continue;
    }
    // Unlike in Nomad a successor of its successor counts, too.
    const auto* replacement = next_of(*original);
    while (replacement != nullptr && replacement->row->server_terminal)
      replacement = next_of(*replacement);
    if (replacement == nullptr || !contains(all, replacement)) continue;
    if (prefers_replacement(*original, *replacement, strategy))
      stop(original, alloc_not_needed);
    else if (replacement->alloc().client_status() != ClientStatus::FAILED)
      stop(replacement, alloc_reconnected);
  }
  const AllocSet gone{stopped.begin(), stopped.end()};
  changes_.stop += gone.size();
  untainted_ = difference(untainted_, gone);
  migrate_ = difference(migrate_, gone);
  lost_ = difference(lost_, gone);
  disconnecting_ = difference(disconnecting_, gone);
  reschedule_now_ = difference(reschedule_now_, gone);
  const auto kept = difference(reconnecting_, gone);
  canaries_ = difference(united(canaries_, returning_canaries_), gone);
  mark_reconnected(kept);
  untainted_ = united(untainted_, kept);
}

/// Notes in their rows that the return of their client has been dealt with.
void GroupReconciler::mark_reconnected(const AllocSet& kept) {
  for (const auto* alloc : kept) {
    if (!is_running(*alloc)) continue;
    context_.result.row_updates.push_back({alloc, {}, ClientStatus::RUNNING, {}, {}});
  }
}

// What is out of date or missing.

void GroupReconciler::compute_updates() {
  for (const auto* alloc : untainted_) {
    switch (context_.decide(*alloc, group_)) {
      case UpdateKind::ignore:
        ++changes_.ignore;
        break;
      case UpdateKind::destructive:
        (has_stand_in(*alloc) ? stood_in_ : destructive_).push_back(alloc);
        break;
      case UpdateKind::in_place:
        in_place_.push_back(alloc);
        context_.result.in_place.push_back(alloc);
        break;
    }
  }
  changes_.in_place_update += in_place_.size();
}

/// Which canaries are to replace. Once they are awaited, unlike in Nomad, what moves or has failed
/// counts, too: it comes back as the old version, and without an evaluation that waits for them
/// they were forgotten.
AllocSet GroupReconciler::before_canaries() const {
  if (!is_canarying()) return destructive_;
  const auto replaced = united(united(migrate_, missed_), reschedule_now_);
  return united(destructive_, filtered(replaced, [this](const AllocEntry& alloc) {
                  return !alloc.alloc().is_canary()
                         && context_.decide(alloc, group_) == UpdateKind::destructive;
                }));
}

/// A group that is replaced at once has no deployment that could promote canaries.
bool GroupReconciler::requires_canaries() const {
  return rolls_ && !state_.promoted && !before_canaries().empty()
         && static_cast<std::int64_t>(canaries_.size()) < update_.getCanary();
}

void GroupReconciler::place_canaries() {
  state_.desired_canaries = update_.getCanary();
  if (context_.deployment_paused || context_.deployment_failed) return;
  const auto missing = as_count(update_.getCanary()) - canaries_.size();
  changes_.canary += missing;
  auto absent = absent_canaries_.begin();
  for (auto& name :
       names_->next_canaries(missing, names_of(canaries_), names_of(before_canaries()))) {
    PlaceRequest request;
    request.name = std::move(name);
    request.group = &group_;
    request.canary = true;
    // Of the two one stays when the client is back. Unlike in Nomad, which keeps both.
    if (absent != absent_canaries_.end()) request.previous = *absent++;
    context_.result.place.push_back(std::move(request));
  }
}

/// How many allocations may be replaced now.
std::size_t GroupReconciler::under_provisioned() const {
  if (!rolls_ || destructive_.size() + migrate_.size() == 0) return as_count(group_.count);
  const auto parallel = update_.getMaxParallel();
  if (!context_.deployment) return as_count(parallel);
  if (context_.deployment_paused || context_.deployment_failed || is_canarying()) return 0;
  std::int64_t budget = parallel;
  for (const auto* alloc : untainted_) {
    const auto row = alloc->alloc();
    if (row.deployment_id() != context_.deployment->id) continue;
    if (!row.health())
      --budget;
    else if (!*row.health())
      return 0;
  }
  return as_count(budget);
}

PlaceRequest GroupReconciler::replacement_of(const AllocEntry* previous) const {
  PlaceRequest request;
  request.name = previous->name();
  request.group = &group_;
  request.previous = previous;
  request.canary = previous->alloc().is_canary();
  request.downgrade = is_canarying() && !request.canary;
  request.min_job_version = previous->alloc().job_version();
  return request;
}

std::vector<PlaceRequest> GroupReconciler::compute_placements() {
  std::vector<PlaceRequest> place;
  for (const auto* alloc : reschedule_now_) {
    place.push_back(replacement_of(alloc));
    place.back().reschedule = true;
  }
  auto existing = untainted_.size() + migrate_.size() + reschedule_now_.size();
  const auto count = as_count(group_.count);
  for (const auto* alloc : missed_) {
    if (existing >= count) break;
    ++existing;
    place.push_back(replacement_of(alloc));
    place.back().lost = true;
  }
  if (existing >= count) return place;
  place.reserve(place.size() + count - existing);
  for (auto& name : names_->next(count - existing)) {
    PlaceRequest request;
    request.name = std::move(name);
    request.group = &group_;
    request.downgrade = is_canarying();
    place.push_back(std::move(request));
  }
  return place;
}

/// Accepts placements; returns how many destructive updates may still follow.
std::size_t GroupReconciler::compute_replacements(bool ready,
                                                  const std::vector<PlaceRequest>& place,
                                                  std::size_t budget) {
  if (!ready) {
    replace_despite_deployment(place);
    return budget;
  }
  const auto failed = filtered(reschedule_now_, [this](const AllocEntry& alloc) {
    return !context_.disconnected.contains(&alloc)
           && alloc.alloc().client_status() != ClientStatus::UNKNOWN;
  });
  changes_.place += place.size();
  context_.result.place.insert(context_.result.place.end(), place.begin(), place.end());
  context_.stop(failed, alloc_rescheduled);
  changes_.stop += failed.size();
  return budget - std::min(place.size(), budget);
}

/// Lost allocations are replaced even while the deployment holds everything else back, and failed
/// ones unless they are what made it fail.
void GroupReconciler::replace_despite_deployment(const std::vector<PlaceRequest>& place) {
  auto lost_left = missed_.size();
  for (const auto& request : place) {
    if (request.reschedule) {
      const auto* previous = request.previous;
      const bool of_failed_deployment
          = context_.deployment_failed && context_.deployment
            && previous->alloc().deployment_id() == context_.deployment->id;
      if (of_failed_deployment) continue;
      if (!context_.disconnected.contains(previous)) {
        context_.result.stop.push_back({previous, alloc_rescheduled, {}, {}});
        ++changes_.stop;
      }
    } else if (lost_left > 0) {
      --lost_left;
    } else {
      continue;
    }
    context_.result.place.push_back(request);
    ++changes_.place;
  }
}

void GroupReconciler::compute_destructive(std::size_t budget) {
  context_.stop(stood_in_, alloc_not_needed);
  changes_.stop += stood_in_.size();
  const auto now = std::min(destructive_.size(), budget);
  changes_.destructive_update += now;
  changes_.ignore += destructive_.size() - now;
  const auto ordered = by_name_index(destructive_);
  for (std::size_t i = 0; i < now; ++i) {
    PlaceRequest request;
    request.name = ordered[i]->name();
    request.group = &group_;
    request.previous = ordered[i];
    request.stop_previous = true;
    context_.result.destructive.push_back(std::move(request));
  }
}

void GroupReconciler::compute_migrations() {
  changes_.migrate += migrate_.size();
  for (const auto* alloc : by_name_index(migrate_)) {
    context_.result.stop.push_back({alloc, alloc_migrating, {}, {}});
    context_.result.place.push_back(replacement_of(alloc));
  }
}

void GroupReconciler::create_deployment(const AllocSet& all) {
  if (state_exists_ || !rolls_ || state_.desired_total == 0) return;
  const bool updates = !destructive_.empty() || !context_.result.in_place.empty();
  const auto version = input_.job->reader().getVersion();
  const auto incarnation = input_.job->reader().getCreateIndex();
  const bool ran_before = std::ranges::any_of(all, [&](const AllocEntry* alloc) {
    return alloc->alloc().job_version() == version
           && alloc->alloc().job_create_index() == incarnation;
  });
  if (ran_before && !updates) return;
  if (!context_.deployment) {
    context_.deployment.emplace();
    context_.deployment->id = make_uuid(context_.random);
    context_.deployment->description = "Deployment is running";
    context_.deployment_is_new = true;
  }
  context_.deployment->groups[std::string{group_.name}] = state_;
}

bool GroupReconciler::is_complete(std::size_t placements, bool needs_canaries) const {
  const auto pending = destructive_.size() + in_place_.size() + placements + migrate_.size()
                       + reschedule_now_.size() + reschedule_later_.size();
  if (pending > 0 || needs_canaries || !context_.deployment) return false;
  const auto known = context_.deployment->groups.find(group_.name);
  if (known == context_.deployment->groups.end()) return true;
  const auto& group = known->second;
  return group.healthy_allocs >= std::max(group.desired_total, group.desired_canaries)
         && (group.desired_canaries == 0 || group.promoted);
}

}  // namespace nomad::scheduler
