// Replicator: while this server leads a region that is not the authoritative one, keeps what holds
// in all regions here as it is there: policies, roles, global tokens, auth methods, binding rules,
// namespaces, quotas, node pools, admission policies; without access control the last four.
//
// Each kind has its own Replica (runtime/cluster/regions/replica.hpp), whose questions go to the
// authoritative region's leader with the replication token, and whose answers become commands of
// this region's log. Secrets come opened, by the connection of servers, and are sealed by this
// region's root key; a token's hash is made of its secret here.
//
// Owns:   a Replica for each kind, and the question or the write of each that is under way.
// Takes:  Lead.
// Says:   how far it is, as gauges; and, once a minute, what hinders it.
// Parent: server, restart. It begins with a comparison of everything.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/rpc/forwarder.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/cluster/regions/replica.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/server_metrics.hpp"

namespace nomad::server {

struct ReplicatorOptions {
  std::string authority = {};     ///< The authoritative region.
  SecretText token = {};          ///< `acl.replication_token`.
  bool copies_access = true;      ///< Access control is on.
  std::chrono::seconds hold{20};  ///< For how long a question without news is held there.
  cluster::ReplicaOptions replica = {};
  std::uint64_t random_seed = 0;
  std::shared_ptr<telemetry::ServerMetrics> metrics = {};
};

LeaderDuty spawn_replicator(const actor::Owner& owner,
                            std::shared_ptr<state::Store> store,
                            raft::Proposer proposer,
                            std::shared_ptr<security::Keyring> keyring,
                            rpc::Forwarder forwarder,
                            ReplicatorOptions options);

}  // namespace nomad::server
