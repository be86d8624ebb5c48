#include "runtime/scheduler/plan/placement_rules.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::scheduler {

bool may_preempt(std::string_view type, schema::PreemptionConfig::Reader config) {
  if (type == "service") return config.getServiceSchedulerEnabled();
  if (type == "batch") return config.getBatchSchedulerEnabled();
  if (type == "system") return config.getSystemSchedulerEnabled();
  return config.getSysBatchSchedulerEnabled();
}

PlacementRules placement_rules(const state::Snapshot& state, std::string_view node_pool) {
  const auto cluster = state.scheduler_configuration();
  PlacementRules rules{view(cluster->getSchedulerAlgorithm()) == "spread",
                       cluster->getMemoryOversubscriptionEnabled()};
  const auto pool = state.node_pool(node_pool);
  if (!pool || !pool->hasSchedulerConfiguration()) return rules;
  const auto own = pool->getSchedulerConfiguration();
  if (own.getSchedulerAlgorithm().size() > 0)
    rules.spreads = view(own.getSchedulerAlgorithm()) == "spread";
  if (const auto enabled = own.getMemoryOversubscriptionEnabled(); enabled.isValue())
    rules.memory_oversubscription = enabled.getValue();
  return rules;
}

}  // namespace nomad::scheduler
