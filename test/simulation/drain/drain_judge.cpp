#include "test/simulation/drain/drain_judge.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::test {

namespace {

/// What was decided may be applied so many entries later.
constexpr raft::Index longest_way = 300;

bool is_forced_at(schema::DrainStrategy::Reader strategy, std::int64_t time) {
  return strategy.getDeadline() < 0
         || (strategy.getDeadline() > 0 && strategy.getForceDeadline() <= time);
}

std::string judge_completion(raft::Index index,
                             const state::Snapshot& state,
                             schema::Node::Reader node) {
  for (const auto& entry : state.allocs_by_node(view(node.getId()))) {
    const auto& row = *entry.value();
    if (row.terminal() || row.alloc->transition().getMigrate().isValue()) continue;
    const bool is_system = row.job && view(row.job->getType()) == "system";
    if (!is_system || !node.getDrainStrategy().getIgnoreSystemJobs())
      return fmt::format("the drain of node {} is complete at {}, but allocation {} stays",
                         view(node.getId()), index, row.alloc->id());
  }
  return {};
}

}  // namespace

std::string DrainJudge::take(raft::Index index,
                             schema::Command::Reader command,
                             const state::Snapshot& before,
                             bool accepted) {
  if (command.isJobRegister()) note_job(command.getJobRegister().getJob());
  if (command.isAllocTransition()) return judge_marks(index, command.getAllocTransition(), before);
  if (!command.isNodeDrainUpdate() || !accepted) return {};
  const auto update = command.getNodeDrainUpdate();
  const auto node = before.node(view(update.getNodeId()));
  if (node && node->hasDrainStrategy()) former_[copy(node->getId())].push_back({index, node});
  if (!update.hasOnlyOf()) return {};
  ++completed;
  return judge_completion(index, before, *node);
}

void DrainJudge::note_job(schema::Job::Reader job) {
  auto& most = most_parallel_[copy(job.getId())];
  for (const auto group : job.getTaskGroups())
    most = std::max(most, group.hasMigrate() ? group.getMigrate().getMaxParallel() : 1);
}

/// Whether the node's drain was forced, or over, when the entry was decided.
bool DrainJudge::may_be_forced(const Object<schema::Node>& node,
                               raft::Index index,
                               std::int64_t time) {
  if (!node || !node->hasDrainStrategy() || is_forced_at(node->getDrainStrategy(), time))
    return true;
  return std::ranges::any_of(former_[copy(node->getId())], [&](const auto& former) {
    return former.first + longest_way > index
           && is_forced_at(former.second->getDrainStrategy(), time);
  });
}

std::string DrainJudge::judge_marks(raft::Index index,
                                    schema::AllocTransition::Reader command,
                                    const state::Snapshot& before) {
  const auto evals = command.getEvaluations();
  if (evals.size() == 0 || evals[0].getTriggeredBy() != schema::EvalTrigger::NODE_DRAIN) return {};
  std::map<std::string, std::int64_t> moved;
  for (const auto entry : command.getEntries()) {
    const auto id = copy(entry.getAllocId());
    if (!marked_.insert(id).second)
      return fmt::format("allocation {} is drained again at {}", id, index);
    const auto row = before.alloc(id);
    if (!row || !row->job || view(row->job->getType()) != "service") continue;
    const auto node = before.node(row->alloc->node_id());
    if (may_be_forced(node, index, evals[0].getCreateTime())) continue;
    const auto job = std::string{row->alloc->job_id()};
    if (++moved[job] > most_parallel_[job])
      return fmt::format("{} allocations of {} are moved at once at {}", moved[job], job, index);
  }
  return {};
}

}  // namespace nomad::test
