#include "test/simulation/drain/sim_drainer.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::test {
namespace {

using cluster::DrainedJob;
using cluster::DrainRound;
using cluster::EvalSeed;
using state::Snapshot;

bool has_deadline(const Snapshot& snapshot, const std::string& id) {
  const auto node = snapshot.node(id);
  return node && node->hasDrainStrategy() && node->getDrainStrategy().getDeadline() != 0;
}

/// Calls every drain complete as soon as it sees it.
DrainRound decide_hastily(const Snapshot& snapshot,
                          const std::set<std::string>& nodes,
                          const std::set<DrainedJob>& jobs,
                          const EvalSeed& seed) {
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
DrainRound decide_late(const Snapshot& snapshot,
                       std::set<std::string> nodes,
                       const std::set<DrainedJob>& jobs,
                       const EvalSeed& seed) {
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
DrainRound decide_greedily(const Snapshot& snapshot,
                           const std::set<std::string>& nodes,
                           const std::set<DrainedJob>& jobs,
                           const EvalSeed& seed) {
  auto round = cluster::next_drain_round(snapshot, nodes, {}, seed);
  for (const auto& job : jobs) {
    round.finished.insert(job);
    std::vector<state::AllocRef> rows;
    for (const auto& entry : snapshot.allocs_by_job(job.ns, job.id)) {
      const auto& row = entry.value();
      const auto node = snapshot.node(view(row->alloc->getNodeId()));
      if (!row->terminal() && node && node->hasDrainStrategy()
          && !row->alloc->getDesiredTransition().getMigrate().isValue())
        rows.push_back(row);
    }
    if (rows.empty()) continue;
    Draft<schema::Command> draft;
    auto command = draft->initAllocTransition();
    auto entries = command.initEntries(static_cast<unsigned>(rows.size()));
    for (unsigned i = 0; i < entries.size(); ++i) {
      entries[i].setAllocId(rows[i]->alloc->getId());
      entries[i].initTransition().initMigrate().setValue(true);
    }
    command.initEvaluations(1).setWithCaveats(
        0, *cluster::eval_for_job(*rows[0]->job, schema::EvalTrigger::NODE_DRAIN, seed));
    round.commands.push_back(draft.freeze());
  }
  return round;
}

}  // namespace

decltype(server::NodeDrainerOptions::decide) drain_decision(ServerMutation mutation) {
  if (mutation == ServerMutation::hasty_drainer) return decide_hastily;
  if (mutation == ServerMutation::late_drainer) return decide_late;
  if (mutation == ServerMutation::greedy_drainer) return decide_greedily;
  return cluster::next_drain_round;
}

}  // namespace nomad::test
