// AllocSync: tells the servers what became of the node's allocations. It only runs the timer and
// the request; what leaves when is decided by workload::SyncBuffer.
//
// Owns:   the buffer of updates, one per allocation.
// Takes:  StateChanged (urgently when ClientStatus changed), Forget, Open, SendNow, Restore.
// Asks:   the servers to updateAllocs, one at a time; saves what was acknowledged, so that a
//         restarted agent sends nothing twice.
// Parent: client, restart. The runners report again.
// Ends:   by the parent's exit message; what was acknowledged is saved first, what was not sent is
//         sent after the next start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/client/report_numbers.hpp"
#include "actors/client/tools/client_db.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/workload/sync_buffer.hpp"

namespace nomad::client {

namespace sync {

/// An allocation's new state. Urgent and normal messages overtake each other, so each carries a
/// number that grows: the newest wins whatever the order of arrival.
struct StateChanged {
  using is_message = void;
  std::string alloc_id;
  std::uint64_t version = 0;
  workload::AllocUpdate update;
  bool again = false;  ///< Send it even if the servers have acknowledged the same before.

  void stand_for(const StateChanged& earlier) { again |= earlier.again; }
};

/// The servers have forgotten the allocation.
struct Forget {
  using is_message = void;
  std::string alloc_id;
};

/// The first answer of the servers has been applied: updates may leave.
struct Open {
  using is_message = void;
};

/// The servers can be reached again.
struct SendNow {
  using is_message = void;
};

/// To the parent: the servers have acknowledged a report.
struct Reported {
  using is_message = void;
  std::vector<std::string> ended;  ///< Allocations whose end it told.
};

/// What the servers had acknowledged when the last agent ended.
struct Restore {
  using is_message = void;
  std::string alloc_id;
  workload::Acknowledged acknowledged;
};

}  // namespace sync

using AllocSync = actor::Interface<void(sync::StateChanged),
                                   void(sync::Forget),
                                   void(sync::Open),
                                   void(sync::SendNow),
                                   void(sync::Restore)>;

using SyncListener = actor::Interface<void(sync::Reported)>;

struct SyncSetup {
  std::string node_id;
  NodeDoor servers;
  ClientDb db;
  SyncListener parent;
  std::shared_ptr<ReportNumbers> numbers;  ///< Outlive the actor.
  workload::SyncOptions timing;
  std::uint64_t seed = 0;
};

AllocSync spawn_alloc_sync(const actor::Owner& owner, SyncSetup setup);

}  // namespace nomad::client
