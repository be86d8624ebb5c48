// JobRegistrar: registers jobs on the leader without a hop through an actor: the thread that has
// the job decides (runtime/cluster) on the newest snapshot and proposes the command itself. What
// the decision could not know, the log checks when it applies (EnforceIndex).
//
// Threads: any. A server that does not lead refuses with `unavailable`; requests that may have to
// go to another server take the way of the ServerApi.
#pragma once

#include <functional>
#include <memory>

#include "actors/raft/proposer.hpp"
#include "actors/server/server_api.hpp"
#include "actors/server/writes.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

class JobRegistrar {
public:
  /// Called once: before `register_job` returns, or on the Raft node's thread.
  using Done = std::function<void(Result<server_api::JobRegistered>)>;

  JobRegistrar(std::shared_ptr<state::Store> store, raft::Proposer proposer);

  void register_job(const server_api::RegisterJob& request, Done done) const;

private:
  std::shared_ptr<state::Store> store_;
  raft::Proposer proposer_;
};

/// The decision on `request`.
Result<cluster::Decision> decide_register(const state::Snapshot& snapshot,
                                          const server_api::RegisterJob& request,
                                          const cluster::EvalSeed& seed);

/// What a decision without a command comes to.
server_api::JobRegistered job_unchanged(const cluster::Decision& decision, std::uint64_t index);

/// What a decision came to once its command was applied.
server_api::JobRegistered job_written(const cluster::Decision& decision, const Committed& written);

}  // namespace nomad::server
