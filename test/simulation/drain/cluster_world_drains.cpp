// ClusterWorld's drains: what operators ask for, and what the log says of it; rule (17).
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using state::Snapshot;

/// A deadline of some seconds mostly; none, at once, or an end of the drain otherwise.
cluster::DrainWish ClusterWorld::some_drain() {
  const auto luck = random_.below(10);
  if (luck < 2) return {.mark_eligible = random_.chance(0.7)};
  std::int64_t deadline = 0;
  if (luck == 3) deadline = -1;
  if (luck > 3) deadline = Time{network_.delay(1s, 15s)}.count();
  return {.spec = cluster::DrainSpec{deadline, random_.chance(0.3)}};
}

/// In the end every drain has a deadline that comes soon.
void ClusterWorld::end_drains() {
  auto* boss = leader();
  if (boss == nullptr) return;
  const auto state = boss->store()->snapshot();
  for (const auto& id : state.draining_nodes()) {
    if (!hurried_.insert(id).second) continue;
    const cluster::DrainWish wish{.spec = cluster::DrainSpec{.deadline = Time{5s}.count()}};
    boss->write(
        [&](const Snapshot& now, const cluster::EvalSeed& seed) {
          return cluster::decide_drain(now, nomad::test::anybody(), id, wish, seed);
        },
        [this, id](const auto& done) {
          if (!done) hurried_.erase(id);
        });
  }
}

namespace {

/// Judges the drainer's entries, each on the state that it is applied to.
class DrainJudge {
public:
  /// What is wrong with the entry; "" if nothing is.
  std::string take(raft::Index index, schema::Command::Reader command) {
    if (command.isJobRegister()) note_job(command.getJobRegister().getJob());
    if (command.isAllocTransition()) {
      if (auto wrong = judge_marks(index, command.getAllocTransition()); !wrong.empty())
        return wrong;
    }
    if (!command.isNodeDrainUpdate()) {
      store_.apply(index, command);
      store_.publish();
      return {};
    }
    const auto update = command.getNodeDrainUpdate();
    const auto before = store_.snapshot();
    const auto node = before.node(view(update.getNodeId()));
    const auto outcome = store_.apply(index, command);
    store_.publish();
    if (outcome.error) return {};
    if (node && node->hasDrainStrategy()) former_[copy(node->getId())].push_back({index, node});
    if (!update.hasOnlyOf()) return {};
    ++completed;
    return judge_completion(index, before, *node);
  }

  std::uint64_t completed = 0;

private:
  /// What was decided may be applied so many entries later.
  static constexpr raft::Index longest_way = 300;

  void note_job(schema::Job::Reader job) {
    auto& most = most_parallel_[copy(job.getId())];
    for (const auto group : job.getTaskGroups())
      most = std::max(most, group.hasMigrate() ? group.getMigrate().getMaxParallel() : 1);
  }

  static bool is_forced_at(schema::DrainStrategy::Reader strategy, std::int64_t time) {
    return strategy.getDeadline() < 0
           || (strategy.getDeadline() > 0 && strategy.getForceDeadline() <= time);
  }

  /// Whether the node's drain was forced, or over, when the entry was decided.
  bool may_be_forced(const Object<schema::Node>& node, raft::Index index, std::int64_t time) {
    if (!node || !node->hasDrainStrategy() || is_forced_at(node->getDrainStrategy(), time))
      return true;
    return std::ranges::any_of(former_[copy(node->getId())], [&](const auto& former) {
      return former.first + longest_way > index
             && is_forced_at(former.second->getDrainStrategy(), time);
    });
  }

  std::string judge_marks(raft::Index index, schema::AllocTransition::Reader command) {
    const auto evals = command.getEvaluations();
    if (evals.size() == 0 || evals[0].getTriggeredBy() != schema::EvalTrigger::NODE_DRAIN)
      return {};
    const auto state = store_.snapshot();
    std::map<std::string, std::int64_t> moved;
    for (const auto entry : command.getEntries()) {
      const auto id = copy(entry.getAllocId());
      if (!marked_.insert(id).second)
        return fmt::format("allocation {} is drained again at {}", id, index);
      const auto row = state.alloc(id);
      if (!row || !row->job || view(row->job->getType()) != "service") continue;
      const auto node = state.node(view(row->alloc->getNodeId()));
      if (may_be_forced(node, index, evals[0].getCreateTime())) continue;
      const auto job = copy(row->alloc->getJobId());
      if (++moved[job] > most_parallel_[job])
        return fmt::format("{} allocations of {} are moved at once at {}", moved[job], job, index);
    }
    return {};
  }

  static std::string judge_completion(raft::Index index,
                                      const Snapshot& state,
                                      schema::Node::Reader node) {
    for (const auto& entry : state.allocs_by_node(view(node.getId()))) {
      const auto& row = *entry.value();
      if (row.terminal() || row.alloc->getDesiredTransition().getMigrate().isValue()) continue;
      const bool is_system = row.job && view(row.job->getType()) == "system";
      if (!is_system || !node.getDrainStrategy().getIgnoreSystemJobs())
        return fmt::format("the drain of node {} is complete at {}, but allocation {} stays",
                           view(node.getId()), index, view(row.alloc->getId()));
    }
    return {};
  }

  state::Store store_;
  std::map<std::string, std::int64_t> most_parallel_;
  std::set<std::string> marked_;
  std::map<std::string, std::vector<std::pair<raft::Index, Object<schema::Node>>>> former_;
};

}  // namespace

/// (17)
void ClusterWorld::check_drains() {
  DrainJudge judge;
  witness_.each_command([&](raft::Index index, const raft::Bytes& command) {
    if (violation_) return;
    if (const auto wrong = judge.take(index, command_of(command)); !wrong.empty()) violated(wrong);
  });
  counts_.drained = judge.completed;
}

}  // namespace nomad::test
