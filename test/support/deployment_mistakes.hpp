// What deployment watchers of tests decide by, in place of cluster::next_deployment_command: the
// same, or with one of the mistakes that tests must find.
#pragma once

#include <string_view>

#include "runtime/cluster/next_deployment_command.hpp"
#include "runtime/object/draft.hpp"
#include "test/mistakes/mistake.hpp"

namespace nomad::test {

/// Promotes whatever runs, whether anybody has asked for it or not.
inline cluster::NextDeploymentCommand promote_at_once(const state::Snapshot& state,
                                                      std::string_view id,
                                                      const cluster::EvalSeed& seed) {
  auto step = cluster::next_deployment_command(state, id, seed);
  const auto deployment = state.deployment(id);
  if (step.is_over || step.command || !deployment) return step;
  bool waits = false;
  for (const auto group : deployment->getTaskGroups())
    waits = waits || (group.getValue().getDesiredCanaries() > 0 && !group.getValue().getPromoted());
  if (!waits) return step;
  Draft<schema::Command> draft;
  auto promotion = draft->initDeploymentPromotion();
  promotion.setDeploymentId(deployment->getId());
  promotion.setAll(true);
  step.command = draft.freeze();
  return step;
}

/// Lets deadlines pass.
inline cluster::NextDeploymentCommand forget_deadlines(const state::Snapshot& state,
                                                       std::string_view id,
                                                       const cluster::EvalSeed& seed) {
  auto step = cluster::next_deployment_command(state, id, {0, seed.random});
  step.look_again = 0;
  return step;
}

inline cluster::NextDeploymentCommand next_deployment_command(const state::Snapshot& state,
                                                              std::string_view id,
                                                              const cluster::EvalSeed& seed) {
  if (mistake == Mistake::blind_watcher) return {};
  if (mistake == Mistake::hasty_watcher) return promote_at_once(state, id, seed);
  if (mistake == Mistake::late_watcher) return forget_deadlines(state, id, seed);
  return cluster::next_deployment_command(state, id, seed);
}

}  // namespace nomad::test
