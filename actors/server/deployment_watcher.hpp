// DeploymentWatcher: moves one deployment on: when its allocations report health, when its canaries
// may be promoted, when its progress is overdue.
//
// Owns:   a subscription to its deployment and its allocations, and the timer of its deadline; all
//         of it found again in the state when it begins.
// Takes:  nothing. Hears of changes through the state's watches and asks
// runtime/cluster/next_deployment_command
//         what follows from them.
// Writes: evaluations, promotions, failures with their rollback.
// Parent: deployment_watchers, report: another one follows. One for each active deployment.
// Ends:   by itself when the deployment is over, else by the parent's exit message.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"
#include "actors/raft/proposer.hpp"
#include "runtime/cluster/next_deployment_command.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

using DeploymentWatcher = actor::Interface<>;

struct DeploymentWatcherOptions {
  /// A deployment is looked at at most this often, so that reports that come close together call
  /// for one evaluation.
  std::chrono::milliseconds batch_period{200};
  /// Unhealthy allocations are replaced this long after the first of them was noticed.
  std::chrono::milliseconds replace_delay{1000};
  std::uint64_t random_seed = 0;
  /// What decides.
  std::function<decltype(cluster::next_deployment_command)> decide
      = cluster::next_deployment_command;
};

DeploymentWatcher spawn_deployment_watcher(const actor::Owner& owner,
                                           std::shared_ptr<state::Store> store,
                                           raft::Proposer proposer,
                                           std::string deployment_id,
                                           DeploymentWatcherOptions options);

}  // namespace nomad::server
