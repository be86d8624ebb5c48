#include "runtime/cluster/blocked/wake.hpp"

#include <set>
#include <utility>

namespace nomad::cluster {
namespace {

/// What its groups asked for and did not get, and where they looked.
void note_demand(schema::Evaluation::Reader eval, BlockedEval& blocked) {
  std::set<std::string> datacenters;
  std::set<std::string> classes;
  for (const auto group : eval.getFailedTgAllocs()) {
    const auto metric = group.getValue();
    for (const auto datacenter : metric.getNodesAvailable())
      datacenters.insert(copy(datacenter.getKey()));
    for (const auto node_class : metric.getClassExhausted())
      classes.insert(copy(node_class.getKey()));
    if (metric.getClassExhausted().size() == 0) classes.insert("");
    for (const auto task : metric.getResourcesExhausted()) {
      blocked.cpu += task.getValue().getCpu();
      blocked.memory_mb += task.getValue().getMemoryMb();
    }
  }
  blocked.datacenters.assign(datacenters.begin(), datacenters.end());
  blocked.node_classes.assign(classes.begin(), classes.end());
}

/// Whether room on nodes may help it: not where the quota spared the look at more than the first of
/// them. That of a system job tells of its first node alone.
bool needs_nodes(schema::Evaluation::Reader eval) {
  if (eval.getQuotaLimitReached().size() == 0 || eval.getNodeId().size() != 0) return true;
  for (const auto group : eval.getFailedTgAllocs())
    if (const auto metric = group.getValue(); metric.getQuotaExhausted().size() == 0
                                              || metric.getNodesExhausted() > 0
                                              || metric.getNodesEvaluated() > 1)
      return true;
  return eval.getFailedTgAllocs().size() == 0;
}

}  // namespace

BlockedEval blocked_of(schema::Evaluation::Reader eval, std::string token) {
  BlockedEval blocked{
      .id = copy(eval.getId()),
      .ns = copy(eval.getNamespace()),
      .job_id = copy(eval.getJobId()),
      .type = copy(eval.getType()),
      .node_id = copy(eval.getNodeId()),
      .priority = static_cast<std::int32_t>(eval.getPriority()),
      .create_index = eval.getCreateIndex(),
      .modify_index = eval.getModifyIndex(),
      .snapshot_index = eval.getSnapshotIndex(),
      .escaped = eval.getEscapedComputedClass(),
      .max_plan_attempts = eval.getTriggeredBy() == schema::EvalTrigger::MAX_PLAN_ATTEMPTS,
      .ineligible_classes = {},
      .eligible_classes = {},
      .quota = copy(eval.getQuotaLimitReached()),
      .waits_for_volumes = eval.getWaitsForVolumes(),
      .needs_nodes = needs_nodes(eval),
      .token = std::move(token)};
  for (auto entry : eval.getClassEligibility())
    (entry.getValue() ? blocked.eligible_classes : blocked.ineligible_classes)
        .push_back(copy(entry.getKey()));
  note_demand(eval, blocked);
  return blocked;
}

std::vector<BlockedEval> wake(BlockedEvals& blocked,
                              const state::Outcome& outcome,
                              const state::Snapshot& snapshot) {
  std::vector<BlockedEval> woken;
  const auto add = [&woken](std::vector<BlockedEval> more) {
    woken.insert(woken.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  };
  if (outcome.settings_changed) add(blocked.unblock_all(outcome.index));
  const auto wake_for = [&](schema::Node::Reader node) {
    add(blocked.unblock_class(view(node.getComputedClass()), outcome.index));
    add(blocked.unblock_node(view(node.getId()), outcome.index));
  };
  for (const auto& quota : outcome.quotas_opened)
    add(blocked.unblock_quota(quota, outcome.index));
  for (const auto& ns : outcome.volumes_opened)
    add(blocked.unblock_volumes(ns, outcome.index));
  for (const auto& node : outcome.nodes_opened)
    wake_for(*node);
  for (const auto& id : outcome.nodes_freed)
    if (const auto node = snapshot.node(id)) wake_for(*node);
  return woken;
}

void note_past(BlockedEvals& blocked, const state::Snapshot& snapshot, std::uint64_t since) {
  const auto note = [&](const Object<schema::Node>& node, std::uint64_t index) {
    blocked.note_change(view(node->getComputedClass()), view(node->getId()), index);
  };
  if (const auto settings = snapshot.scheduler_configuration()->getModifyIndex(); settings > since)
    blocked.note_change(settings);
  // Which namespaces had which quota is not known any more.
  for (const auto table : {state::Table::namespaces, state::Table::quotas})
    if (const auto index = snapshot.index(table); index > since) blocked.note_change(index);
  if (const auto index = snapshot.index(state::Table::csi_plugins); index > since)
    blocked.note_volumes(index);
  for (const auto& entry : snapshot.nodes())
    if (entry.value()->getModifyIndex() > since)
      note(entry.value(), entry.value()->getModifyIndex());
  for (const auto& entry : snapshot.allocs()) {
    const auto& row = entry.value();
    if (!row->terminal() || row->alloc->modify_index() <= since) continue;
    if (const auto quota = snapshot.quota_of(row->alloc->ns()); !quota.empty())
      blocked.note_quota(quota, row->alloc->modify_index());
    if (!row->client_terminal) continue;
    if (const auto node = snapshot.node(row->alloc->node_id()))
      note(node, row->alloc->modify_index());
  }
}

}  // namespace nomad::cluster
