// CoreGc: collects, on the leader, what has ended long enough ago, and what the restore of a
// snapshot left behind whose leader did not finish it.
//
// Owns:   its timers, its searches, and the entries that are still to be written.
// Takes:  Lead. Searches in turns, each on the newest state, so that no thread is busy with it for
//         long, and writes the entries that runtime/cluster/gc_rules chooses, each when the one
//         before it is applied, so that other writes never wait behind more than one.
// Parent: server, restart.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/cluster/gc_rules.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/server_metrics.hpp"

namespace nomad::server {

struct CoreGcOptions {
  /// From the begin of a leadership to its first search, if that is less than an interval: where
  /// leaders change more often than that, nothing would ever be collected.
  std::chrono::nanoseconds first = std::chrono::seconds{30};
  std::chrono::nanoseconds interval = std::chrono::minutes{5};
  std::chrono::nanoseconds job_interval = std::chrono::minutes{5};  ///< Of jobs.
  cluster::GcThresholds thresholds;
  std::shared_ptr<telemetry::ServerMetrics> metrics = telemetry::ServerMetrics::make(nullptr);
};

LeaderDuty spawn_core_gc(const actor::Owner& owner,
                         std::shared_ptr<state::Store> store,
                         raft::Proposer proposer,
                         CoreGcOptions options);

}  // namespace nomad::server
