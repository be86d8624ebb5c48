#include "runtime/cluster/gc_rules.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::cluster {
namespace {

using schema::ClientStatus;
using schema::DesiredStatus;

constexpr std::int64_t second = 1'000'000'000;

/// Everything chosen so far; no id twice.
struct Chosen {
  std::unordered_set<std::string> evals;
  std::unordered_set<std::string> allocs;
  std::vector<std::string> deployments;
  std::vector<std::pair<std::string, std::string>> jobs;
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
  const auto status = row.alloc->getClientStatus();
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
bool awaits_replacement(schema::Allocation::Reader alloc,
                        const Object<schema::Job>& job,
                        std::int64_t now) {
  const auto policy = policy_of(job, view(alloc.getTaskGroup()));
  if (!policy || (!policy->getUnlimited() && policy->getAttempts() == 0)) return false;
  if (alloc.getNextAllocation().size() > 0) return false;
  if (policy->getUnlimited()) return true;
  const auto events = alloc.getRescheduleTracker().getEvents();
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
  if (!has_ended(row) || !age.is_old(alloc.getModifyTime())) return false;
  if (!job || job->getCreateIndex() != alloc.getJobCreateIndex()) return true;
  const bool is_dead = view(job->getStatus()) == "dead";
  // What a batch task did is what says that its work is done: without it, a finished job that is
  // evaluated again does it again. Only older versions' is forgotten.
  if (is_batch(view(job->getType())))
    return (is_dead && (job->getStop() || with_job))
           || alloc.getCreateIndex() < job->getJobModifyIndex();
  if (is_dead || job->getStop() || alloc.getDesiredStatus() == DesiredStatus::STOP) return true;
  if (alloc.getClientStatus() != ClientStatus::FAILED) return true;
  return !awaits_replacement(alloc, job, age.now);
}

Object<schema::Job> job_of(const state::Snapshot& snapshot, schema::Allocation::Reader alloc) {
  return snapshot.job(view(alloc.getNamespace()), view(alloc.getJobId()));
}

void choose_evals(const state::Snapshot& snapshot,
                  const GcThresholds& thresholds,
                  std::int64_t now,
                  Chosen& chosen) {
  for (const auto& entry : snapshot.evals()) {
    const auto eval = *entry.value();
    if (!state::is_terminal(eval.getStatus())) continue;
    const Age age{is_batch(view(eval.getType())) ? thresholds.batch_eval : thresholds.eval, now};
    if (!age.is_old(eval.getModifyTime())) continue;
    bool all = true;
    for (const auto& row : snapshot.allocs_by_eval(view(eval.getId()))) {
      const bool free = may_forget(*row, job_of(snapshot, *row->alloc), age);
      all &= free;
      if (free) chosen.allocs.insert(copy(row->alloc->getId()));
    }
    if (all) chosen.evals.insert(copy(eval.getId()));
  }
}

/// Allocations whose evaluation is gone already.
void choose_orphans(const state::Snapshot& snapshot,
                    const GcThresholds& thresholds,
                    std::int64_t now,
                    Chosen& chosen) {
  for (const auto& entry : snapshot.allocs()) {
    const auto& row = *entry.value();
    if (!row.terminal() || snapshot.eval(view(row.alloc->getEvalId()))) continue;
    if (may_forget(row, job_of(snapshot, *row.alloc), Age{thresholds.eval, now}))
      chosen.allocs.insert(copy(row.alloc->getId()));
  }
}

/// When a deployment ended, as far as one can tell, for it has no time of its own: when its version
/// was submitted or the next one, when its allocations last changed, when it was last evaluated.
std::int64_t end_of(const state::Snapshot& snapshot, schema::Deployment::Reader deployment) {
  const auto ns = view(deployment.getNamespace());
  const auto job_id = view(deployment.getJobId());
  const auto id = view(deployment.getId());
  std::int64_t end = 0;
  if (const auto job = snapshot.job(ns, job_id)) end = job->getSubmitTime();
  for (const auto& row : snapshot.allocs_by_deployment(id))
    end = std::max(end, row->alloc->getModifyTime());
  for (const auto& entry : snapshot.evals_by_job(ns, job_id))
    if (view(entry.value()->getDeploymentId()) == id)
      end = std::max(end, entry.value()->getModifyTime());
  return end;
}

void choose_deployments(const state::Snapshot& snapshot,
                        const GcThresholds& thresholds,
                        std::int64_t now,
                        Chosen& chosen) {
  const Age age{thresholds.deployment, now};
  for (const auto& entry : snapshot.deployments()) {
    const auto deployment = *entry.value();
    if (state::is_active(deployment.getStatus()) || !age.is_old(end_of(snapshot, deployment)))
      continue;
    const auto rows = snapshot.allocs_by_deployment(view(deployment.getId()));
    if (std::ranges::all_of(rows, [](const auto& row) { return row->terminal(); }))
      chosen.deployments.push_back(copy(deployment.getId()));
  }
}

/// Whether a job of this kind is over without anybody having to stop it again. A parent ends by
/// being stopped alone; services that died have failed, and are there to be looked at.
bool may_forget(schema::Job::Reader job) {
  if (job.hasPeriodic() || job.hasParameterizedJob()) return job.getStop();
  return view(job.getStatus()) == "dead" && (job.getStop() || is_batch(view(job.getType())));
}

/// Jobs, each with all of its evaluations and allocations, or none of them.
void choose_jobs(const state::Snapshot& snapshot,
                 const GcThresholds& thresholds,
                 std::int64_t now,
                 Chosen& chosen) {
  const Age age{thresholds.job, now};
  for (const auto& entry : snapshot.jobs()) {
    const auto& job = entry.value();
    if (!may_forget(*job) || !age.is_old(job->getSubmitTime())) continue;
    const auto ns = view(job->getNamespace());
    const auto id = view(job->getId());
    const auto evals = snapshot.evals_by_job(ns, id);
    const auto allocs = snapshot.allocs_by_job(ns, id);
    bool free = true;
    for (const auto& eval : evals)
      free = free && state::is_terminal(eval.value()->getStatus())
             && age.is_old(eval.value()->getModifyTime());
    for (const auto& row : allocs)
      free = free && may_forget(*row.value(), job, age, true);
    if (!free) continue;
    for (const auto& eval : evals)
      chosen.evals.insert(copy(eval.value()->getId()));
    for (const auto& row : allocs)
      chosen.allocs.insert(copy(row.value()->alloc->getId()));
    chosen.jobs.emplace_back(copy(job->getNamespace()), copy(job->getId()));
  }
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

std::vector<std::string> choose_nodes(const state::Snapshot& snapshot,
                                      const GcThresholds& thresholds,
                                      std::int64_t now) {
  const Age age{thresholds.node, now};
  std::vector<std::string> ids;
  for (const auto& entry : snapshot.nodes()) {
    const auto node = *entry.value();
    if (node.getStatus() != schema::NodeStatus::DOWN
        || !age.is_old(node.getStatusUpdatedAt() * second))
      continue;
    const auto rows = snapshot.allocs_by_node(view(node.getId()));
    bool in_use = false;
    for (const auto& row : rows)
      in_use = in_use || !row.value()->terminal();
    if (!in_use) ids.push_back(copy(node.getId()));
  }
  return ids;
}

}  // namespace

GcThresholds GcThresholds::none() {
  constexpr Nanoseconds zero{0};
  return {zero, zero, zero, zero, zero};
}

std::vector<Object<schema::Command>> collect_garbage(const state::Snapshot& snapshot,
                                                     const GcThresholds& thresholds,
                                                     std::int64_t now,
                                                     GcKinds kinds) {
  Chosen chosen;
  if (kinds.jobs) choose_jobs(snapshot, thresholds, now, chosen);
  if (kinds.others) {
    choose_evals(snapshot, thresholds, now, chosen);
    choose_orphans(snapshot, thresholds, now, chosen);
    choose_deployments(snapshot, thresholds, now, chosen);
  }
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
  if (kinds.others)
    in_batches(choose_nodes(snapshot, thresholds, now), commands, [](auto command, unsigned count) {
      return command.initNodeDeregister().initNodeIds(count);
    });
  return commands;
}

}  // namespace nomad::cluster
