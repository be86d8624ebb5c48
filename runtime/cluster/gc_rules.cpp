#include "runtime/cluster/gc_rules.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "runtime/object/draft.hpp"
#include "runtime/object/job_kind.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::cluster {
namespace {

using schema::ClientStatus;
using schema::DesiredStatus;

constexpr std::int64_t second = 1'000'000'000;

/// What one turn of a search has chosen; no id twice.
struct Chosen {
  std::unordered_set<std::string> evals;
  std::unordered_set<std::string> allocs;
  std::vector<std::string> deployments;
  std::vector<std::pair<std::string, std::string>> jobs;
  std::vector<std::string> nodes;
  std::size_t acl_expiries = 0;  ///< Entries that remove expired tokens.
  std::int64_t acl_tokens_before = 0;
  std::int64_t one_time_tokens_before = 0;
};

/// A question about garbage: what had ended before `limit` (Unix nanoseconds) is old at `now`.
struct Age {
  Age(Nanoseconds threshold, std::int64_t at) : now{at}, limit{at - threshold.count()} {}

  bool is_old(std::int64_t ended) const { return ended <= limit; }

  std::int64_t now;
  std::int64_t limit;
};

bool is_batch(std::string_view type) {
  return type == "batch" || type == "sysbatch";
}

/// Whether the allocation's task is over, for those who wanted it and for the client as far as one
/// can know.
bool has_ended(const state::AllocRow& row) {
  if (row.client_terminal) return true;
  const auto status = row.alloc->client_status();
  return row.server_terminal && status != ClientStatus::RUNNING && status != ClientStatus::PENDING;
}

std::optional<schema::ReschedulePolicy::Reader> policy_of(const Object<schema::Job>& job,
                                                          std::string_view group_name) {
  const auto group = scheduler::find_group(*job, group_name);
  if (!group || !group->hasReschedulePolicy()) return std::nullopt;
  return group->getReschedulePolicy();
}

/// Whether a failed allocation still has to tell something: its replacement counts the attempts
/// before it.
bool awaits_replacement(AllocView alloc, const Object<schema::Job>& job, std::int64_t now) {
  const auto policy = policy_of(job, alloc.task_group());
  if (!policy || (!policy->getUnlimited() && policy->getAttempts() == 0)) return false;
  if (!alloc.next().empty()) return false;
  if (policy->getUnlimited()) return true;
  const auto events = alloc.reschedule_events();
  if (events.size() == 0) return true;
  return now - events[events.size() - 1].getRescheduleTime() <= policy->getInterval();
}

/// Whether an allocation of `job`, the one that its job's name has now, may be forgotten.
/// `with_job`: the job goes, too.
bool may_forget(const state::AllocRow& row,
                const Object<schema::Job>& job,
                const Age& age,
                bool with_job = false) {
  const auto alloc = *row.alloc;
  if (!has_ended(row) || !age.is_old(alloc.modify_time())) return false;
  if (!job || job->getCreateIndex() != alloc.job_create_index()) return true;
  const bool is_dead = view(job->getStatus()) == "dead";
  // What a batch task did is what says that its work is done: without it, a finished job that is
  // evaluated again does it again. Only older versions' is forgotten.
  if (is_batch(view(job->getType())))
    return (is_dead && (job->getStop() || with_job))
           || alloc.create_index() < job->getJobModifyIndex();
  if (is_dead || job->getStop() || alloc.desired_status() == DesiredStatus::STOP) return true;
  if (alloc.client_status() != ClientStatus::FAILED) return true;
  return !awaits_replacement(alloc, job, age.now);
}

Object<schema::Job> job_of(const state::Snapshot& snapshot, AllocView alloc) {
  return snapshot.job(alloc.ns(), alloc.job_id());
}

/// One turn of a search: what it looks at, what it has chosen, and what it may still look at.
struct Turn {
  const state::Snapshot& snapshot;
  const GcThresholds& thresholds;
  std::int64_t now;
  std::size_t rows_left;
  Chosen chosen = {};

  bool is_over() const { return rows_left == 0; }

