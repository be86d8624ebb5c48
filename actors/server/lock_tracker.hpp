// LockTracker: lifts locks of variables that are not renewed in time, on the leader.
//
// Owns:   the times of all locks (runtime/cluster/variables/lock_timers), made from the state when
//         leadership begins: each lock then has its whole TTL again. Renewals are nowhere else.
// Takes:  Lead, LocksChanged from whoever hears of applied commands, RenewLock.
// Writes: the release of a lock whose delay is over, at the index that is known of it: one that its
//         holder has taken again meanwhile stays. Of a variable one at a time.
// Parent: server, restart. Who waits for an answer is told `unavailable`.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// What has happened to variables (by their keys) with locks, and a snapshot shows.
struct LocksChanged {
  using is_message = void;

  /// Its holder has changed what it holds; the lock is as before.
  struct Written {
    std::string variable;
    std::string id;           ///< The lock's.
    std::uint64_t index = 0;  ///< The row's ModifyIndex since.
  };

  std::vector<std::string> variables;  ///< Whose locks were taken or lifted.
  std::vector<Written> written = {};
};

/// The holder of the lock `id` holds on to it. Refused with `conflict` when it is lost.
struct RenewLock {
  using is_message = void;
  std::string variable;  ///< Its key.
  std::string id;
};

struct LockRenewed {
  using is_message = void;
};

using LockTracker = actor::Interface<void(Lead), void(LocksChanged), LockRenewed(RenewLock)>;

/// Without a lease every renewal is answered while this server leads.
LockTracker spawn_lock_tracker(const actor::Owner& owner,
                               std::shared_ptr<state::Store> store,
                               raft::Proposer proposer,
                               std::shared_ptr<const raft::LeaderLease> lease);

}  // namespace nomad::server
