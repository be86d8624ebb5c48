// HeartbeatTracker: notices on the leader that a client has gone silent.
//
// Owns:   the lease of every connected client (runtime/cluster). Leases are not persisted; a new
//         leader grants long ones to all nodes that should be alive.
// Takes:  Renew, Forget, Lead. Tells its listener Missed, urgently, once per lost node.
// Parent: the leader.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/cluster/lease_table.hpp"

namespace nomad::server {

namespace heartbeat {

/// How long the client may stay silent from now on.
struct Lease {
  using is_message = void;
  std::chrono::milliseconds ttl{0};
};

/// A client checked in. Answered with its `Lease`; `unavailable` while not leading.
struct Renew {
  using is_message = void;
  std::string node;
};

/// The node is down or gone and known to be so; do not report it as lost.
struct Forget {
  using is_message = void;
  std::string node;
};

/// A node let its lease run out.
struct Missed {
  using is_message = void;
  std::string node;
};

/// How many leases there are, for metrics.
struct Count {
  using is_message = void;
  std::size_t leases = 0;
};

struct GetCount {
  using is_message = void;
};

}  // namespace heartbeat

using HeartbeatTracker = actor::Interface<heartbeat::Lease(heartbeat::Renew),
                                          void(heartbeat::Forget),
                                          heartbeat::Count(heartbeat::GetCount),
                                          void(Lead)>;

/// Whoever marks lost nodes down; the node endpoint.
using MissedHeartbeatListener = actor::Interface<void(heartbeat::Missed)>;

struct HeartbeatOptions {
  cluster::LeaseOptions leases;
  std::chrono::milliseconds scan_interval{1'000};  ///< Worst-case delay of a report.
  std::uint64_t random_seed = 0;
};

HeartbeatTracker spawn_heartbeat_tracker(actor::System& system,
                                         std::shared_ptr<state::Store> store,
                                         MissedHeartbeatListener listener,
                                         HeartbeatOptions options);

}  // namespace nomad::server