  void spend(std::size_t rows) { rows_left -= std::min(rows, rows_left); }

  Age age(Nanoseconds threshold) const { return {threshold, now}; }
};

void choose_eval(Turn& turn, schema::Evaluation::Reader eval) {
  if (!state::is_terminal(eval.getStatus())) return;
  const auto age = turn.age(is_batch(view(eval.getType())) ? turn.thresholds.batch_eval
                                                           : turn.thresholds.eval);
  if (!age.is_old(eval.getModifyTime())) return;
  bool all = true;
  const auto rows = turn.snapshot.allocs_by_eval(view(eval.getId()));
  turn.spend(rows.size());
  for (const auto& row : rows) {
    const bool free = may_forget(*row, job_of(turn.snapshot, *row->alloc), age);
    all &= free;
    if (free) turn.chosen.allocs.insert(std::string{row->alloc->id()});
  }
  if (all) turn.chosen.evals.insert(copy(eval.getId()));
}

/// An allocation goes by itself if its evaluation is gone already.
void choose_orphan(Turn& turn, const state::AllocRow& row) {
  if (!row.terminal() || turn.snapshot.eval(row.alloc->eval_id())) return;
  if (may_forget(row, job_of(turn.snapshot, *row.alloc), turn.age(turn.thresholds.eval)))
    turn.chosen.allocs.insert(std::string{row.alloc->id()});
}

/// When a deployment ended, as far as one can tell, for it has no time of its own: when its version
/// was submitted or the next one, when its allocations last changed, when it was last evaluated.
std::int64_t end_of(Turn& turn,
                    schema::Deployment::Reader deployment,
                    const std::vector<state::AllocRef>& rows) {
  const auto ns = view(deployment.getNamespace());
  const auto job_id = view(deployment.getJobId());
  std::int64_t end = 0;
  if (const auto job = turn.snapshot.job(ns, job_id)) end = job->getSubmitTime();
  for (const auto& row : rows)
    end = std::max(end, row->alloc->modify_time());
  for (const auto& entry : turn.snapshot.evals_by_job(ns, job_id)) {
    turn.spend(1);
    if (view(entry.value()->getDeploymentId()) == view(deployment.getId()))
      end = std::max(end, entry.value()->getModifyTime());
  }
  return end;
}

void choose_deployment(Turn& turn, schema::Deployment::Reader deployment) {
  if (state::is_active(deployment.getStatus())) return;
  const auto rows = turn.snapshot.allocs_by_deployment(view(deployment.getId()));
  turn.spend(rows.size());
  if (!turn.age(turn.thresholds.deployment).is_old(end_of(turn, deployment, rows))) return;
  if (std::ranges::all_of(rows, [](const auto& row) { return row->terminal(); }))
    turn.chosen.deployments.push_back(copy(deployment.getId()));
}

/// Whether a job of this kind is over without anybody having to stop it again. A parent ends by
/// being stopped alone; services that died have failed, and are there to be looked at.
bool may_forget(schema::Job::Reader job) {
  if (job.hasPeriodic() || is_parameterized(job)) return job.getStop();
  return view(job.getStatus()) == "dead" && (job.getStop() || is_batch(view(job.getType())));
}

/// Whether somebody has named a version of the job, so that it is kept.
bool has_tag(Turn& turn, std::string_view ns, std::string_view id) {
  const auto versions = turn.snapshot.job_versions(ns, id);
  turn.spend(versions.size());
  return std::ranges::any_of(versions,
                             [](const auto& version) { return version->hasVersionTag(); });
}

/// A job goes with all of its evaluations and allocations, or with none of them.
void choose_job(Turn& turn, const Object<schema::Job>& job) {
  const auto age = turn.age(turn.thresholds.job);
  if (!may_forget(*job) || !age.is_old(job->getSubmitTime())) return;
  const auto ns = view(job->getNamespace());
  const auto id = view(job->getId());
  if (has_tag(turn, ns, id)) return;
  std::vector<std::string> evals;
  std::vector<std::string> allocs;
  for (const auto& entry : turn.snapshot.evals_by_job(ns, id)) {
    const auto eval = *entry.value();
    turn.spend(1);
    if (!state::is_terminal(eval.getStatus()) || !age.is_old(eval.getModifyTime())) return;
    evals.push_back(copy(eval.getId()));
  }
  for (const auto& entry : turn.snapshot.allocs_by_job(ns, id)) {
    const auto& row = *entry.value();
    turn.spend(1);
    if (!may_forget(row, job, age, true)) return;
    allocs.push_back(std::string{row.alloc->id()});
  }
  turn.chosen.evals.insert(evals.begin(), evals.end());
  turn.chosen.allocs.insert(allocs.begin(), allocs.end());
  turn.chosen.jobs.emplace_back(copy(job->getNamespace()), copy(job->getId()));
}

void choose_node(Turn& turn, schema::Node::Reader node) {
  if (node.getStatus() != schema::NodeStatus::DOWN
      || !turn.age(turn.thresholds.node).is_old(node.getStatusUpdatedAt() * second))
    return;
  for (const auto& row : turn.snapshot.allocs_by_node(view(node.getId()))) {
    turn.spend(1);
    if (!row.value()->terminal()) return;
  }
  turn.chosen.nodes.push_back(copy(node.getId()));
}

/// Goes on through a table, with the row whose key is `from`, until the turn is over or the table
/// is. True: nothing is left of it.
template <class Map, class Look>
bool walk(const Map& map, Turn& turn, std::string& from, Look look) {
  for (auto at = map.lower_bound(from); at.valid(); at.next()) {
    if (turn.is_over()) {
      from = at.key();
      return false;
    }
    turn.spend(1);
    look(at.value());
  }
  from.clear();
  return true;
}

/// How many of an order by times, which the keys begin with, are before `time`, as far as the turn
/// may look.
std::size_t count_before(Turn& turn,
                         const state::PersistentMap<state::Nothing>& by_time,
                         std::int64_t time) {
  if (time <= 0) return 0;
  const auto end = state::number_key(static_cast<std::uint64_t>(time));
  std::size_t count = 0;
  for (auto at = by_time.lower_bound("");
       at.valid() && at.key() < std::string_view{end} && !turn.is_over(); at.next()) {
    turn.spend(1);
    ++count;
  }
  return count;
}

/// Which tokens have expired, the log finds anew: as many entries as they take. False if the turn
/// was over before: the next one counts those that are left.
bool choose_acl_tokens(Turn& turn) {
  const auto& tables = turn.snapshot.tables();
  const auto before = turn.now - turn.thresholds.acl_token.count();
  const auto most = std::max(count_before(turn, tables.acl_tokens_by_expiry, before),
                             count_before(turn, tables.acl_one_time_tokens_by_expiry, turn.now));
  turn.chosen.acl_tokens_before = before;
  turn.chosen.one_time_tokens_before = turn.now;
  turn.chosen.acl_expiries = (most + most_reaped_ids - 1) / most_reaped_ids;
  return !turn.is_over();
}

bool walk_kind(Turn& turn, GarbageSearch::Kind kind, std::string& from) {
  using enum GarbageSearch::Kind;
  const auto& state = turn.snapshot;
  switch (kind) {
    case jobs:
      return walk(state.jobs_map(), turn, from, [&](const auto& job) { choose_job(turn, job); });
    case acl_tokens:
      return choose_acl_tokens(turn);
    case evals:
      return walk(state.evals_map(), turn, from, [&](const auto& one) { choose_eval(turn, *one); });
    case allocs:
      return walk(state.allocs_map(), turn, from,
                  [&](const auto& row) { choose_orphan(turn, *row); });
    case deployments:
      return walk(state.deployments_map(), turn, from,
                  [&](const auto& one) { choose_deployment(turn, *one); });
    case nodes:
      return walk(state.nodes_map(), turn, from, [&](const auto& one) { choose_node(turn, *one); });
  }
  return true;
}

/// Commands of at most `most_reaped_ids` each; sorted, so that equal states make equal entries.
template <class Ids, class Fill>
void in_batches(const Ids& chosen, std::vector<Object<schema::Command>>& out, Fill fill) {
  std::vector<std::string> ids{chosen.begin(), chosen.end()};
  std::ranges::sort(ids);
  for (std::size_t from = 0; from < ids.size(); from += most_reaped_ids) {
    const auto count = static_cast<unsigned>(std::min(most_reaped_ids, ids.size() - from));
    Draft<schema::Command> draft;
    auto list = fill(*draft, count);
    for (unsigned i = 0; i < count; ++i)
      list.set(i, text(ids[from + i]));
    out.push_back(draft.freeze());
  }
}

void reap_jobs(const Chosen& chosen, std::vector<Object<schema::Command>>& out) {
  for (std::size_t from = 0; from < chosen.jobs.size(); from += most_reaped_ids) {
    const auto count = static_cast<unsigned>(std::min(most_reaped_ids, chosen.jobs.size() - from));
    Draft<schema::Command> draft;
    auto jobs = draft->initJobsReap().initJobs(count);
    for (unsigned i = 0; i < count; ++i) {
      jobs[i].setNamespace(text(chosen.jobs[from + i].first));
      jobs[i].setId(text(chosen.jobs[from + i].second));
    }
    out.push_back(draft.freeze());
  }
}

std::vector<Object<schema::Command>> entries_for(const Chosen& chosen) {
  std::vector<Object<schema::Command>> commands;
  in_batches(chosen.allocs, commands, [](auto command, unsigned count) {
    return command.initReap().initAllocationIds(count);
  });
  in_batches(chosen.evals, commands, [](auto command, unsigned count) {
    return command.initReap().initEvaluationIds(count);
  });
  in_batches(chosen.deployments, commands, [](auto command, unsigned count) {
    return command.initReap().initDeploymentIds(count);
  });
  reap_jobs(chosen, commands);
  for (std::size_t i = 0; i < chosen.acl_expiries; ++i) {
    Draft<schema::Command> draft;
    auto expire = draft->initAclExpire();
    expire.setTokensBefore(chosen.acl_tokens_before);
    expire.setOneTimeTokensBefore(chosen.one_time_tokens_before);
    expire.setLimit(most_reaped_ids);
    commands.push_back(draft.freeze());
  }
  in_batches(chosen.nodes, commands, [](auto command, unsigned count) {
    return command.initNodeDeregister().initNodeIds(count);
  });
  return commands;
}

}  // namespace

