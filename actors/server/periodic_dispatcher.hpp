// PeriodicDispatcher: launches periodic jobs at their times, on the leader.
//
// Owns:   the schedule (runtime/cluster/periodic), made from the state when leadership begins and
//         kept up with the jobs table.
// Takes:  Lead.
// Writes: the registration of a child for each launch.
// Parent: server, restart.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

struct PeriodicDispatcherOptions {
  /// Changes of jobs are taken over at most this often.
  std::chrono::milliseconds sync_period{1'000};
  std::uint64_t random_seed = 0;
  /// Unix nanoseconds; tests set their own.
  std::function<std::int64_t()> wall_clock;
};

LeaderDuty spawn_periodic_dispatcher(const actor::Owner& owner,
                                     std::shared_ptr<state::Store> store,
                                     raft::Proposer proposer,
                                     PeriodicDispatcherOptions options);

}  // namespace nomad::server
