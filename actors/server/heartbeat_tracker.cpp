#include "actors/server/heartbeat_tracker.hpp"

#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::server {
namespace {

/// The timer that makes the tracker look for expired leases, while there are any.
struct Scan {
  using is_message = void;
};

using TrackerSelf = actor::WithInternal<HeartbeatTracker, void(Scan)>;

struct TrackerState {
  static constexpr const char* name = "heartbeat_tracker";

  cluster::LeaseTable leases;
  Random random{0};
  bool leads = false;
  bool scanning = false;
};

using TrackerPointer = TrackerSelf::stateful_pointer<TrackerState>;

void keep_scanning(TrackerPointer self, std::chrono::milliseconds interval) {
  if (self->state.scanning || self->state.leases.size() == 0) return;
  self->state.scanning = true;
  actor::send_self_after(self, interval, Scan{});
}

/// A new leader cannot know when each client was last heard; all get a long lease, also those that
/// are away and may come back: it ends when they have been away too long.
void establish(TrackerPointer self,
               const state::Snapshot& snapshot,
               const HeartbeatOptions& options) {
  const auto deadline = self->now() + options.leases.failover_ttl;
  for (const auto& entry : snapshot.nodes()) {
    const auto status = entry.value()->getStatus();
    if (status != schema::NodeStatus::DOWN)
      self->state.leases.renew(copy(entry.value()->getId()), deadline);
  }
}

TrackerSelf::behavior_type heartbeat_tracker(TrackerPointer self,
                                             std::shared_ptr<state::Store> store,
                                             MissedHeartbeatListener listener,
                                             HeartbeatOptions options) {
  self->state.random = Random{options.random_seed};

  return {
      [self, options](const heartbeat::Renew& msg) -> actor::Answer<heartbeat::Lease> {
        auto& state = self->state;
        if (!state.leads) return Error{Errc::unavailable, "No cluster leader"};
        const auto ttl = cluster::lease_ttl(state.leases.size(), options.leases, state.random);
        state.leases.renew(msg.node, self->now() + ttl + options.leases.grace);
        keep_scanning(self, options.scan_interval);
        return heartbeat::Lease{ttl};
      },
      [self](const heartbeat::Forget& msg) { self->state.leases.forget(msg.node); },
      [self](heartbeat::GetCount) { return heartbeat::Count{self->state.leases.size()}; },
      [self, store, options](Lead msg) {
        self->state.leases = {};
        self->state.leads = msg.leads;
        if (!msg.leads) return;
        establish(self, store->snapshot(), options);
        keep_scanning(self, options.scan_interval);
      },
      [self, listener, options](Scan) {
        self->state.scanning = false;
        for (auto& node : self->state.leases.expire(self->now()))
          actor::send_urgent(self, listener, heartbeat::Missed{std::move(node)});
        keep_scanning(self, options.scan_interval);
      },
  };
}

}  // namespace

HeartbeatTracker spawn_heartbeat_tracker(actor::System& system,
                                         std::shared_ptr<state::Store> store,
                                         MissedHeartbeatListener listener,
                                         HeartbeatOptions options) {
  return actor::spawn(system, heartbeat_tracker, std::move(store), std::move(listener), options);
}

}  // namespace nomad::server
