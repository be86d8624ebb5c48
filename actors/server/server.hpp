// Server: owns the actors of a server: tells those that work on the leader when this server leads
// and when it does no more, has them begin anew when one of them has lost its state, and ends when
// one ends that cannot.
//
// Owns:   everything of its half of the agent; what is known of leadership, and the list of duties.
// Takes:  LeadershipChanged from the Raft node, AddDuty, StateReplaced.
// Tells:  each duty Lead{true} only when the state holds everything that was acknowledged before,
//         and Lead{false} at once.
// Parent: root, report: its end is the agent's. It exists before the Raft node does.
// Ends:   by an exit message, or with a reason when one ends that it cannot do without.
#pragma once

#include <memory>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/core/latest.hpp"
#include "actors/core/supervise.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/roles/node_questions.hpp"
#include "actors/server/core_gc.hpp"
#include "actors/server/decisions/decision_feed.hpp"
#include "actors/server/deployment_watcher.hpp"
#include "actors/server/drain/node_drainer.hpp"
#include "actors/server/keyring_rotator.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/lock_tracker.hpp"
#include "actors/server/nodes/heartbeat_tracker.hpp"
#include "actors/server/nodes/node_endpoint.hpp"
#include "actors/server/plan_applier.hpp"
#include "actors/server/regions/region_rows.hpp"
#include "actors/server/regions/replicator.hpp"
#include "actors/server/scheduler_pool.hpp"
#include "runtime/identity/rsa_key.hpp"

namespace nomad::server {

/// From now on `duty` hears of leadership, starting with how it is. It begins anew when it has lost
/// its state, or one of `helpers` has. The same duty may come again, with more of these.
struct AddDuty {
  using is_message = void;
  LeaderDuty duty;
  std::vector<actor::Any> helpers = {};
};

/// The whole state was replaced: if this server leads, its duties begin anew.
struct StateReplaced {
  using is_message = void;
};

using Server = actor::Interface<void(raft::LeadershipChanged), void(AddDuty), void(StateReplaced)>;

Server spawn_server(const actor::Owner& owner);

/// What the duties work with.
struct ServerParts {
  std::shared_ptr<state::Store> store;
  std::shared_ptr<raft::StateFsm> fsm;
  raft::Proposer proposer;
  std::shared_ptr<const raft::LeaderLease> lease;
  std::shared_ptr<security::Keyring> keyring;
  SealedLink sealed;
  rpc::Forwarder forwarder = {};        ///< To other regions; empty: none is asked.
  identity::RsaKeyOf rsa_keys = {};     ///< Of `keyring`; empty: made of it.
  actor::Latest<AskedNode> nodes = {};  ///< Who asks client nodes; empty until somebody can.
};

/// Seeds are drawn, whatever is given.
struct DutyOptions {
  HeartbeatOptions heartbeats;
  CoreGcOptions gc;
  DeploymentWatcherOptions deployments = {};
  KeyringRotatorOptions keyring;
  NodeDrainerOptions drainer{};
  SchedulerSettings schedulers = {};
  bool detached_workers = true;  ///< Not in deterministic tests.
  Object<schema::SchedulerConfiguration> default_configuration = {};  ///< If the state has none.
  PlanApplierOptions plans = {};
  std::shared_ptr<const JobTypes> job_types = {};     ///< Of plugins; null: none.
  std::shared_ptr<DecisionFeed> decisions = {};       ///< Who is told of them; null: nobody.
  std::shared_ptr<telemetry::Registry> metrics = {};  ///< Null: nothing is measured.
  ReplicatorOptions replication = {};  ///< Without an authority this region is its own.
  std::string oidc_issuer = {};        ///< Who third parties know the servers' identities by.
  bool enforces_access = true;    ///< Tasks read by their own rights (Authenticator::enforces).
  std::string region = "global";  ///< The server's own, by whose limits quotas bound.
};

/// What `start_duties` has spawned.
struct Duties {
  NodeSide nodes;
  RegionRows region_rows;
  LockTracker locks;
  std::shared_ptr<SchedulerPool> schedulers;
  std::vector<actor::Any> all;  ///< For simulations, whose machines die at once.
};

/// Spawns, below `server`, the actors that work while it leads and those that serve them, and has
/// them hear of what is applied.
Duties start_duties(const Server& server,
                    const ServerParts& parts,
                    DutyOptions options,
                    Random& random);

}  // namespace nomad::server
