#include "actors/server/lock_tracker.hpp"

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/variables/lock_commands.hpp"
#include "runtime/cluster/variables/lock_timers.hpp"

namespace nomad::server {
namespace {

/// So many are lifted in one turn.
constexpr std::size_t lifted_at_once = 256;

/// A lock may be due.
struct LockDue {
  using is_message = void;
  std::uint64_t round;
};

using LockTrackerSelf = actor::WithInternal<LockTracker, void(LockDue)>;

cluster::LockTimers::Lock lock_of(schema::Variable::Reader variable) {
  const auto lock = variable.getLock();
  return {.id = copy(lock.getId()),
          .ttl = std::chrono::nanoseconds{lock.getTtl()},
          .delay = std::chrono::nanoseconds{lock.getLockDelay()},
          .index = variable.getModifyIndex()};
}

struct LockTrackerState {
  static constexpr const char* name = "lock_tracker";

  using Self = LockTrackerSelf::stateful_pointer<LockTrackerState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  std::shared_ptr<const raft::LeaderLease> lease;
  cluster::LockTimers timers;
  bool leads = false;
  std::uint64_t round = 0;  ///< Of the newest LockDue timer.
  actor::Timer timer{};     ///< That one; there is no other.

  void lead(bool now_leads) {
    leads = now_leads;
    timers.clear();
    if (leads) {
      const auto snapshot = store->snapshot();
      for (const auto& entry : snapshot.tables().variables_locked.all())
        look_at(snapshot, entry.key());
    }
    arm();
  }

  void changed(const LocksChanged& msg) {
    if (!leads) return;
    const auto snapshot = store->snapshot();
    for (const auto& variable : msg.variables)
      look_at(snapshot, variable);
    for (const auto& [variable, id, index] : msg.written)
      timers.written(variable, id, index);
    arm();
  }

  void look_at(const state::Snapshot& snapshot, std::string_view variable) {
    const auto* row = snapshot.variables_map().find(variable);
    if (row != nullptr && (*row)->hasLock())
      timers.held(std::string{variable}, lock_of(**row), self->now());
    else
      timers.lifted(std::string{variable});
  }

  actor::Answer<LockRenewed> renew(const RenewLock& msg) {
    if (!leads) return no_leader();
    const auto renewed = timers.renew(msg.variable, msg.id, self->now());
    // Another leader may have lifted it already.
    if (lease && !lease->holds()) return no_leader();
    if (!renewed) return renewed.error();
    arm();
    return LockRenewed{};
  }

  void arm() {
    self->cancel(timer);
    ++round;
    const auto next = timers.next();
    if (!next) return;
    const auto left = std::max<std::chrono::nanoseconds>(*next - self->now(), {});
    timer = actor::send_self_after(self, left, LockDue{round});
  }

  void work() {
    for (const auto& due : timers.take_due(self->now(), lifted_at_once))
      lift(due);
    arm();
  }

  void lift(const cluster::LockTimers::Due& due) {
    const auto end = due.variable.find('\0');
    const auto ns = due.variable.substr(0, end);
    const auto path = due.variable.substr(std::min(end, due.variable.size() - 1) + 1);
    log::info("locks", "the lock of a variable was not renewed: it is lifted",
              {{"namespace", ns}, {"path", path}});
    writes->propose(
        cluster::release_lock(ns, path, due.id, unix_now(), due.index),
        [this, due, ns, path](const Result<Committed>& done) {
          if (done) return;
          timers.failed(due, self->now());
          arm();
          // Its holder may have given it up meanwhile, have taken it again, or have written.
          if (done.error().code == Errc::conflict || done.error().code == Errc::not_found) return;
          log::warn("locks", "the lock of a variable could not be lifted, and is tried again",
                    {{"namespace", ns},
                     {"path", path},
                     {"delay", format_duration(cluster::LockTimers::retry_after)},
                     {"error", done.error()}});
        });
  }
};

LockTrackerSelf::behavior_type lock_tracker(LockTrackerState::Self self,
                                            std::shared_ptr<state::Store> store,
                                            raft::Proposer proposer,
                                            std::shared_ptr<const raft::LeaderLease> lease) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("lock_tracker"));
  state.lease = std::move(lease);
  return {
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](const LocksChanged& msg) { self->state.changed(msg); },
      [self](const RenewLock& msg) { return self->state.renew(msg); },
      [self](LockDue msg) {
        if (msg.round == self->state.round) self->state.work();
      },
  };
}

}  // namespace

LockTracker spawn_lock_tracker(const actor::Owner& owner,
                               std::shared_ptr<state::Store> store,
                               raft::Proposer proposer,
                               std::shared_ptr<const raft::LeaderLease> lease) {
  return actor::spawn<actor::Policy::restart>(owner, lock_tracker, std::move(store),
                                              std::move(proposer), std::move(lease));
}

}  // namespace nomad::server
