#include "runtime/cluster/drain/drain_commands.hpp"

#include <limits>

#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::cluster {
namespace {

/// What the requests of an operator and of a node have in common.
struct DrainUpdate {
  const DrainRequest& request;
  std::string_view accessor;  ///< Who asks, as the node's LastDrain names him.
};

std::string_view drain_news(bool drains, bool is_to) {
  if (!is_to) return "Node drain disabled";
  return drains ? "Node drain strategy updated" : "Node drain strategy set";
}

void fill_strategy(schema::DrainStrategy::Builder strategy,
                   const DrainSpec& spec,
                   schema::Node::Reader node,
                   std::int64_t now) {
  strategy.setDeadline(spec.deadline);
  strategy.setIgnoreSystemJobs(spec.ignore_system_jobs);
  strategy.setStartedAt(node.hasDrainStrategy() ? node.getDrainStrategy().getStartedAt() : now);
  if (spec.deadline > 0) strategy.setForceDeadline(now + spec.deadline);
}

Result<NodeDecision> update_drain(const state::Snapshot& snapshot,
                                  const access::Allowed& allowed,
                                  const Object<schema::Node>& node,
                                  const DrainUpdate& update,
                                  const EvalSeed& seed) {
  const auto& request = update.request;
  if (request.spec && request.spec->deadline > std::numeric_limits<std::int64_t>::max() - seed.now)
    return Error{
        Errc::invalid_argument,
        "the deadline of a drain is in nanoseconds from now, and this one is too far away"};
  Draft<schema::Command> draft;
  auto command = draft->initNodeDrainUpdate();
  command.setNodeId(node->getId());
  command.setMarkEligible(request.mark_eligible);
  command.setUpdatedAt(seed.now / 1'000'000'000);
  if (request.spec) fill_strategy(command.initDrainStrategy(), *request.spec, *node, seed.now);
  if (node->hasDrainStrategy() || request.spec) {
    auto last = command.initLastDrain();
    last.setAccessorId(text(update.accessor));
    fill_entries(last.initMeta(static_cast<unsigned>(request.meta.size())), request.meta);
    auto event = command.initEvent();
    event.setSubsystem("Drain");
    event.setMessage(text(drain_news(node->hasDrainStrategy(), request.spec.has_value())));
    event.setTimestamp(seed.now);
  }
  const bool opens
      = !request.spec && request.mark_eligible
        && node->getSchedulingEligibility() == schema::SchedulingEligibility::INELIGIBLE;
  std::vector<std::string> ids;
  if (opens) {
    const auto evals = evals_for_node(snapshot, view(node->getId()), seed);
    auto list = command.initEvaluations(static_cast<unsigned>(evals.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list.setWithCaveats(i, *evals[i]);
      ids.push_back(copy(evals[i]->getId()));
    }
  }
  NodeDecision decision{allowed, draft.freeze(), std::move(ids)};
  if (opens) decision.evaluates = view(node->getId());
  return decision;
}

}  // namespace

Result<NodeDecision> decide_drain(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  std::string_view node_id,
                                  const DrainRequest& request,
                                  const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto node = snapshot.node(node_id);
  if (!node) return Error{Errc::not_found, "node not found"};
  return update_drain(snapshot, allowed, node, {request, {}}, seed);
}

Result<NodeDecision> decide_own_drain(const state::Snapshot& snapshot,
                                      std::string_view node_id,
                                      const DrainSpec& spec,
                                      const EvalSeed& seed) {
  const auto node = snapshot.node(node_id);
  if (!node) return Error{Errc::not_found, "node not found"};
  const DrainRequest request{.spec = spec, .meta = {{"message", "shutting down"}}};
  return update_drain(snapshot, access::own_work("nodes"), node, {request, view(node->getId())},
                      seed);
}

}  // namespace nomad::cluster
