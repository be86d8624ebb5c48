// The parts of GroupReconciler about allocations that wait: for their client to come back, for
// their reschedule time, or for a lost client to have stopped them.
#include <algorithm>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/group_reconciler.hpp"

namespace nomad::scheduler {
namespace {

using schema::ClientStatus;
using schema::DesiredStatus;

/// Items due within this time of the first one share a follow-up evaluation.
constexpr std::int64_t followup_window = 5'000'000'000;

std::optional<double> best_score(const AllocEntry& alloc) {
  if (!alloc.row->metric) return std::nullopt;
  std::optional<double> best;
  for (const auto node : alloc.row->metric->getScoreMetaData())
    best = best ? std::max(*best, node.getNormScore()) : node.getNormScore();
  return best;
}

bool is_running(const AllocEntry& alloc) {
  return alloc.alloc().getClientStatus() == ClientStatus::RUNNING;
}

/// Whether the replacement is kept rather than the original that came back. The original is
/// preferred: it must be older, or worse placed and not the only one that runs.
bool prefers_replacement(const AllocEntry& original, const AllocEntry& replacement) {
  if (replacement.alloc().getJobVersion() > original.alloc().getJobVersion()
      || replacement.alloc().getJobCreateIndex() > original.alloc().getJobCreateIndex())
    return true;
  const auto old_score = best_score(original);
  const auto new_score = best_score(replacement);
  const bool better = new_score && (!old_score || *new_score > *old_score);
  return better && (is_running(replacement) || !is_running(original));
}

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

}  // namespace

/// One follow-up evaluation for each batch of items; the id of each item's.
GroupReconciler::Ids GroupReconciler::make_followups(std::vector<Delayed> delayed,
                                                     schema::EvalTrigger trigger) {
  std::ranges::stable_sort(delayed, {}, &Delayed::time);
  Ids ids;
  std::int64_t batch_start = 0;
  std::string id;
  for (const auto& item : delayed) {
    if (id.empty() || item.time - batch_start > followup_window) {
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
  RescheduleInput reschedule{input_.is_batch, true, input_.now, input_.eval_id, {}};
  if (context_.deployment && is_active(context_.deployment->status))
    reschedule.active_deployment = context_.deployment->id;
  auto sets = filter_by_reschedule(disconnecting_, reschedule);
  std::ranges::sort(sets.now);
  reschedule_now_ = united(reschedule_now_, sets.now);
  untainted_ = united(untainted_, sets.untainted);
  reschedule_later_.insert(reschedule_later_.end(), sets.later.begin(), sets.later.end());

  std::vector<Delayed> timeouts;
  for (const auto* alloc : disconnecting_) {
    const auto tolerated = group_.group.getMaxClientDisconnect();
    const auto since = last_unknown(*alloc);
    const auto from = since != 0 ? since : input_.now;
    timeouts.push_back({alloc, from + (tolerated.isValue() ? tolerated.getValue() : 0)});
  }
  const auto ids = make_followups(std::move(timeouts), schema::EvalTrigger::MAX_DISCONNECT_TIMEOUT);
  for (const auto& [alloc, id] : ids) {
    context_.result.row_updates.push_back(
        {alloc, ClientStatus::UNKNOWN, ClientStatus::UNKNOWN, alloc_unknown, id});
    context_.disconnected.insert(alloc);
  }
}

bool GroupReconciler::must_stop_reconnecting(const AllocEntry& alloc) const {
  return alloc.alloc().getDesiredStatus() != DesiredStatus::RUN || wants_migration(alloc)
         || wants_reschedule(alloc) || forces_reschedule(alloc) || is_older(alloc, *input_.job);
}

/// Their clients are back: of each and its replacement, one stays.
void GroupReconciler::settle_reconnecting(const AllocSet& all) {
  std::set<const AllocEntry*> stopped;
  const auto stop = [&](const AllocEntry* alloc, std::string_view description,
                        std::optional<ClientStatus> status = {}) {
    if (stopped.insert(alloc).second)
      context_.result.stop.push_back({alloc, description, status, {}});
  };
  for (const auto* original : reconnecting_) {
    if (!original->row->server_terminal
        && original->alloc().getClientStatus() == ClientStatus::FAILED) {
      stop(original, alloc_rescheduled, ClientStatus::FAILED);
      continue;
    }
    if (must_stop_reconnecting(*original)) {
      stop(original, alloc_not_needed);
      continue;
    }
    const auto next = view(original->alloc().getNextAllocation());
    for (const auto* replacement : all) {
      if (replacement->id() != next || replacement->row->server_terminal) continue;
      if (prefers_replacement(*original, *replacement))
        stop(original, alloc_not_needed);
      else if (replacement->alloc().getClientStatus() != ClientStatus::FAILED)
        stop(replacement, alloc_reconnected);
    }
  }
  const AllocSet gone{stopped.begin(), stopped.end()};
  changes_.stop += gone.size();
  untainted_ = difference(untainted_, gone);
  migrate_ = difference(migrate_, gone);
  lost_ = difference(lost_, gone);
  disconnecting_ = difference(disconnecting_, gone);
  reschedule_now_ = difference(reschedule_now_, gone);
  const auto kept = difference(reconnecting_, gone);
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

}  // namespace nomad::scheduler
