#include "runtime/state/eval_rules.hpp"

#include <string>

#include "runtime/object/draft.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

namespace {

using schema::ClientStatus;

/// Whether a failed allocation has nothing to tell to a replacement any more.
bool is_done_with(schema::Allocation::Reader alloc, schema::Job::Reader job) {
  for (const auto group : job.getTaskGroups()) {
    if (group.getName() != alloc.getTaskGroup() || !group.hasReschedulePolicy()) continue;
    const auto policy = group.getReschedulePolicy();
    if (!policy.getUnlimited() && policy.getAttempts() == 0) return true;
    return !policy.getUnlimited() && alloc.getNextAllocation().size() > 0
           && alloc.getRescheduleTracker().getEvents().size() > 0;
  }
  return true;
}

}  // namespace

bool is_safe_to_delete(const Tables& tables, schema::Evaluation::Reader eval) {
  const auto* job = tables.jobs.find(join_key(view(eval.getNamespace()), view(eval.getJobId())));
  if (job == nullptr || (*job)->getStop() || view((*job)->getStatus()) == "dead") return true;
  const auto prefix = join_key(view(eval.getId()), "");
  for (const auto& entry : tables.allocs_by_eval.prefix(prefix)) {
    const auto* row = tables.allocs.find(std::string{entry.key()}.substr(prefix.size()));
    if (row == nullptr) continue;
    const auto alloc = *(*row)->alloc;
    switch (alloc.getClientStatus()) {
      case ClientStatus::RUNNING:
      case ClientStatus::UNKNOWN:
        return false;
      case ClientStatus::FAILED:
        if (!is_done_with(alloc, **job)) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

bool is_to_be_deleted(const Tables& tables,
                      const query::Filter& filter,
                      schema::Evaluation::Reader eval) {
  const auto wanted = filter.matches(eval);
  return wanted && *wanted && is_safe_to_delete(tables, eval);
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
