#include "test/properties/mistakes.hpp"

#include "test/support/drain_mistakes.hpp"

namespace nomad::properties {
namespace {

using cluster::EvalSeed;
using cluster::RolloutStep;

/// Looks at no deployment.
RolloutStep look_away(const state::Snapshot&, std::string_view, const EvalSeed&) {
  return {};
}

/// Promotes whatever runs, healthy or not.
RolloutStep promote_at_once(const state::Snapshot& state,
                            std::string_view id,
                            const EvalSeed& seed) {
  auto step = cluster::next_rollout_step(state, id, seed);
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
RolloutStep forget_deadlines(const state::Snapshot& state,
                             std::string_view id,
                             const EvalSeed& seed) {
  auto step = cluster::next_rollout_step(state, id, {0, seed.random});
  step.look_again = 0;
  return step;
}

}  // namespace

std::vector<NamedMistake> all_mistakes() {
  std::vector<NamedMistake> all;
  for (const auto& [mistake, name] : scheduler::mistake_names)
    if (mistake != scheduler::Mistake::none) all.push_back({std::string{name}, mistake, {}});
  all.push_back({"hasty_drainer", {}, {.drain = test::drain_hastily}});
  all.push_back({"late_drainer", {}, {.drain = test::drain_late}});
  all.push_back({"greedy_drainer", {}, {.drain = test::drain_greedily}});
  all.push_back({"blind_watcher", {}, {.rollout = look_away}});
  all.push_back({"hasty_watcher", {}, {.rollout = promote_at_once}});
  all.push_back({"late_watcher", {}, {.rollout = forget_deadlines}});
  all.push_back({"deaf_broker", {}, {.hears_of_room = false}});
  return all;
}

}  // namespace nomad::properties
