// DeploymentWatcher: moves deployments on, on the leader: when allocations report health, when
// canaries may be promoted, when progress is overdue.
//
// Owns:   a subscription and a deadline for each active deployment; found again in the state when
//         leadership begins.
// Takes:  Lead. Hears of changes through the state's watches and asks runtime/cluster/rollout what
//         follows from them.
// Writes: evaluations, promotions, failures with their rollback.
// Parent: server, restart.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

struct DeploymentWatcherOptions {
  /// A deployment is looked at at most this often, so that reports that come close together call
  /// for one evaluation.
  std::chrono::milliseconds batch_period{200};
  std::uint64_t random_seed = 0;
};

LeaderDuty spawn_deployment_watcher(const actor::Owner& owner,
                                    std::shared_ptr<state::Store> store,
                                    raft::Proposer proposer,
                                    DeploymentWatcherOptions options);

}  // namespace nomad::server
