#include "runtime/scheduler/dry_run.hpp"

#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"

namespace nomad::scheduler {
namespace {

/// A scheduler that never comes to an end is a fault; plans are all accepted here.
constexpr int most_steps = 8;

void fill_eval(schema::Evaluation::Builder eval,
               schema::Job::Reader job,
               std::string_view id,
               std::int64_t now) {
  eval.setId(text(id));
  eval.setNamespace(job.getNamespace());
  eval.setPriority(job.getPriority());
  eval.setType(job.getType());
  eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
  eval.setJobId(job.getId());
  eval.setJobModifyIndex(job.getJobModifyIndex());
  eval.setStatus(schema::EvalStatus::PENDING);
  eval.setAnnotatePlan(true);
  eval.setCreateTime(now);
  eval.setModifyTime(now);
}

Object<schema::Command> register_command(schema::Job::Reader job,
                                         bool is_changed,
                                         std::string_view eval_id,
                                         std::int64_t now) {
  Draft<schema::Command> draft;
  if (is_changed) {
    auto entry = draft->initJobRegister();
    entry.setJob(job);
    fill_eval(entry.initEvaluation(), job, eval_id, now);
  } else {
    fill_eval(draft->initEvalUpdate().initEvaluations(1)[0], job, eval_id, now);
  }
  return draft.freeze();
}

/// Sorts what the run would write into what `job plan` shows.
void collect(const std::vector<Object<schema::Evaluation>>& evals,
             std::string_view own_id,
             DryRun& result) {
  for (const auto& eval : evals) {
    if (view(eval->getId()) != own_id) {
      result.created_evals.push_back(eval);
      continue;
    }
    for (const auto entry : eval->getFailedTgAllocs())
      result.failed_groups.emplace_back(copy(entry.getKey()),
                                        Object<schema::AllocMetric>::freeze(entry.getValue()));
  }
}

}  // namespace

Result<DryRun> dry_run(const state::Snapshot& snapshot,
                       const Object<schema::Job>& job,
                       bool is_changed,
                       std::int64_t now,
                       std::uint64_t seed) {
  DryRun result;
  const auto reader = *job;
  result.stored = snapshot.job(view(reader.getNamespace()), view(reader.getId()));
  if (result.stored) result.job_modify_index = result.stored->getJobModifyIndex();
  Random random{seed};
  const auto eval_id = make_uuid(random);
  const bool registers = is_changed || !result.stored;

  state::Store store{snapshot};
  const auto scheduled = registers ? reader : *result.stored;
  const auto command = register_command(scheduled, registers, eval_id, now);
  const auto outcome = store.apply(snapshot.index() + 1, *command);
  if (outcome.error) return *outcome.error;
  store.publish();

  const auto ahead = store.snapshot();
  const auto eval = ahead.eval(eval_id);
  auto scheduler = make_scheduler(eval, random.next());
  if (scheduler == nullptr)
    return Error{Errc::rejected, "unknown job type \"" + copy(reader.getType()) + '"'};
  const Moment moment{ahead, now, nullptr};
  auto step = scheduler->start(moment);
  for (int steps = 0; step.plan && steps < most_steps; ++steps) {
    auto evals = step.plan->evaluations;
    if (step.plan->completion) evals.push_back(step.plan->completion);
    collect(evals, eval_id, result);
    for (const auto& [node, changes] : step.plan->nodes)
      for (const auto& stop : changes.preemptions)
        result.preempted.push_back(stop.alloc);
    PlanResult accepted;
    accepted.made_progress = true;
    accepted.completion_written = static_cast<bool>(step.plan->completion);
    step = scheduler->resume(moment, accepted);
  }
  result.is_asked = step.question != nullptr;
  collect(step.evaluations, eval_id, result);
  for (const auto& [group, updates] : scheduler->desired_updates())
    result.desired_updates.emplace_back(group, updates);
  return result;
}

}  // namespace nomad::scheduler
