// What watches deployments and drains in a Cluster.
#include "test/properties/cluster.hpp"
#include "test/support/deployment_mistakes.hpp"
#include "test/support/drain_mistakes.hpp"

namespace nomad::properties {

bool Cluster::watch_deployments() {
  const bool is_due = deployments_due_ && *deployments_due_ <= now;
  if (!deployments_changed_ && !is_due) return false;
  deployments_changed_ = false;
  deployments_due_.reset();
  std::vector<std::string> active;
  const auto current = state();
  for (const auto& entry : current.deployments())
    if (state::is_active(entry.value()->getStatus())) active.emplace_back(entry.key());
  bool acted = false;
  for (const auto& id : active) {
    const auto known = state();
    const auto step = test::next_deployment_command(known, id, {now, &random});
    if (step.look_again > now && (!deployments_due_ || step.look_again < *deployments_due_))
      deployments_due_ = step.look_again;
    if (!step.command) continue;
    if (const auto deployment = known.deployment(id))
      checks_.on_deployment(known, *deployment, *step.command, now);
    if (offer(step.command)) acted = true;
  }
  return acted;
}

/// A round when something has changed, once what the last one wrote is applied.
bool Cluster::drain_nodes() {
  if (!drain_commands_.empty()) {
    const auto command = std::move(drain_commands_.front());
    drain_commands_.pop_front();
    offer(command);
    return true;
  }
  const bool is_due = drains_due_ && *drains_due_ <= now;
  if (!drains_changed_ && !is_due) return false;
  drains_changed_ = false;
  drains_due_.reset();
  const auto current = state();
  std::set<std::string> nodes;
  for (auto& id : current.draining_nodes())
    nodes.insert(std::move(id));
  if (nodes.empty() && drained_jobs_.empty()) return false;
  const auto round = test::next_drain_round(current, nodes, drained_jobs_, {now, &random});
  checks_.on_drain(current, round, now);
  bool has_new = false;
  for (const auto& [id, outlook] : round.nodes) {
    for (const auto& job : outlook.jobs)
      has_new = drained_jobs_.insert(job).second || has_new;
    if (outlook.look_again > now && (!drains_due_ || outlook.look_again < *drains_due_))
      drains_due_ = outlook.look_again;
  }
  for (const auto& job : round.finished)
    drained_jobs_.erase(job);
  drains_changed_ = has_new || round.goes_on;
  drain_commands_.insert(drain_commands_.end(), round.commands.begin(), round.commands.end());
  return has_new || !round.commands.empty();
}

}  // namespace nomad::properties
