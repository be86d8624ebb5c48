// LockTracker: lifts locks of variables that are not renewed in time, on the leader.
//
// Owns:   the times of all locks (runtime/cluster/variables/lock_timers), made from the state when
//         leadership begins: each lock then has its whole TTL again. Renewals are nowhere else.
// Takes:  Lead, LocksChanged from whoever hears of applied commands, RenewLock.
// Writes: the release of a lock whose delay is over.
// Parent: server, restart. Who waits for an answer is told `unavailable`.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// Locks of these variables (their keys) were taken or lifted, and a snapshot shows it.
struct LocksChanged {
  using is_message = void;
  std::vector<std::string> variables;
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
