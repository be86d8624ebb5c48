// ClusterWorld's log, applied once more from its begin: what the rules (17), (19) and (20) say of
// its entries, and (18).
#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/simulation/drain/drain_judge.hpp"
#include "test/simulation/log/job_story.hpp"
#include "test/simulation/log/plan_judge.hpp"

namespace nomad::test {

void ClusterWorld::check_log() {
  state::Store store;
  DrainJudge drains;
  PlanJudge plans{promotions_};
  witness_.each_command([&](raft::Index index, const raft::Bytes& bytes) {
    if (violation_) return;
    const auto command = command_of(bytes);
    const auto before = store.snapshot();
    const bool accepted = !store.apply(index, command).error;
    store.publish();
    auto wrong = drains.take(index, command, before, accepted);
    if (wrong.empty()) wrong = plans.take({index, command, before, store.snapshot(), accepted});
    if (!wrong.empty()) violated(wrong);
  });
  counts_.drained = drains.completed;
  counts_.preempted = plans.preempted;
  counts_.replaced = plans.replaced;
  counts_.canaries = plans.canaries;
  counts_.promoted = plans.promoted;
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
