#include "actors/server/core_gc.hpp"

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/restore_commands.hpp"

namespace nomad::server {
namespace {

struct Collect {
  using is_message = void;
  std::uint64_t term;  ///< Counts leaderships; a timer of an earlier one is stale.
};

using GcSelf = actor::WithInternal<LeaderDuty, void(Collect), void(WriteDone)>;

struct GcState {
  static constexpr const char* name = "core_gc";

  std::optional<ActorProposer> writes;
  std::uint64_t term = 0;
};

using GcPointer = GcSelf::stateful_pointer<GcState>;

void collect(GcPointer self, const state::Snapshot& snapshot, const CoreGcOptions& options) {
  for (const auto& command : cluster::collect_garbage(snapshot, options.thresholds, unix_now()))
    self->state.writes->propose(GcSelf{self}, command, [](const Result<Committed>& committed) {
      if (!committed) log::warn("core_gc", "{}", committed.error().what);
    });
}

/// Whoever led before was writing it. Not left to `collect`: all servers hold a whole state twice.
void abandon_restore(GcPointer self, const state::Snapshot& snapshot) {
  const auto id = cluster::restore_under_way(snapshot);
  if (id.empty()) return;
  log::warn("core_gc", "the restore of a snapshot ended with its leader: its rows are dropped");
  self->state.writes->propose(
      GcSelf{self}, cluster::abandon_restore(id), [](const Result<Committed>& dropped) {
        if (!dropped && !cluster::is_abandoned(dropped.error()))
          log::warn("core_gc", "the next leader has to drop them: {}", dropped.error().what);
      });
}

GcSelf::behavior_type core_gc(GcPointer self,
                              std::shared_ptr<state::Store> store,
                              raft::Proposer proposer,
                              CoreGcOptions options) {
  self->state.writes.emplace(std::move(proposer), access::own_work("core_gc"));

  return {
      [self, store, options](Lead msg) {
        const auto term = ++self->state.term;
        if (!msg.leads) return;
        abandon_restore(self, store->snapshot());
        actor::send_self_after(self, options.interval, Collect{term});
      },
      [self, store, options](Collect msg) {
        if (msg.term != self->state.term) return;
        collect(self, store->snapshot(), options);
        actor::send_self_after(self, options.interval, Collect{msg.term});
      },
      [self](const WriteDone& msg) { self->state.writes->finish(msg); },
  };
}

}  // namespace

LeaderDuty spawn_core_gc(const actor::Owner& owner,
                         std::shared_ptr<state::Store> store,
                         raft::Proposer proposer,
                         CoreGcOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, core_gc, std::move(store), std::move(proposer),
                                              options);
}

}  // namespace nomad::server
