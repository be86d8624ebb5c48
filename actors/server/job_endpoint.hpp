// JobEndpoint: the writes that the API asks of the servers for jobs, allocations, evaluations,
// deployments and the cluster's settings. What each writes is decided by runtime/cluster on the
// newest snapshot; what a decision's conditions were is judged again when it is applied.
//
// Owns:   the answers that are still being written.
// Takes:  what ServerApi takes, except the node writes, which it forwards to the node endpoint.
// Parent: the leader.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/node_endpoint.hpp"
#include "actors/server/server_api.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

struct JobEndpointOptions {
  NodeEndpoint nodes;
  std::uint64_t random_seed = 0;
};

ServerApi spawn_job_endpoint(actor::System& system,
                             std::shared_ptr<state::Store> store,
                             raft::Proposer proposer,
                             JobEndpointOptions options);

}  // namespace nomad::server
