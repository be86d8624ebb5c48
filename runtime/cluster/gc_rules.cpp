#include "runtime/cluster/gc_rules.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

using schema::DesiredStatus;
using schema::EvalStatus;

/// Everything chosen so far.
struct Chosen {
  std::vector<std::string> evals;
  std::vector<std::string> allocs;
  std::vector<std::string> deployments;
  std::vector<std::pair<std::string, std::string>> jobs;
};

bool is_old(std::int64_t ended, Nanoseconds threshold, std::int64_t now) {
  return ended <= now - threshold.count();
}

bool has_ended(schema::Evaluation::Reader eval) {
  return eval.getStatus() != EvalStatus::PENDING && eval.getStatus() != EvalStatus::BLOCKED;
}

/// Whether an allocation may be forgotten: its task is over and nobody will look for its successor.
bool may_forget(const state::AllocRow& row,
                const state::Snapshot& snapshot,
                Nanoseconds threshold,
                std::int64_t now) {
  if (!row.client_terminal) return false;
  if (!is_old(row.alloc->getModifyTime(), threshold, now)) return false;
  const auto job = snapshot.job(view(row.alloc->getNamespace()), view(row.alloc->getJobId()));
  if (!job || job->getStop() || view(job->getStatus()) == "dead") return true;
  if (job->getCreateIndex() != row.alloc->getJobCreateIndex()) return true;
  if (row.alloc->getDesiredStatus() != DesiredStatus::RUN) return true;
  // A finished batch task is what says that its work is done; a failed one counts its attempts.
  const bool batch = view(job->getType()) == "batch" || view(job->getType()) == "sysbatch";
  return !batch && row.alloc->getNextAllocation().size() > 0;
}

void choose_evals(const state::Snapshot& snapshot,
                  const GcThresholds& thresholds,
                  std::int64_t now,
                  Chosen& chosen) {
  for (const auto& entry : snapshot.evals()) {
    const auto eval = *entry.value();
    if (!has_ended(eval)) continue;
    const bool batch = view(eval.getType()) == "batch" || view(eval.getType()) == "sysbatch";
    const auto threshold = batch ? thresholds.batch_eval : thresholds.eval;
    if (!is_old(eval.getModifyTime(), threshold, now)) continue;
    const auto allocs = snapshot.allocs_by_eval(view(eval.getId()));
    bool all = true;
    for (const auto& row : allocs) {
      const bool free = may_forget(*row, snapshot, threshold, now);
      all &= free;
      if (free) chosen.allocs.push_back(copy(row->alloc->getId()));
    }
    if (all) chosen.evals.push_back(copy(eval.getId()));
  }
}

/// Allocations whose evaluation is gone already.
void choose_orphans(const state::Snapshot& snapshot,
                    const GcThresholds& thresholds,
                    std::int64_t now,
                    Chosen& chosen) {
  for (const auto& entry : snapshot.allocs()) {
    const auto& row = *entry.value();
    if (!row.client_terminal || snapshot.eval(view(row.alloc->getEvalId()))) continue;
    if (may_forget(row, snapshot, thresholds.eval, now))
      chosen.allocs.push_back(copy(row.alloc->getId()));
  }
}

void choose_deployments(const state::Snapshot& snapshot,
                        const GcThresholds& thresholds,
                        std::int64_t now,
                        Chosen& chosen) {
  const std::unordered_set<std::string> going{chosen.allocs.begin(), chosen.allocs.end()};
  for (const auto& entry : snapshot.deployments()) {
    const auto deployment = *entry.value();
    if (deployment.getStatus() < schema::DeploymentState::SUCCESSFUL) continue;
    const auto job = snapshot.job(view(deployment.getNamespace()), view(deployment.getJobId()));
    // Deployments carry no time of their end; their job's submission is the nearest there is.
    if (job && !is_old(job->getSubmitTime(), thresholds.deployment, now)) continue;
    bool in_use = false;
    for (const auto& row : snapshot.allocs_by_deployment(view(deployment.getId())))
      in_use |= !row->terminal() && !going.contains(copy(row->alloc->getId()));
    if (!in_use) chosen.deployments.push_back(copy(deployment.getId()));
  }
}

