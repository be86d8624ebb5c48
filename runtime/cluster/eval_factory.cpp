#include "runtime/cluster/eval_factory.hpp"

#include <set>
#include <utility>

#include "runtime/base/ids.hpp"
#include "runtime/object/disconnect.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::cluster {
namespace {

using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

bool is_system(schema::Job::Reader job) {
  return view(job.getType()) == "system";
}

/// Fills what all evaluations have.
void begin(schema::Evaluation::Builder eval, EvalTrigger trigger, const EvalSeed& seed) {
  eval.setId(text(make_uuid(*seed.random)));
  eval.setTriggeredBy(trigger);
  eval.setStatus(EvalStatus::PENDING);
  eval.setCreateTime(seed.now);
  eval.setModifyTime(seed.now);
}

void fill_from(schema::Evaluation::Builder eval, schema::Job::Reader job) {
  eval.setNamespace(job.getNamespace());
  eval.setPriority(job.getPriority());
  eval.setType(job.getType());
  eval.setJobId(job.getId());
  eval.setJobModifyIndex(job.getJobModifyIndex());
}

Object<schema::Evaluation> node_eval(schema::Job::Reader job,
                                     std::string_view node_id,
                                     const Object<schema::Node>& node,
                                     const EvalSeed& seed) {
  Draft<schema::Evaluation> eval;
  begin(*eval, EvalTrigger::NODE_UPDATE, seed);
  fill_from(*eval, job);
  eval->setNodeId(text(node_id));
  if (node) eval->setNodeModifyIndex(node->getModifyIndex());
  return eval.freeze();
}

bool stops_without_servers(const state::AllocRow& row) {
  if (!row.job || view(row.job->getType()) != "service") return false;
  return disconnect_rules(*row.job, row.alloc->task_group()).stop_on_client_after.has_value();
}

/// Whether its group's policy lets an allocation that fails now be replaced. Without, there is
/// nothing to decide: a system allocation in particular would be placed anew as often as it fails.
bool may_be_rescheduled(AllocView alloc, schema::Job::Reader job, std::int64_t now) {
  const auto group = scheduler::find_group(job, alloc.task_group());
  return group && group->hasReschedulePolicy()
         && scheduler::reschedule_time(alloc, group->getReschedulePolicy(), now).eligible;
}

/// What a client's report of `status` means for the scheduler; none for most.
EvalTrigger trigger_of(const state::AllocRow& row,
                       schema::Job::Reader job,
                       ClientStatus status,
                       std::int64_t now) {
  // Its client was away and is back: of it and its replacement, one stays.
  if (row.alloc->client_status() == ClientStatus::UNKNOWN) return EvalTrigger::RECONNECT;
  if (row.terminal() || !row.alloc->followup_eval_id().empty()) return EvalTrigger::NONE;
  // A service that ended although it was wanted: its client was without servers for too long.
  const bool gave_up = status == ClientStatus::COMPLETE && stops_without_servers(row);
  // The policy is that of the allocation's version. The newest one's counts, too, as in Nomad.
  const bool failed = status == ClientStatus::FAILED
                      && (may_be_rescheduled(*row.alloc, job, now)
                          || (row.job && may_be_rescheduled(*row.alloc, *row.job, now)));
  return failed || gave_up ? EvalTrigger::ALLOC_FAILURE : EvalTrigger::NONE;
}

}  // namespace

Object<schema::Evaluation> eval_for_job(schema::Job::Reader job,
                                        EvalTrigger trigger,
                                        const EvalSeed& seed,
                                        std::int64_t priority) {
  Draft<schema::Evaluation> eval;
  begin(*eval, trigger, seed);
  fill_from(*eval, job);
  if (priority != 0) eval->setPriority(priority);
  return eval.freeze();
}

Object<schema::Evaluation> eval_for_unknown_job(std::string_view ns,
                                                std::string_view job_id,
                                                EvalTrigger trigger,
                                                const EvalSeed& seed) {
  Draft<schema::Evaluation> eval;
  begin(*eval, trigger, seed);
  eval->setNamespace(text(ns));
  eval->setPriority(50);
  eval->setType("service");
  eval->setJobId(text(job_id));
  return eval.freeze();
}

std::vector<Object<schema::Evaluation>> evals_for_node(const state::Snapshot& guarded,
                                                       std::string_view node_id,
                                                       const EvalSeed& seed) {
  // What comes to the node meanwhile is evaluated afterwards: decide_latecomers.
  const auto snapshot = guarded.unguarded();
  std::vector<Object<schema::Evaluation>> evals;
  const auto node = snapshot.node(node_id);
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& entry : snapshot.allocs_by_node(node_id)) {
    const auto& job = entry.value()->job;
    if (!job) continue;
    if (seen.emplace(copy(job->getNamespace()), copy(job->getId())).second)
      evals.push_back(node_eval(*job, node_id, node, seed));
  }
  if (!node) return evals;  // gone: what it still has counts
  for (const auto& entry : snapshot.jobs()) {
    const auto job = *entry.value();
    if (!is_system(job) || job.getStop() || !scheduler::is_in_job_scope(*node, job)) continue;
    if (seen.emplace(copy(job.getNamespace()), copy(job.getId())).second)
      evals.push_back(node_eval(job, node_id, node, seed));
  }
  return evals;
}

std::vector<Object<schema::Evaluation>> evals_for_reports(
    const state::Snapshot& snapshot,
    const std::vector<Object<schema::Allocation>>& reports,
    const EvalSeed& seed) {
  std::vector<Object<schema::Evaluation>> evals;
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& report : reports) {
    const auto row = snapshot.alloc(report->id());
    if (!row) continue;
    const auto job = snapshot.job(row->alloc->ns(), row->alloc->job_id());
    if (!job || job->getStop()) continue;
    const auto trigger = trigger_of(*row, *job, report->client_status(), seed.now);
    if (trigger == EvalTrigger::NONE) continue;
    if (seen.emplace(copy(job->getNamespace()), copy(job->getId())).second)
      evals.push_back(eval_for_job(*job, trigger, seed));
  }
  return evals;
}

}  // namespace nomad::cluster
