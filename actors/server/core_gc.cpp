#include "actors/server/core_gc.hpp"

#include <algorithm>
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

/// The next turn of the search that is under way.
struct NextTurn {
  using is_message = void;
  std::uint64_t term;
};

using GcSelf = actor::WithInternal<LeaderDuty, void(Collect), void(NextTurn)>;

/// A turn takes about a millisecond, and others have theirs before the next one.
constexpr std::size_t rows_a_turn = 1'000;
constexpr std::chrono::milliseconds between_turns{1};

struct GcState {
  static constexpr const char* name = "core_gc";

  std::shared_ptr<state::Store> store;
  CoreGcOptions options;
  std::optional<ActorProposer> writes;
  std::uint64_t term = 0;
  std::deque<cluster::GarbageSearch> searches;  ///< The first is under way.
  std::deque<Object<schema::Command>> garbage;  ///< What a turn found; the first is being written.
};

using GcPointer = GcSelf::stateful_pointer<GcState>;

constexpr cluster::GcKinds only_jobs{.jobs = true, .others = false};
constexpr cluster::GcKinds all_others{.jobs = false, .others = true};

void go_on_later(GcPointer self) {
  if (!self->state.searches.empty())
    actor::send_self_after(self, between_turns, NextTurn{self->state.term});
}

void on_written(GcPointer self, const Result<Committed>& committed);

/// The next turn comes when all that this one found is written.
void write_first(GcPointer self) {
  if (self->state.garbage.empty()) return go_on_later(self);
  const auto begun = self->now();
  self->state.writes->propose(self->state.garbage.front(), [self, begun, term = self->state.term](
                                                               const Result<Committed>& committed) {
    self->state.options.metrics->measure("eval.reap", self->now() - begun);
    if (term == self->state.term) on_written(self, committed);
  });
}

void on_written(GcPointer self, const Result<Committed>& committed) {
  auto& state = self->state;
  state.garbage.pop_front();
  if (committed) return write_first(self);
  log::warn("gc", "what is left is collected later", {{"error", committed.error()}});
  state.garbage.clear();
  state.searches.clear();
}

void take_turn(GcPointer self) {
  auto& state = self->state;
  auto& search = state.searches.front();
  auto found = search.turn(state.store->snapshot(), unix_now(), rows_a_turn);
  if (search.is_done()) state.searches.pop_front();
  state.garbage.assign(std::make_move_iterator(found.begin()),
                       std::make_move_iterator(found.end()));
  write_first(self);
}

void collect(GcPointer self, cluster::GcKinds kinds) {
  auto& state = self->state;
  if (state.searches.size() > 1) return;  // slower than the timers: the next one is for this, too
  const bool is_busy = !state.searches.empty() || !state.garbage.empty();
  state.searches.emplace_back(state.options.thresholds, kinds);
  if (!is_busy) take_turn(self);
}

/// Whoever led before was writing it. Not left to `collect`: all servers hold a whole state twice.
void abandon_restore(GcPointer self, const state::Snapshot& snapshot) {
  const auto id = cluster::restore_under_way(snapshot);
  if (id.empty()) return;
  log::warn("gc", "the restore of a snapshot ended with its leader: its rows are dropped");
  self->state.writes->propose(cluster::abandon_restore(id), [](const Result<Committed>& dropped) {
    if (!dropped && !cluster::is_abandoned(dropped.error()))
      log::warn("gc", "the next leader has to drop the rows of a restore",
                {{"error", dropped.error()}});
  });
}

GcSelf::behavior_type core_gc(GcPointer self,
                              std::shared_ptr<state::Store> store,
                              raft::Proposer proposer,
                              CoreGcOptions options) {
  self->state.store = std::move(store);
  self->state.options = options;
  self->state.writes.emplace(self, std::move(proposer), access::own_work("core_gc"));

  return {
      [self, options](Lead msg) {
        const auto term = ++self->state.term;
        self->state.garbage.clear();
        self->state.searches.clear();
        if (!msg.leads) return;
        abandon_restore(self, self->state.store->snapshot());
        actor::send_self_after(self, std::min(options.first, options.job_interval),
                               Collect{term, only_jobs});
        actor::send_self_after(self, std::min(options.first, options.interval),
                               Collect{term, all_others});
      },
      [self, options](Collect msg) {
        if (msg.term != self->state.term) return;
        collect(self, msg.kinds);
        actor::send_self_after(self, msg.kinds.jobs ? options.job_interval : options.interval, msg);
      },
      [self](NextTurn msg) {
        if (msg.term == self->state.term) take_turn(self);
      },
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
