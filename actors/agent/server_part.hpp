// ServerPart: the server half of an agent: state, log and the leader's actors, wired.
#pragma once

#include <future>
#include <memory>
#include <string>

#include "actors/agent/cluster_part.hpp"
#include "actors/agent/server_identity.hpp"
#include "actors/core/actor.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/server/decisions/decision_log.hpp"
#include "actors/server/server.hpp"
#include "actors/server/writer.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/identity/rsa_key.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"

namespace nomad::agent {

class ServerPart {
public:
  /// Opens the storage below `<data_dir>/server`, restores the state and starts the actors.
  static Result<ServerPart> start(const actor::Owner& owner,
                                  const config::AgentConfig& config,
                                  const std::string& http_address,
                                  const AgentLinks& links);

  ServerPart(ServerPart&&) = default;

  /// Hands over leadership if it has it; `leaving`: tells the others that it goes for good, and
  /// waits a little to be let go.
  void stop(bool leaving);

  const std::string& id() const { return id_; }

  const std::shared_ptr<state::Store>& store() const { return store_; }

  const std::shared_ptr<const raft::LeaderLease>& lease() const { return raft_->lease; }

  const std::shared_ptr<security::Keyring>& keyring() const { return keyring_; }

  /// Of that keyring.
  const identity::RsaKeyOf& rsa_keys() const { return rsa_keys_; }

  const raft::RaftNode& raft() const { return raft_->node; }

  const raft::StartedRaft& log() const { return *raft_; }

  const ClusterPart& cluster() const { return *cluster_; }

  ClusterPart& cluster() { return *cluster_; }

  const server::NodeSide& nodes() const { return nodes_; }

  const std::shared_ptr<server::SchedulerPool>& schedulers() const { return schedulers_; }

  const server::LockTracker& locks() const { return locks_; }

  /// Empty: this server keeps none.
  const server::DecisionLog& decisions() const { return decisions_; }

  /// How anybody writes.
  const server::Writer& writer() const { return *writer_; }

private:
  using FutureKeyring = std::future<Result<std::shared_ptr<security::Keyring>>>;

  ServerPart() = default;

  Result<> start_parts(const config::AgentConfig& config,
                       const ServerIdentity& identity,
                       const std::string& http_address,
                       const AgentLinks& links,
                       FutureKeyring& keyring);
  std::shared_ptr<server::DecisionFeed> keep_decisions(const AgentLinks& links);
  void start_duties(const config::AgentConfig& config, const AgentLinks& links);
  bool await_removal();

  actor::System* system_ = nullptr;
  std::string id_;
  std::string directory_;  ///< `<data_dir>/server`
  std::optional<ClusterPart> cluster_;
  std::shared_ptr<state::Store> store_;
  std::shared_ptr<raft::StateFsm> fsm_;
  std::shared_ptr<security::Keyring> keyring_;
  identity::RsaKeyOf rsa_keys_;
  std::optional<raft::StartedRaft> raft_;
  server::NodeSide nodes_;
  server::LockTracker locks_;
  server::SchedulerSettings scheduling_;  ///< As configured.
  std::shared_ptr<server::SchedulerPool> schedulers_;
  server::DecisionLog decisions_;
  std::optional<server::Writer> writer_;
  server::Server server_;  ///< Owns every actor of this part.
};

}  // namespace nomad::agent
