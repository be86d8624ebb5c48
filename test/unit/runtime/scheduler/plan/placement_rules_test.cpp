// runtime/scheduler/plan/placement_rules: a pool's configuration before the cluster's.
#include "runtime/scheduler/plan/placement_rules.hpp"

#include <memory>
#include <optional>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/state/tables.hpp"

using namespace nomad;
using namespace nomad::scheduler;

namespace {

struct Configured {
  state::Tables tables;

  void cluster(const char* algorithm, bool oversubscription) {
    Draft<schema::SchedulerConfiguration> config;
    config->setSchedulerAlgorithm(algorithm);
    config->setMemoryOversubscriptionEnabled(oversubscription);
    tables.scheduler_config = config.freeze();
  }

  void pool(const char* name, const char* algorithm, std::optional<bool> oversubscription) {
    Draft<schema::NodePool> pool;
    pool->setName(name);
    auto config = pool->initSchedulerConfiguration();
    config.setSchedulerAlgorithm(algorithm);
    if (oversubscription) config.getMemoryOversubscriptionEnabled().setValue(*oversubscription);
    tables.node_pools.insert_or_assign(name, pool.freeze());
  }

  /// "spread+" for the algorithm with oversubscription.
  std::string rules(std::string_view name) {
    const state::Snapshot snapshot{std::make_shared<const state::Tables>(tables)};
    const auto found = placement_rules(snapshot, name);
    return std::string{found.spreads ? "spread" : "binpack"}
           + (found.memory_oversubscription ? "+" : "-");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Configured, "placement rules: the cluster's, unless the pool has its own") {
  CHECK(rules("default") == "binpack-");
  cluster("spread", true);
  CHECK(rules("default") == "spread+");
  pool("packed", "binpack", {});
  CHECK(rules("packed") == "binpack+");
  pool("strict", "", false);
  CHECK(rules("strict") == "spread-");
  pool("silent", "", {});
  CHECK(rules("silent") == "spread+");
  cluster("binpack", false);
  pool("generous", "spread", true);
  CHECK(rules("generous") == "spread+");
  CHECK(rules("unknown") == "binpack-");
}
