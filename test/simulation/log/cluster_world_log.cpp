// ClusterWorld's log, applied once more from its begin: what the rules (17), (19) and (20) say of
// its entries, and (18).
#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/simulation/log/job_story.hpp"
#include "test/simulation/log/log_judges.hpp"

namespace nomad::test {

std::string LogJudges::take(raft::Index index, const raft::Bytes& entry) {
  judged_ = index;
  const auto before = store_.snapshot();
  const auto outcome = store_.apply(index, entry_of(entry));
  store_.publish();
  if (outcome.stale) stale_.insert(index);
  if (outcome.stale) return {};
  const auto command = command_of(entry);
  const bool accepted = !outcome.error;
  auto wrong = drains.take(index, command, before, accepted);
  if (wrong.empty()) wrong = plans.take({index, command, before, store_.snapshot(), accepted});
  return wrong;
}

/// (17), (19) and (20), of what is new in the log.
void ClusterWorld::check_log() {
  witness_.each_command_after(judges_.judged(), [&](raft::Index index, const raft::Bytes& bytes) {
    if (violation_) return;
    if (const auto wrong = judges_.take(index, bytes); !wrong.empty()) violated(wrong);
  });
  counts_.drained = judges_.drains.completed;
  counts_.preempted = judges_.plans.preempted;
  counts_.replaced = judges_.plans.replaced;
  counts_.canaries = judges_.plans.canaries;
  counts_.promoted = judges_.plans.promoted;
}

void ClusterWorld::tell_story() {
  if (options_.story.empty()) return;
  state::Store store;
  JobStory story{options_.story};
  witness_.each_command([&](raft::Index index, const raft::Bytes& bytes) {
    const auto command = command_of(bytes);
    const auto before = store.snapshot();
    store.apply(index, entry_of(bytes));
    store.publish();
    fmt::print("{}", story.take({index, command, before, store.snapshot()}));
  });
}

/// (18)
void ClusterWorld::check_refused() {
  witness_.each_command([&](raft::Index index, const raft::Bytes& bytes) {
    const auto command = command_of(bytes);
    if (!command.isJobRegister() || judges_.is_stale(index)) return;
    const auto job = command.getJobRegister().getJob();
    if (refused_.contains({copy(job.getId()), register_value(job)}))
      violated(fmt::format("the write of {} to {} at index {} was refused as not done",
                           register_value(job), view(job.getId()), index));
  });
}

}  // namespace nomad::test
