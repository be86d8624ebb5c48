// NodeState's part about snapshots: when one is taken, and moving them between servers.
#include <chrono>

#include "actors/core/supervise.hpp"
#include "actors/raft/node_state.hpp"
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

/// Servers that apply the same entries would all write their snapshots at the same moment: each
/// waits up to half as long again, by chance.
void NodeState::draw_snapshot_delay() {
  snapshot_delay_ = 1 + chance_.fraction() / 2;
}

void NodeState::snapshot_if_due() {
  const auto& options = parts_.options;
  if (stopped_ || snapshotting_ || options.snapshot_threshold == 0) return;
  const auto news = applied_ - snapshot_index_;
  if (news < options.snapshot_threshold) return;
  // Nor while a member catches up by an older one: its file goes when two newer ones are there.
  const bool rested
      = parts_.clock() - snapshot_since_ >= options.snapshot_interval * snapshot_delay_
        && !core_->log_held_behind();
  const auto most = static_cast<double>(options.snapshot_threshold) * urgent_factor;
  if (rested || static_cast<double>(news) >= most * snapshot_delay_) take_snapshot(std::nullopt);
}

void NodeState::take_snapshot(std::optional<actor::Promise<SnapshotTaken>> promise) {
  if (promise) snapshot_askers_.push_back({applied_, std::move(*promise)});
  if (snapshotting_ || stopped_) return;
  if (applied_ == 0)
    return on_snapshot_failed({Errc::conflict, "nothing was applied yet that could be saved"});
  if (applied_ == snapshot_index_) {
    // It is there already; another file of the same name could be on its way to somebody.
    const auto meta = core_->snapshot_meta(applied_);
    const auto path
        = parts_.snapshot_directory + "/" + storage::snapshot_name(meta.term, meta.index);
    return answer_snapshot_askers({meta.index, path});
  }
  snapshotting_ = true;
  snapshot_since_ = parts_.clock();
  draw_snapshot_delay();
  const auto meta = core_->snapshot_meta(applied_);
  self_
      ->request(snapshotter_, snapshot_timeout,
                snapshotter::SaveSnapshot{meta, parts_.fsm->snapshot()})
      .then([this, meta](const snapshotter::Saved& saved) { on_snapshot_saved(meta, saved); },
            [this](const Error& err) { on_snapshot_failed(err); });
}

void NodeState::on_snapshot_saved(const SnapshotMeta& meta, const snapshotter::Saved& saved) {
  snapshotting_ = false;
  if (stopped_) return;
  // A newer one may have arrived from the leader meanwhile.
  if (meta.index > snapshot_index_) {
    snapshot_index_ = meta.index;
    ++parts_.counters->snapshots;
    log::info("raft", "saved a snapshot of {} bytes up to index {}", saved.bytes, meta.index);
    const auto trailing = parts_.options.trailing_entries;
    const auto through = meta.index > trailing ? meta.index - trailing : 0;
    NOMAD_FAILPOINT("raft.before_truncation");
    step(SnapshotSaved{.meta = meta, .bytes = saved.bytes, .truncate_through = through});
  }
  answer_snapshot_askers({meta.index, saved.path});
  // Who asked while it was being written may have seen answers to newer writes.
  if (!snapshot_askers_.empty()) take_snapshot(std::nullopt);
}

/// Those whom this snapshot is new enough for.
void NodeState::answer_snapshot_askers(const SnapshotTaken& taken) {
  std::vector<SnapshotAsker> later;
  for (auto& asker : std::exchange(snapshot_askers_, {}))
    if (asker.at_least <= taken.index)
      actor::answer(asker.promise, Result<SnapshotTaken>{taken});
    else
      later.push_back(std::move(asker));
  snapshot_askers_ = std::move(later);
}

/// The log keeps what the snapshot would have replaced; the next one is tried after the interval.
void NodeState::on_snapshot_failed(const Error& reason) {
  snapshotting_ = false;
  log::error("raft", "could not save a snapshot: {}", reason.what);
  for (auto& asker : std::exchange(snapshot_askers_, {}))
    actor::answer(asker.promise, Result<SnapshotTaken>{reason});
}

void NodeState::fetch_log(const LogFetch& fetch) {
  auto entries = parts_.read_log(fetch.first, fetch.last, fetch.max_bytes);
  if (!entries && entries.error().code != Errc::not_found) return stop(entries.error(), true);
  step(LogFetched{.peer = fetch.peer,
                  .first = fetch.first,
                  .entries = entries ? std::move(*entries) : std::vector<Entry>{}});
}

void NodeState::carry_out_snapshots(Outputs& out) {
  for (const auto& fetch : out.chunk_fetches) {
    self_
        ->request(snapshotter_, snapshot_timeout,
                  snapshotter::ReadPart{fetch.index, fetch.term, fetch.offset, fetch.max_bytes})
        .then(
            [this, fetch](snapshotter::Part& part) {
              step(ChunkFetched{.peer = fetch.peer,
                                .index = fetch.index,
                                .offset = fetch.offset,
                                .data = std::move(part.data)});
            },
            [this, fetch](const Error& err) {
              log::error("raft", "cannot read a snapshot for another server: {}", err.what);
              step(ChunkFetched{
                  .peer = fetch.peer, .index = fetch.index, .offset = fetch.offset, .data = {}});
            });
  }
  if (out.store_chunk) {
    auto& chunk = *out.store_chunk;
    const auto meta = chunk.meta;
    self_
        ->request(snapshotter_, snapshot_timeout,
                  snapshotter::StorePart{meta, chunk.offset, std::move(chunk.data)})
        .then(
            [this, meta](snapshotter::Stored stored) {
              step(ChunkStored{.index = meta.index, .term = meta.term, .next_offset = stored.size});
            },
            [this, meta](const Error& err) {
              log::error("raft", "cannot store an arriving snapshot: {}", err.what);
              step(ChunkStored{.index = meta.index, .term = meta.term, .next_offset = 0});
            });
  }
  if (out.install) {
    const auto meta = *out.install;
    self_->request(snapshotter_, snapshot_timeout, snapshotter::FinishArrived{meta})
        .then([this, meta](const snapshotter::Saved& saved) { install(meta, saved); },
              [this, meta](const Error& err) {
                log::error("raft", "an arrived snapshot is refused: {}", err.what);
                step(SnapshotInstalled{.meta = meta, .bytes = 0, .ok = false});
              });
  }
}

/// The file is sound: the state machine takes it over. After a failure here the state is as
/// before, but the newest file is one that cannot be restored: that needs a person.
void NodeState::install(const SnapshotMeta& meta, const snapshotter::Saved& saved) {
  if (stopped_) return;
  auto reader = parts_.open_snapshot(saved.path);
  if (!reader) return stop(reader.error(), true);
  NOMAD_FAILPOINT("raft.before_restore");
  if (auto restored = parts_.fsm->restore(**reader, meta.index); !restored)
    return stop(restored.error(), true);
  NOMAD_FAILPOINT("raft.after_restore");
  applied_ = meta.index;
  snapshot_index_ = meta.index;
  log::info("raft", "installed the leader's snapshot up to index {}", meta.index);
  step(SnapshotInstalled{.meta = meta, .bytes = saved.bytes, .ok = true});
}

}  // namespace nomad::raft
