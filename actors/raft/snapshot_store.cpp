#include "actors/raft/snapshot_store.hpp"

#include <chrono>
#include <utility>

#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::raft {
namespace {

/// Writing, reading or verifying the largest snapshot on a slow disk takes less.
constexpr auto snapshot_timeout = std::chrono::minutes{60};

/// So many times the threshold do not wait for the interval.
constexpr double urgent_factor = 16;

}  // namespace

void SnapshotStore::start(Index newest) {
  index_ = newest;
  since_ = parts_.clock();
  chance_ = Random{~parts_.seed};
  draw_delay();
  snapshotter_ = parts_.spawn_snapshotter(self_);
}

/// Servers that apply the same entries would all write their snapshots at the same moment: each
/// waits up to half as long again, by chance.
void SnapshotStore::draw_delay() {
  delay_ = 1 + chance_.fraction() / 2;
}

void SnapshotStore::take_if_due() {
  if (!askers_.empty()) return take(std::nullopt);
  const auto& options = parts_.options;
  if (stopped_ || saving_ || node_.is_applying() || options.snapshot_threshold == 0) return;
  const auto news = node_.applied() - index_;
  if (news < options.snapshot_threshold) return;
  const bool rested = parts_.clock() - since_ >= options.snapshot_interval * delay_;
  const auto most = static_cast<double>(options.snapshot_threshold) * urgent_factor;
  const bool urgent = static_cast<double>(news) >= most * delay_ && !failed_;
  // Nor while a member catches up by an older one: its file goes when two newer ones are there.
  if (urgent || (rested && !core_->log_held_behind())) take(std::nullopt);
}

void SnapshotStore::take(std::optional<actor::Promise<SnapshotTaken>> promise) {
  const auto applied = node_.applied();
  if (promise) askers_.push_back({applied, std::move(*promise)});
  if (saving_ || stopped_ || node_.is_applying()) return;  // `take_if_due` comes back to it
  if (applied == 0) return fail({Errc::conflict, "nothing was applied yet that could be saved"});
  if (applied == index_) {
    // It is there already; another file of the same name could be on its way to somebody.
    const auto meta = core_->snapshot_meta(applied);
    const auto path
        = parts_.snapshot_directory + "/" + storage::snapshot_name(meta.term, meta.index);
    return answer_askers({meta.index, path});
  }
  saving_ = true;
  since_ = parts_.clock();
  draw_delay();
  const auto meta = core_->snapshot_meta(applied);
  self_
      ->request(snapshotter_, snapshot_timeout,
                snapshotter::SaveSnapshot{meta, parts_.fsm->snapshot()})
      .then([this, meta](const snapshotter::Saved& saved) { this->saved(meta, saved); },
            [this](const Error& err) { fail(err); });
}

void SnapshotStore::saved(const SnapshotMeta& meta, const snapshotter::Saved& saved) {
  saving_ = failed_ = false;
  if (stopped_) return;
  // A newer one may have arrived from the leader meanwhile.
  if (meta.index > index_) {
    index_ = meta.index;
    ++parts_.counters->snapshots;
    log::info("raft", "saved a snapshot", {{"index", meta.index}, {"bytes", saved.bytes}});
    const auto trailing = parts_.options.trailing_entries;
    const auto through = meta.index > trailing ? meta.index - trailing : 0;
    NOMAD_FAILPOINT("raft.before_truncation");
    node_.step(SnapshotSaved{.meta = meta, .bytes = saved.bytes, .truncate_through = through});
  }
  answer_askers({meta.index, saved.path});
  // Who asked while it was being written may have seen answers to newer writes.
  if (!askers_.empty()) take(std::nullopt);
}

/// Those whom this snapshot is new enough for.
void SnapshotStore::answer_askers(const SnapshotTaken& taken) {
  std::vector<Asker> later;
  for (auto& asker : std::exchange(askers_, {}))
    if (asker.at_least <= taken.index)
      actor::answer(asker.promise, Result<SnapshotTaken>{taken});
    else
      later.push_back(std::move(asker));
  askers_ = std::move(later);
}

/// The log keeps what the snapshot would have replaced; the next one is tried after the interval.
void SnapshotStore::fail(const Error& reason) {
  saving_ = false;
  failed_ = true;
  log::error("raft", "could not save a snapshot", {{"error", reason}});
  for (auto& asker : std::exchange(askers_, {}))
    actor::answer(asker.promise, Result<SnapshotTaken>{reason});
}

void SnapshotStore::carry_out(Outputs& out) {
  for (const auto& wanted : out.chunk_fetches)
    fetch(wanted);
  if (out.store_chunk) store(*out.store_chunk);
  if (out.install) finish(*out.install);
}

void SnapshotStore::fetch(const ChunkFetch& fetch) {
  self_
      ->request(snapshotter_, snapshot_timeout,
                snapshotter::ReadPart{fetch.index, fetch.term, fetch.offset, fetch.max_bytes})
      .then(
          [this, fetch](snapshotter::Part& part) {
            node_.step(ChunkFetched{.peer = fetch.peer,
                                    .index = fetch.index,
                                    .offset = fetch.offset,
                                    .data = std::move(part.data)});
          },
          [this, fetch](const Error& err) {
            log::error("raft", "cannot read a snapshot for another server", {{"error", err}});
            node_.step(ChunkFetched{
                .peer = fetch.peer, .index = fetch.index, .offset = fetch.offset, .data = {}});
          });
}

void SnapshotStore::store(StoreChunk& chunk) {
  const auto meta = chunk.meta;
  const auto stored = [this, meta](std::uint64_t next_offset) {
    node_.step(ChunkStored{.index = meta.index, .term = meta.term, .next_offset = next_offset});
  };
  self_
      ->request(snapshotter_, snapshot_timeout,
                snapshotter::StorePart{meta, chunk.offset, std::move(chunk.data)})
      .then([stored](snapshotter::Stored answer) { stored(answer.size); },
            [stored](const Error& err) {
              log::error("raft", "cannot store a snapshot from the leader", {{"error", err}});
              stored(0);
            });
}

void SnapshotStore::finish(const SnapshotMeta& meta) {
  self_->request(snapshotter_, snapshot_timeout, snapshotter::FinishArrived{meta})
      .then(
          [this, meta](const snapshotter::Arrived& arrived) {
            if (!stopped_) node_.install(meta, arrived);
          },
          [this, meta](const Error& err) {
            log::error("raft", "refused a snapshot from the leader", {{"error", err}});
            node_.step(SnapshotInstalled{.meta = meta, .bytes = 0, .ok = false});
          });
}

void SnapshotStore::stop(const Error& reason) {
  stopped_ = true;
  for (auto& asker : std::exchange(askers_, {}))
    actor::answer(asker.promise, Result<SnapshotTaken>{reason});
  actor::stop(snapshotter_);
}

}  // namespace nomad::raft