void choose_jobs(const state::Snapshot& snapshot,
                 const GcThresholds& thresholds,
                 std::int64_t now,
                 Chosen& chosen) {
  const std::unordered_set<std::string> evals{chosen.evals.begin(), chosen.evals.end()};
  const std::unordered_set<std::string> allocs{chosen.allocs.begin(), chosen.allocs.end()};
  for (const auto& entry : snapshot.jobs()) {
    const auto job = *entry.value();
    if (view(job.getStatus()) != "dead" || !is_old(job.getSubmitTime(), thresholds.job, now))
      continue;
    const bool is_parent = job.hasPeriodic() || job.hasParameterizedJob();
    if (is_parent && !job.getStop()) continue;
    bool in_use = false;
    for (const auto& eval : snapshot.evals_by_job(view(job.getNamespace()), view(job.getId())))
      in_use |= !evals.contains(copy(eval.value()->getId()));
    for (const auto& row : snapshot.allocs_by_job(view(job.getNamespace()), view(job.getId())))
      in_use |= !allocs.contains(copy(row.value()->alloc->getId()));
    if (!in_use) chosen.jobs.emplace_back(copy(job.getNamespace()), copy(job.getId()));
  }
}

template <class Fill>
void in_batches(const std::vector<std::string>& ids,
                std::vector<Object<schema::Command>>& out,
                Fill fill) {
  for (std::size_t from = 0; from < ids.size(); from += most_reaped_ids) {
    const auto count = static_cast<unsigned>(std::min(most_reaped_ids, ids.size() - from));
    Draft<schema::Command> draft;
    auto list = fill(draft->initReap(), count);
    for (unsigned i = 0; i < count; ++i)
      list.set(i, text(ids[from + i]));
    out.push_back(draft.freeze());
  }
}

void reap_nodes(const state::Snapshot& snapshot,
                const GcThresholds& thresholds,
                std::int64_t now,
                std::vector<Object<schema::Command>>& out) {
  std::vector<std::string> ids;
  for (const auto& entry : snapshot.nodes()) {
    const auto node = *entry.value();
    if (node.getStatus() != schema::NodeStatus::DOWN
        || !is_old(node.getStatusUpdatedAt() * 1'000'000'000, thresholds.node, now))
      continue;
    bool in_use = false;
    for (const auto& row : snapshot.allocs_by_node(view(node.getId())))
      in_use |= !row.value()->terminal();
    if (!in_use) ids.push_back(copy(node.getId()));
  }
  if (ids.empty()) return;
  Draft<schema::Command> draft;
  auto list = draft->initNodeDeregister().initNodeIds(static_cast<unsigned>(ids.size()));
  for (unsigned i = 0; i < list.size(); ++i)
    list.set(i, text(ids[i]));
  out.push_back(draft.freeze());
}

}  // namespace

GcThresholds GcThresholds::none() {
  constexpr Nanoseconds zero{0};
  return {zero, zero, zero, zero, zero};
}

std::vector<Object<schema::Command>> collect_garbage(const state::Snapshot& snapshot,
                                                     const GcThresholds& thresholds,
                                                     std::int64_t now) {
  Chosen chosen;
  choose_evals(snapshot, thresholds, now, chosen);
  choose_orphans(snapshot, thresholds, now, chosen);
  std::sort(chosen.allocs.begin(), chosen.allocs.end());
  chosen.allocs.erase(std::unique(chosen.allocs.begin(), chosen.allocs.end()), chosen.allocs.end());
  choose_deployments(snapshot, thresholds, now, chosen);
  choose_jobs(snapshot, thresholds, now, chosen);
  std::vector<Object<schema::Command>> commands;
  in_batches(chosen.allocs, commands,
             [](auto reap, unsigned count) { return reap.initAllocationIds(count); });
  in_batches(chosen.evals, commands,
             [](auto reap, unsigned count) { return reap.initEvaluationIds(count); });
  in_batches(chosen.deployments, commands,
             [](auto reap, unsigned count) { return reap.initDeploymentIds(count); });
  if (!chosen.jobs.empty()) {
    Draft<schema::Command> draft;
    auto jobs = draft->initReap().initJobs(static_cast<unsigned>(chosen.jobs.size()));
    for (unsigned i = 0; i < jobs.size(); ++i) {
      jobs[i].setNamespace(text(chosen.jobs[i].first));
      jobs[i].setId(text(chosen.jobs[i].second));
    }
    commands.push_back(draft.freeze());
  }
  reap_nodes(snapshot, thresholds, now, commands);
  return commands;
}

}  // namespace nomad::cluster
