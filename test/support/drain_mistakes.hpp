// What drainers of tests decide by, in place of cluster::next_drain_round: the same, or with one of
// the mistakes that tests must find.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/cluster/drain/drain_plan.hpp"
#include "runtime/object/draft.hpp"
#include "test/mistakes/mistake.hpp"

namespace nomad::test {

inline bool has_deadline(const state::Snapshot& snapshot, const std::string& id) {
  const auto node = snapshot.node(id);
  return node && node->hasDrainStrategy() && node->getDrainStrategy().getDeadline() != 0;
}

/// Calls every drain complete as soon as it sees it.
inline cluster::DrainRound drain_hastily(const state::Snapshot& snapshot,
                                         const std::set<std::string>& nodes,
                                         const std::set<cluster::DrainedJob>& jobs,
                                         const cluster::EvalSeed& seed) {
  auto round = cluster::next_drain_round(snapshot, nodes, jobs, seed);
  for (const auto& [id, outlook] : round.nodes) {
    if (outlook.is_over) continue;
    Draft<schema::Command> draft;
    auto command = draft->initNodeDrainUpdate();
    command.setNodeId(text(id));
    command.setOnlyOf(snapshot.node(id)->getDrainStrategy());
    round.commands.push_back(draft.freeze());
  }
  return round;
}

/// Forgets deadlines, also those that are now.
inline cluster::DrainRound drain_late(const state::Snapshot& snapshot,
                                      std::set<std::string> nodes,
                                      const std::set<cluster::DrainedJob>& jobs,
                                      const cluster::EvalSeed& seed) {
  std::set<std::string> forgotten;
  for (const auto& id : nodes)
    if (has_deadline(snapshot, id)) forgotten.insert(id);
  for (const auto& id : forgotten)
    nodes.erase(id);
  auto round = cluster::next_drain_round(snapshot, nodes, jobs, seed);
  for (const auto& id : forgotten)
    round.nodes[id] = {};
  return round;
}

/// Moves all of a service at once.
inline cluster::DrainRound drain_greedily(const state::Snapshot& snapshot,
                                          const std::set<std::string>& nodes,
                                          const std::set<cluster::DrainedJob>& jobs,
                                          const cluster::EvalSeed& seed) {
  auto round = cluster::next_drain_round(snapshot, nodes, {}, seed);
  for (const auto& job : jobs) {
    round.finished.insert(job);
    std::vector<state::AllocRef> rows;
    for (const auto& entry : snapshot.allocs_by_job(job.ns, job.id)) {
      const auto& row = entry.value();
      const auto node = snapshot.node(row->alloc->node_id());
      if (!row->terminal() && node && node->hasDrainStrategy()
          && !row->alloc->transition().getMigrate().isValue())
        rows.push_back(row);
    }
    if (rows.empty()) continue;
    Draft<schema::Command> draft;
    auto command = draft->initAllocTransition();
    auto entries = command.initEntries(static_cast<unsigned>(rows.size()));
    for (unsigned i = 0; i < entries.size(); ++i) {
      entries[i].setAllocId(text(rows[i]->alloc->id()));
      entries[i].initTransition().initMigrate().setValue(true);
    }
    command.initEvaluations(1).setWithCaveats(
        0, *cluster::eval_for_job(*rows[0]->job, schema::EvalTrigger::NODE_DRAIN, seed));
    round.commands.push_back(draft.freeze());
  }
  return round;
}

inline cluster::DrainRound next_drain_round(const state::Snapshot& snapshot,
                                            const std::set<std::string>& nodes,
                                            const std::set<cluster::DrainedJob>& jobs,
                                            const cluster::EvalSeed& seed) {
  if (mistake == Mistake::hasty_drainer) return drain_hastily(snapshot, nodes, jobs, seed);
  if (mistake == Mistake::late_drainer) return drain_late(snapshot, nodes, jobs, seed);
  if (mistake == Mistake::greedy_drainer) return drain_greedily(snapshot, nodes, jobs, seed);
  return cluster::next_drain_round(snapshot, nodes, jobs, seed);
}

}  // namespace nomad::test
