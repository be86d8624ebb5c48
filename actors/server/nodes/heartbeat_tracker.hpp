// HeartbeatTracker: the servers' side of a client node's life: it registers, beats, and goes down
// when it falls silent.
//
// Owns:   the lease of every connected client (runtime/cluster). Leases are not persisted; a new
//         leader grants long ones to all nodes that should be alive.
// Takes:  the door's register and heartbeat, GetCount, Lead. The status of one node changes one
// step at a
//         time, each decided on what the last one left (runtime/cluster/node_commands.hpp). While
//         it does not lead, everybody is told `unavailable`.
// Parent: server, restart. All leases begin anew, as with a new leader, when what it had under way
//         is settled.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/nodes/known_server.hpp"
#include "runtime/cluster/lease_table.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/server_metrics.hpp"

namespace nomad::server {

namespace heartbeat {

/// How many leases there are, for metrics.
struct Count {
  using is_message = void;
  std::size_t leases = 0;
};

struct GetCount {
  using is_message = void;
};

}  // namespace heartbeat

using HeartbeatTracker
    = actor::Interface<door::Reply(door::Ask), heartbeat::Count(heartbeat::GetCount), void(Lead)>;

struct HeartbeatOptions {
  cluster::LeaseOptions leases;
  std::chrono::milliseconds scan_interval{1'000};  ///< Worst-case delay of a report.
  std::uint64_t random_seed = 0;
  KnownServers servers{};  ///< Told with each lease; empty: nobody.
  /// Whether writes are refused for want of room on the disk, and not because there are too many.
  std::function<bool()> lacks_room{};
  std::shared_ptr<telemetry::ServerMetrics> metrics = telemetry::ServerMetrics::make(nullptr);
};

HeartbeatTracker spawn_heartbeat_tracker(const actor::Owner& owner,
                                         std::shared_ptr<state::Store> store,
                                         raft::Proposer proposer,
                                         HeartbeatOptions options);

}  // namespace nomad::server
