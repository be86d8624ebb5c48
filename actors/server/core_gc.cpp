#include "actors/server/core_gc.hpp"

#include <deque>
#include <iterator>

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
  cluster::GcKinds kinds;
};

using GcSelf = actor::WithInternal<LeaderDuty, void(Collect), void(WriteDone)>;

struct GcState {
  static constexpr const char* name = "core_gc";

  std::optional<ActorProposer> writes;
  std::uint64_t term = 0;
  std::deque<Object<schema::Command>> garbage;  ///< To be written; the first is under way.
};

using GcPointer = GcSelf::stateful_pointer<GcState>;

constexpr cluster::GcKinds only_jobs{.jobs = true, .others = false};
constexpr cluster::GcKinds all_others{.jobs = false, .others = true};

void write_first(GcPointer self) {
  if (self->state.garbage.empty()) return;
  self->state.writes->propose(GcSelf{self}, self->state.garbage.front(),
                              [self, term = self->state.term](const Result<Committed>& committed) {
                                auto& state = self->state;
                                if (term != state.term) return;
                                state.garbage.pop_front();
                                if (committed) return write_first(self);
                                log::warn("core_gc", "{} entries are left to the next search: {}",
                                          state.garbage.size() + 1, committed.error().what);
                                state.garbage.clear();
                              });
}

void collect(GcPointer self,
             const state::Snapshot& snapshot,
             const CoreGcOptions& options,
             cluster::GcKinds kinds) {
  auto found = cluster::collect_garbage(snapshot, options.thresholds, unix_now(), kinds);
  auto& garbage = self->state.garbage;
  const bool is_writing = !garbage.empty();
  garbage.insert(garbage.end(), std::make_move_iterator(found.begin()),
                 std::make_move_iterator(found.end()));
  if (!is_writing) write_first(self);
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
        self->state.garbage.clear();
        if (!msg.leads) return;
        abandon_restore(self, store->snapshot());
        actor::send_self_after(self, options.job_interval, Collect{term, only_jobs});
        actor::send_self_after(self, options.interval, Collect{term, all_others});
      },
      [self, store, options](Collect msg) {
        if (msg.term != self->state.term) return;
        collect(self, store->snapshot(), options, msg.kinds);
        actor::send_self_after(self, msg.kinds.jobs ? options.job_interval : options.interval, msg);
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
