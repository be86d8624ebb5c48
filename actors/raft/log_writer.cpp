#include "actors/raft/log_writer.hpp"

#include <chrono>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/raft/wal_checkpointer.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/threads/short_turns.hpp"
#include "runtime/storage/checkpoint_pace.hpp"
#include "runtime/storage/reserve.hpp"

namespace nomad::raft {
namespace {

/// Pages of 4 KiB in the write-ahead log before a checkpoint is asked for: 8 MiB.
constexpr int checkpoint_after_pages = 2'048;

/// What the writer itself may copy of it, while writes wait: 2 MiB.
constexpr int most_pages_left = 512;

/// A checkpoint of the largest write-ahead log on a slow disk takes less.
constexpr auto checkpoint_timeout = std::chrono::minutes{10};

/// Cutting the log may take one part in so many of the writer's time: nobody waits for it, and
/// behind every turn of it waits a write.
constexpr int rest_after_cut = 4;

/// Between two looks whether a full disk has room again.
constexpr std::chrono::seconds room_pause{1};

/// Behind everything that was in the mailbox when the first write of the batch came.
struct Commit {
  using is_message = void;
};

/// Whether there is room for the reserve, and for what waits.
struct LookForRoom {
  using is_message = void;
};

using WriterSelf = actor::WithInternal<LogWriter, void(Commit), void(LookForRoom)>;

struct WriterState {
  static constexpr const char* name = "log_writer";

  std::shared_ptr<storage::RaftLog> log;
  std::shared_ptr<RaftCounters> counters;
  WalCheckpointer checkpointer;
  storage::Reserve reserve{""};
  std::vector<LogWrite> batch;
  std::uint64_t batch_seq = 0;
  storage::CheckpointPace pace{checkpoint_after_pages, most_pages_left};
  bool failed = false;
  bool full = false;  ///< And a LookForRoom is under way.

  Result<> commit() {
    std::size_t entries = 0;
    for (const auto& write : batch)
      entries += write.append.size();
    NOMAD_FAILPOINT_ERROR("raft.before_fsync");
    NOMAD_TRY(log->write(batch));
    NOMAD_FAILPOINT_ERROR("raft.after_fsync");
    batch.clear();
    counters->entries_persisted += entries;
    ++counters->log_commits;
    return {};
  }
};

using Self = WriterSelf::stateful_pointer<WriterState>;

bool is_full(const Error& reason) {
  return reason.code == Errc::overloaded;
}

bool is_full(const Result<>& outcome) {
  return !outcome && is_full(outcome.error());
}

void fail(Self self, const LogWriterListener& listener, const Error& reason) {
  self->state.failed = true;
  self->state.batch.clear();
  actor::send_urgent(self, listener, log_writer::WriteFailed{reason});
}

void look_for_room_later(Self self) {
  actor::send_self_after(self, room_pause, LookForRoom{});
}

/// True: the reserve was given back, so that what failed for want of room can be tried again.
bool make_room(Self self, const LogWriterListener& listener, const Error& reason) {
  auto& state = self->state;
  if (!std::exchange(state.full, true)) {
    actor::send_urgent(self, listener, log_writer::RoomChanged{reason});
    look_for_room_later(self);
  }
  return state.reserve.give_back();
}

void ask_for_checkpoint(Self self) {
  using Copy = storage::CheckpointPace::Copy;
  auto& state = self->state;
  // Writes go on after a failure; before the write-ahead log outgrows its bound, one waits itself.
  const auto failed = [](const Error& err) {
    log::warn("raft", "a checkpoint of the log failed", {{"error", err}});
  };
  const auto step = state.pace.next(state.log->wal_pages());
  if (step == Copy::finish)
    if (const auto finished = state.log->finish_checkpoint(); !finished) failed(finished.error());
  if (step != Copy::beside) return;
  self->request(state.checkpointer, checkpoint_timeout, Checkpoint{})
      .then(
          [self](Checkpointed done) {
            self->state.pace.ended(done.copied_pages);
            ++self->state.counters->checkpoints;
          },
          [self, failed](const Error& err) {
            self->state.pace.ended({});
            failed(err);
          });
}

void commit(Self self, const LogWriterListener& listener) {
  auto& state = self->state;
  if (state.failed || state.batch.empty()) return;
  auto outcome = state.commit();
  if (is_full(outcome) && make_room(self, listener, outcome.error())) outcome = state.commit();
  if (is_full(outcome)) return;  // it waits
  if (!outcome) return fail(self, listener, outcome.error());
  actor::send_urgent(self, listener, log_writer::Written{state.batch_seq});
  ask_for_checkpoint(self);
}

void take_reserve(Self self, const LogWriterListener& listener) {
  auto& state = self->state;
  const auto taken = state.reserve.take();
  if (is_full(taken)) {
    if (state.full)
      look_for_room_later(self);
    else
      make_room(self, listener, taken.error());
    return;
  }
  if (!taken) log::warn("raft", "no space is reserved for a full disk", {{"error", taken.error()}});
  if (std::exchange(state.full, false))
    actor::send_urgent(self, listener, log_writer::RoomChanged{});
}

void look_for_room(Self self, const LogWriterListener& listener) {
  commit(self, listener);
  if (self->state.failed) return;
  if (self->state.batch.empty())
    take_reserve(self, listener);
  else
    look_for_room_later(self);
}

void truncate(Self self, const LogWriterListener& listener, log_writer::TruncatePrefix msg) {
  if (self->state.failed) return;
  auto& log = *self->state.log;
  const auto began = std::chrono::steady_clock::now();
  auto more = log.truncate_prefix(msg.through);
  if (!more && is_full(more.error()) && make_room(self, listener, more.error()))
    more = log.truncate_prefix(msg.through);
  if (!more) {
    if (!is_full(more.error())) return fail(self, listener, more.error());
    actor::send_self_after(self, room_pause, msg);
    return;
  }
  ++self->state.counters->log_commits;
  ask_for_checkpoint(self);
  const auto took = std::chrono::steady_clock::now() - began;
  if (*more) actor::send_self_after(self, rest_after_cut * took, msg);
}

WriterSelf::behavior_type log_writer_actor(Self self,
                                           std::shared_ptr<storage::RaftLog> log,
                                           LogWriterListener listener,
                                           std::shared_ptr<RaftCounters> counters) {
  ask_for_short_turns();
  self->state.checkpointer = spawn_wal_checkpointer(self, log->path());
  self->state.reserve = storage::Reserve{log->path() + ".reserve"};
  self->state.log = std::move(log);
  self->state.counters = std::move(counters);
  take_reserve(self, listener);
  return {
      [self](log_writer::Write& msg) {
        auto& state = self->state;
        if (state.failed) return;
        if (state.batch.empty()) actor::send_self(self, Commit{});
        state.batch_seq = msg.seq;
        state.batch.push_back(std::move(msg.write));
      },
      [self, listener](log_writer::TruncatePrefix msg) { truncate(self, listener, msg); },
      [self, listener](Commit) { commit(self, listener); },
      [self, listener](LookForRoom) { look_for_room(self, listener); },
  };
}

}  // namespace

LogWriter spawn_log_writer(const actor::Owner& owner,
                           std::shared_ptr<storage::RaftLog> log,
                           LogWriterListener listener,
                           std::shared_ptr<RaftCounters> counters) {
  return actor::spawn_detached(owner, log_writer_actor, std::move(log), std::move(listener),
                               std::move(counters));
}

}  // namespace nomad::raft
