// DeploymentWatchers: has a watcher for each active deployment, on the leader.
//
// Owns:   the deployment_watchers, by deployment; a subscription to the deployments, of which it
//         looks at those that came since its last look, never at all of them.
// Takes:  Lead.
// Parent: server, restart: it finds the active deployments again in the state.
// Ends:   by the parent's exit message, and its watchers with it.
#pragma once

#include <memory>

#include "actors/server/deployment_watcher.hpp"
#include "actors/server/leadership.hpp"

namespace nomad::server {

/// `options` are those of each watcher; their seeds are drawn.
LeaderDuty spawn_deployment_watchers(const actor::Owner& owner,
                                     std::shared_ptr<state::Store> store,
                                     raft::Proposer proposer,
                                     DeploymentWatcherOptions options);

}  // namespace nomad::server
