// Evaluations: new and changed ones, and the removal of what garbage collection chose.
#include <algorithm>

#include "runtime/state/apply_kind.hpp"
#include "runtime/state/eval_rules.hpp"

namespace nomad::state {

namespace {

std::string_view key_in(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

}  // namespace

void Applier::eval_update(schema::EvalUpdate::Reader command) {
  put_evals(command.getEvaluations());
}

void Applier::put_evals(capnp::List<schema::Evaluation>::Reader evals) {
  for (auto eval : evals)
    put_eval(eval);
}

/// Evaluations that Nomad writes by a command of its own, which is the type of their events and of
/// those that derive from them.
void Applier::put_separate_evals(capnp::List<schema::Evaluation>::Reader evals) {
  if (evals.size() > 0) event_type_ = eval_event;
  put_evals(evals);
}

void Applier::put_eval(schema::Evaluation::Reader eval, Index job_modify_index) {
  const auto known = found<kind::Evals>(view(eval.getId()));
  Draft<schema::Evaluation> draft{eval};
  if (eval.getNamespace().size() == 0) draft->setNamespace("default");
  draft->setCreateIndex(known ? known->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  if (job_modify_index != 0) draft->setJobModifyIndex(job_modify_index);
  const Object<schema::Evaluation> stored = draft.freeze();

  if (stored->getQueuedAllocations().size() > 0) {
    if (Summary* counts = summary(view(stored->getNamespace()), view(stored->getJobId())))
      for (auto entry : stored->getQueuedAllocations()) {
        const auto group = counts->groups.find(view(entry.getKey()));
        if (group == counts->groups.end() || group->second.queued == entry.getValue()) continue;
        group->second.queued = entry.getValue();
        counts->changed = true;
      }
  }
  if (stored->getStatus() == schema::EvalStatus::COMPLETE
      && stored->getFailedTgAllocs().size() == 0)
    cancel_blocked(*stored);
  auto before = found<kind::Evals>(view(stored->getId()));  // cancelling may have rewritten it
  if (before && key_of_job(*before) != key_of_job(*stored)) {
    drop_evals({before});
    before = {};
  }
  store_eval(before, stored);
  outcome_.evals.push_back(stored);
}

/// `complete` placed everything: what still blocks for its job has nothing to wait for.
void Applier::cancel_blocked(schema::Evaluation::Reader complete) {
  const char blocked = static_cast<char>(schema::EvalStatus::BLOCKED);
  std::vector<Object<schema::Evaluation>> waiting;
  for (const auto& entry : t_.evals_by_job.prefix(
           join_key(view(complete.getNamespace()), view(complete.getJobId()), {&blocked, 1})))
    waiting.push_back(entry.value());
  for (const auto& eval : waiting) {
    Draft<schema::Evaluation> draft{eval};
    draft->setStatus(schema::EvalStatus::CANCELED);
    draft->setStatusDescription(text("evaluation \"" + copy(complete.getId()) + "\" successful"));
    draft->setModifyIndex(index_);
    draft->setModifyTime(complete.getModifyTime());
    const Object<schema::Evaluation> canceled = draft.freeze();
    store_eval(eval, canceled);
    outcome_.evals.push_back(canceled);
  }
}

/// A plan of the evaluation was applied; who works on it next must see a state with the plan.
void Applier::touch_eval(std::string_view id) {
  const auto before = found<kind::Evals>(id);
  if (!before) return;
  Draft<schema::Evaluation> draft{before};
  draft->setModifyIndex(index_);
  store_eval(before, draft.freeze());
}

void Applier::store_eval(const Object<schema::Evaluation>& before,
                         const Object<schema::Evaluation>& eval) {
  touched_jobs_.try_emplace(key_of_job(*eval), false);
  replace<kind::Evals>(before, eval);
}

void Applier::remove_eval(std::string_view id) {
  if (const auto eval = found<kind::Evals>(id)) drop_evals({eval});
}

/// Removes stored evaluations.
void Applier::drop_evals(const std::vector<Object<schema::Evaluation>>& evals) {
  for (const auto& eval : evals)
    touched_jobs_.insert_or_assign(key_of_job(*eval), true);
  remove_all<kind::Evals>(evals);
}

/// What an operator's deletion takes: all is chosen before the first is removed.
Result<std::vector<Object<schema::Evaluation>>> Applier::evals_to_delete(
    schema::EvalDelete::Reader command) {
  NOMAD_TRY(check_broker_is_paused(t_));
  EvalDeletionJudge judge{t_};
  std::vector<Object<schema::Evaluation>> chosen;
  if (command.getFilter().size() == 0) {
    std::set<std::string_view> seen;
    for (const auto id : command.getEvaluationIds()) {
      const auto* eval = t_.evals.find(view(id));
      if (eval == nullptr || !seen.insert(view(id)).second) continue;
      if (!judge.is_safe(**eval)) return not_safe_to_delete(view(id));
      chosen.push_back(*eval);
    }
    return chosen;
  }
  const auto filter = NOMAD_TRY(query::Filter::compile_decided(view(command.getFilter())));
  std::set<std::string_view> namespaces;
  for (const auto ns : command.getNamespaces())
    namespaces.insert(view(ns));
  const auto after = key_in(command.getAfter());
  const auto through = key_in(command.getThrough());
  for (auto cursor = t_.evals_by_job.lower_bound(after);
       cursor.valid() && chosen.size() < command.getLimit(); cursor.next()) {
    const auto key = cursor.key();
    if (key > through) break;
    const auto& eval = cursor.value();
    if (key == after || !namespaces.contains(view(eval->getNamespace()))) continue;
    Work work{query::Filter::unbounded};
    if (NOMAD_TRY(judge.takes(filter, *eval, work))) chosen.push_back(eval);
  }
  return chosen;
}

void Applier::eval_delete(schema::EvalDelete::Reader command) {
  const auto chosen = evals_to_delete(command);
  if (!chosen) return refuse(chosen.error().code, chosen.error().what);
  drop_evals(*chosen);
  outcome_.evals_deleted = chosen->size();
}

/// What is dead and has nothing left is still what was chosen.
void Applier::jobs_reap(schema::JobsReap::Reader command) {
  for (const auto job : command.getJobs()) {
    const std::string key = join_key(view(job.getNamespace()), view(job.getId()));
    const auto* found = t_.jobs.find(key);
    const auto* counts = t_.job_counts.find(key);
    const bool is_empty = counts == nullptr || counts->empty();
    const bool is_over = found != nullptr && is_empty && view((*found)->getStatus()) == "dead";
    if (is_over && !has_tag(key)) purge_job(key);
  }
}

void Applier::reap(schema::Reap::Reader command) {
  for (auto id : command.getAllocationIds())
    remove_alloc(view(id));
  for (auto id : command.getEvaluationIds())
    remove_eval(view(id));
  for (auto id : command.getDeploymentIds())
    remove_deployment(view(id));
  for (auto job : command.getJobs())
    purge_job(join_key(view(job.getNamespace()), view(job.getId())));
}

}  // namespace nomad::state
