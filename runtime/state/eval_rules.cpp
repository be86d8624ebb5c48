#include "runtime/state/eval_rules.hpp"

#include <string>

#include "runtime/object/draft.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

namespace {

using schema::ClientStatus;

/// Whether a failed allocation has nothing to tell to a replacement any more.
bool is_done_with(AllocView alloc, schema::Job::Reader job) {
  for (const auto group : job.getTaskGroups()) {
    if (view(group.getName()) != alloc.task_group() || !group.hasReschedulePolicy()) continue;
    const auto policy = group.getReschedulePolicy();
    if (!policy.getUnlimited() && policy.getAttempts() == 0) return true;
    return !policy.getUnlimited() && !alloc.next().empty() && alloc.reschedule_events().size() > 0;
  }
  return true;
}

}  // namespace

void EvalDeletionJudge::look_at_job(schema::Evaluation::Reader eval) {
  auto key = join_key(view(eval.getNamespace()), view(eval.getJobId()));
  if (key == job_key_) return;
  job_key_ = std::move(key);
  const auto* job = tables_.jobs.find(job_key_);
  const bool is_over = job == nullptr || (*job)->getStop() || view((*job)->getStatus()) == "dead";
  job_ = is_over ? Object<schema::Job>{} : *job;
  const auto* counts = tables_.job_counts.find(job_key_);
  has_allocs_ = counts != nullptr && counts->allocs > 0;
}

bool EvalDeletionJudge::is_safe(schema::Evaluation::Reader eval) {
  look_at_job(eval);
  if (!job_ || !has_allocs_) return true;
  const auto prefix = join_key(view(eval.getId()), "");
  for (const auto& entry : tables_.allocs_by_eval.prefix(prefix)) {
    const auto* row = tables_.allocs.find(std::string{entry.key()}.substr(prefix.size()));
    if (row == nullptr) continue;
    const auto alloc = *(*row)->alloc;
    switch (alloc.client_status()) {
      case ClientStatus::RUNNING:
      case ClientStatus::UNKNOWN:
        return false;
      case ClientStatus::FAILED:
        if (!is_done_with(alloc, *job_)) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

Result<bool> EvalDeletionJudge::takes(const query::Filter& filter,
                                      schema::Evaluation::Reader eval,
                                      Work& work) {
  const auto wanted = filter.matches(eval, {}, work);
  if (!wanted && wanted.error().code == Errc::too_large) return wanted.error();
  return wanted && *wanted && is_safe(eval);
}

Result<> check_broker_is_paused(const Tables& tables) {
  if (tables.scheduler_config && tables.scheduler_config->getPauseEvalBroker()) return {};
  return Error{Errc::rejected,
               "eval broker is enabled; eval broker must be paused to delete evals"};
}

Error not_safe_to_delete(std::string_view eval_id) {
  return {Errc::rejected, "eval " + std::string{eval_id} + " is not safe to delete"};
}

}  // namespace nomad::state
