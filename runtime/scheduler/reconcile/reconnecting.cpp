#include "runtime/scheduler/reconcile/reconnecting.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

std::optional<double> placement_score(const AllocEntry& alloc) {
  if (!alloc.row->metric) return std::nullopt;
  std::optional<double> best;
  for (const auto node : alloc.row->metric->getScoreMetaData())
    best = best ? std::max(*best, node.getNormScore()) : node.getNormScore();
  return best;
}

bool runs(const AllocEntry& alloc) {
  return alloc.alloc().client_status() == schema::ClientStatus::RUNNING;
}

bool is_better_placed(const AllocEntry& original, const AllocEntry& replacement) {
  const auto old_score = placement_score(original);
  const auto new_score = placement_score(replacement);
  const bool better = new_score && (!old_score || *new_score > *old_score);
  return better && (runs(replacement) || !runs(original));
}

/// When the task began for the last time; 0: it has not.
std::int64_t last_start(AllocView alloc, std::string_view task) {
  for (const auto entry : alloc.task_states()) {
    if (view(entry.getKey()) != task) continue;
    const auto state = entry.getValue();
    return state.getRestarts() > 0 ? state.getLastRestart() : state.getStartedAt();
  }
  return 0;
}

/// Since when the leader runs, or else the oldest of the tasks; 0: none has begun.
std::int64_t running_since(AllocView alloc, const std::optional<schema::TaskGroup::Reader>& group) {
  std::int64_t oldest = 0;
  if (!group) return oldest;
  for (const auto task : group->getTasks()) {
    const auto start = last_start(alloc, view(task.getName()));
    if (task.getLeader()) return start;
    if (start != 0 && (oldest == 0 || start < oldest)) oldest = start;
  }
  return oldest;
}

bool has_run_longer(const AllocEntry& original, const AllocEntry& replacement) {
  const auto group = find_group(original.job(), original.alloc().task_group());
  const auto old_start = running_since(original.alloc(), group);
  const auto new_start = running_since(replacement.alloc(), group);
  if (old_start == 0 && new_start == 0) return is_better_placed(original, replacement);
  if (new_start == 0) return false;
  return old_start == 0 || new_start <= old_start;
}

}  // namespace

bool prefers_replacement(const AllocEntry& original,
                         const AllocEntry& replacement,
                         Reconcile strategy) {
  if (replacement.alloc().job_version() > original.alloc().job_version()
      || replacement.alloc().job_create_index() > original.alloc().job_create_index())
    return true;
  switch (strategy) {
    case Reconcile::keep_original:
      return false;
    case Reconcile::keep_replacement:
      return true;
    case Reconcile::longest_running:
      return has_run_longer(original, replacement);
    case Reconcile::best_score:
      break;
  }
  return is_better_placed(original, replacement);
}

}  // namespace nomad::scheduler