GcThresholds GcThresholds::none() {
  constexpr Nanoseconds zero{0};
  return {zero, zero, zero, zero, zero, zero};
}

GarbageSearch::GarbageSearch(const GcThresholds& thresholds, GcKinds kinds)
    : thresholds_{thresholds} {
  if (kinds.jobs) ahead_ = {Kind::jobs};
  if (kinds.others)
    ahead_.insert(ahead_.end(),
                  {Kind::acl_tokens, Kind::evals, Kind::allocs, Kind::deployments, Kind::nodes});
}

std::vector<Object<schema::Command>> GarbageSearch::turn(const state::Snapshot& snapshot,
                                                         std::int64_t now,
                                                         std::size_t rows) {
  Turn turn{snapshot, thresholds_, now, rows};
  while (!is_done() && !turn.is_over() && walk_kind(turn, ahead_.front(), from_))
    ahead_.pop_front();
  return entries_for(turn.chosen);
}

std::vector<Object<schema::Command>> collect_garbage(const state::Snapshot& snapshot,
                                                     const GcThresholds& thresholds,
                                                     std::int64_t now,
                                                     GcKinds kinds) {
  return GarbageSearch{thresholds, kinds}.turn(snapshot, now,
                                               std::numeric_limits<std::size_t>::max());
}

Result<Decisions> decide_collect_garbage(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::int64_t now) {
  return Decisions{NOMAD_TRY(access::authorize(asking, {})),
                   collect_garbage(snapshot, GcThresholds::none(), now)};
}

}  // namespace nomad::cluster
