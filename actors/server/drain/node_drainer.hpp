// NodeDrainer: moves the allocations of draining nodes away, on the leader, and ends drains.
//
// Owns:   a subscription and a deadline for each draining node, and a subscription for each job
//         that they wait for; found again in the state when leadership begins.
// Takes:  Lead. Hears of drains, nodes and jobs through the state's watches. What changed is looked
//         at together, in rounds (runtime/cluster/drain/drain_plan); the next round begins when
//         what the last one wrote is applied.
// Writes: marks of allocations with their evaluations, ends of drains, events of nodes.
// Parent: server, restart, and waits until the log has what it had under way.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/cluster/drain/drain_plan.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

struct NodeDrainerOptions {
  /// From one round to the next, so that reports that come close together make one.
  std::chrono::milliseconds round_period{200};
  std::uint64_t random_seed = 0;
  /// Unix nanoseconds; tests set their own.
  std::function<std::int64_t()> wall_clock{};
  /// What decides.
  std::function<decltype(cluster::next_drain_round)> decide = cluster::next_drain_round;
};

LeaderDuty spawn_node_drainer(const actor::Owner& owner,
                              std::shared_ptr<state::Store> store,
                              raft::Proposer proposer,
                              NodeDrainerOptions options);

}  // namespace nomad::server
