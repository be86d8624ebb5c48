// ClusterWorld's log, applied once more from its begin: what the rules (17), (19) and (20) say of
// its entries, and (18).
#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/simulation/log/job_story.hpp"
#include "test/simulation/log/log_judges.hpp"

namespace nomad::test {

std::string LogJudges::take(raft::Index index, schema::Command::Reader command) {
  judged_ = index;
  const auto before = store_.snapshot();
  const bool accepted = !store_.apply(index, command).error;
  store_.publish();
  auto wrong = drains.take(index, command, before, accepted);
  if (wrong.empty()) wrong = plans.take({index, command, before, store_.snapshot(), accepted});
  return wrong;
}

/// (17), (19) and (20), of what is new in the log.
void ClusterWorld::check_log() {
  witness_.each_command_after(judges_.judged(), [&](raft::Index index, const raft::Bytes& bytes) {
    if (violation_) return;
    if (const auto wrong = judges_.take(index, command_of(bytes)); !wrong.empty()) violated(wrong);
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
    store.apply(index, command);
    store.publish();
    fmt::print("{}", story.take({index, command, before, store.snapshot()}));
  });
}

/// (18)
void ClusterWorld::check_refused() {
  witness_.each_command([&](raft::Index index, const raft::Bytes& bytes) {
    const auto command = command_of(bytes);
    if (!command.isJobRegister()) return;
    const auto job = command.getJobRegister().getJob();
    if (refused_.contains({copy(job.getId()), register_value(job)}))
      violated(fmt::format("the write of {} to {} at index {} was refused as not done",
                           register_value(job), view(job.getId()), index));
  });
}

}  // namespace nomad::test
