// Evaluations: new and changed ones, and the removal of what garbage collection chose.
#include <algorithm>

#include "runtime/state/applier.hpp"
#include "runtime/state/eval_rules.hpp"

namespace nomad::state {

namespace {

std::string job_key(schema::Evaluation::Reader eval) {
  return join_key(view(eval.getNamespace()), view(eval.getJobId()));
}

std::string_view key_in(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

bool is_of_job(schema::Evaluation::Reader eval, std::string_view key) {
  const auto ns = view(eval.getNamespace());
  return key.size() == ns.size() + 1 + eval.getJobId().size() && key.starts_with(ns)
         && key.ends_with(view(eval.getJobId()));
}

std::string by_create_key(schema::Evaluation::Reader eval) {
  return number_key(eval.getCreateIndex()).append(view(eval.getId()));
}

}  // namespace

void Applier::eval_update(schema::EvalUpdate::Reader command) {
  put_evals(command.getEvaluations());
}

void Applier::put_evals(capnp::List<schema::Evaluation>::Reader evals) {
  for (auto eval : evals)
    put_eval(eval);
}

void Applier::put_eval(schema::Evaluation::Reader eval, Index job_modify_index) {
  const auto* found = t_.evals.find(view(eval.getId()));
  Draft<schema::Evaluation> draft{eval};
  if (eval.getNamespace().size() == 0) draft->setNamespace("default");
  draft->setCreateIndex(found != nullptr ? (*found)->getCreateIndex() : index_);
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
  found = t_.evals.find(view(stored->getId()));  // cancelling may have rewritten it
  Object<schema::Evaluation> before = found != nullptr ? *found : Object<schema::Evaluation>{};
  if (before && job_key(*before) != job_key(*stored)) {
    remove_eval(view(stored->getId()));
    before = {};
  }
  store_eval(before ? &before : nullptr, stored);
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
    store_eval(&eval, canceled);
    outcome_.evals.push_back(canceled);
  }
}

/// A plan of the evaluation was applied; who works on it next must see a state with the plan.
void Applier::touch_eval(std::string_view id) {
  const auto* found = t_.evals.find(id);
  if (found == nullptr) return;
  const Object<schema::Evaluation> before = *found;
  Draft<schema::Evaluation> draft{before};
  draft->setModifyIndex(index_);
  store_eval(&before, draft.freeze());
}

void Applier::store_eval(const Object<schema::Evaluation>* before,
                         Object<schema::Evaluation> eval) {
  const std::string job = job_key(*eval);
  const bool live = !is_terminal(eval->getStatus());
  t_.evals.insert_or_assign(view(eval->getId()), eval);
  t_.evals_by_create.insert_or_assign(by_create_key(*eval), eval);
  const std::string by_job = eval_key_by_job(*eval);
  if (before != nullptr) {
    const std::string old_key = eval_key_by_job(**before);
    if (old_key != by_job) t_.evals_by_job.erase(old_key);
  }
  t_.evals_by_job.insert_or_assign(by_job, eval);

  JobCounts& counts = counts_of(job);
  const bool was_live = before != nullptr && !is_terminal((*before)->getStatus());
  if (before == nullptr) ++counts.evals;
  counts.live_evals += (live ? 1u : 0u) - (was_live ? 1u : 0u);
  touched_jobs_.try_emplace(job, false);

  touch(Table::evals);
  changed(Table::evals, view(eval->getId()));
  changed(Table::evals_by_job, job);
  event(eval);
}

void Applier::remove_eval(std::string_view id) {
  if (const auto* found = t_.evals.find(id)) drop_evals({*found});
}

/// Removes stored evaluations. What concerns a job is done once for those of it that come one after
/// the other.
void Applier::drop_evals(const std::vector<Object<schema::Evaluation>>& evals) {
  std::vector<std::string> keys_by_job;
  keys_by_job.reserve(evals.size());
  for (auto eval = evals.begin(); eval != evals.end();) {
    const std::string job = job_key(**eval);
    JobCounts gone;
    for (; eval != evals.end() && is_of_job(**eval, job); ++eval) {
      const auto id = view((*eval)->getId());
      t_.evals.erase_known(id);
      t_.evals_by_create.erase_known(by_create_key(**eval));
      keys_by_job.push_back(eval_key_by_job(**eval));
      ++gone.evals;
      if (!is_terminal((*eval)->getStatus())) ++gone.live_evals;
      changed(Table::evals, id);
    }
    JobCounts& counts = counts_of(job);
    counts.evals -= gone.evals;
    counts.live_evals -= gone.live_evals;
    if (counts.empty()) t_.job_counts.erase(job);
    touched_jobs_.insert_or_assign(job, true);
    changed(Table::evals_by_job, job);
  }
  std::ranges::sort(keys_by_job);
  t_.evals_by_job.erase_all(keys_by_job);
  if (!evals.empty()) touch(Table::evals);
}

void Applier::forget(schema::Command::Reader command) {
  if (command.isReap()) reap(command.getReap());
  if (command.isJobsReap()) jobs_reap(command.getJobsReap());
  if (command.isEvalDelete()) eval_delete(command.getEvalDelete());
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
  const auto filter = NOMAD_TRY(query::Filter::compile(view(command.getFilter())));
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
    if (judge.takes(filter, *eval)) chosen.push_back(eval);
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
    if (found != nullptr && is_empty && view((*found)->getStatus()) == "dead") purge_job(key);
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
