// ClusterWorld's drains: what operators ask for.
#include "runtime/cluster/drain/drain_commands.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using state::Snapshot;

/// A deadline of some seconds mostly; none, at once, or an end of the drain otherwise.
cluster::DrainRequest ClusterWorld::some_drain() {
  const auto luck = random_.below(10);
  if (luck < 2) return {.mark_eligible = random_.chance(0.7)};
  std::int64_t deadline = 0;
  if (luck == 3) deadline = -1;
  if (luck > 3) deadline = Time{network_.delay(1s, 15s)}.count();
  return {.spec = cluster::DrainSpec{deadline, random_.chance(0.3)}};
}

/// In the end every drain has a deadline that comes soon.
void ClusterWorld::end_drains() {
  auto* boss = leader();
  if (boss == nullptr) return;
  const auto state = boss->store()->snapshot();
  for (const auto& id : state.draining_nodes()) {
    if (!hurried_.insert(id).second) continue;
    const cluster::DrainRequest wish{.spec = cluster::DrainSpec{.deadline = Time{5s}.count()}};
    boss->write(
        [id, wish](const Snapshot& now, const cluster::EvalSeed& seed) {
          return cluster::decide_drain(now, nomad::test::anybody(), id, wish, seed);
        },
        [this, id](const auto& done) {
          if (!done) hurried_.erase(id);
        });
  }
}

}  // namespace nomad::test
