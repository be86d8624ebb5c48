// Snapshots for members that are behind the log: one chunk under way, resumed where the receiver
// stands. The bytes come from and go to files that the node reads and writes.
#include <algorithm>

#include "runtime/raft/core.hpp"
#include "runtime/raft/invariant.hpp"

namespace nomad::raft {

void Core::on(SnapshotSaved& input) {
  snapshot_ = std::move(input.meta);
  snapshot_bytes_ = input.bytes;
  const auto through = std::min(input.truncate_through, snapshot_->index);
  if (through <= log_.base_index()) return;
  require(through <= apply_index(), "only what is applied is cut off");
  log_.compact_to(through);
  configs_.compact_to(through);
}

void Core::start_snapshot(const ServerId& peer, Progress& progress) {
  require(snapshot_ && snapshot_->index >= log_.base_index(),
          "what was cut off the log is in a snapshot");
  progress.become_snapshot(*snapshot_);
  fetch_chunk(peer, progress);
}

void Core::fetch_chunk(const ServerId& peer, Progress& progress) {
  progress.chunk_since = now_;
  out_.chunk_fetches.push_back({.peer = peer,
                                .index = progress.snapshot_index,
                                .term = progress.snapshot_term,
                                .offset = progress.snapshot_offset,
                                .max_bytes = options_.chunk_bytes});
}

void Core::on(ChunkFetched& input) {
  const auto found = progress_.find(input.peer);
  if (role_ != Role::leader || found == progress_.end()) return;
  auto& progress = found->second;
  if (progress.state != PeerState::snapshot || progress.snapshot_index != input.index
      || progress.snapshot_offset != input.offset)
    return;
  if (!snapshot_ || snapshot_->index != input.index || input.data.empty()) {
    // Replaced by a newer one meanwhile: begin again with that.
    return start_snapshot(input.peer, progress);
  }
  send(input.peer, SnapshotChunk{.meta = *snapshot_,
                                 .total_bytes = snapshot_bytes_,
                                 .offset = input.offset,
                                 .data = std::move(input.data),
                                 .round = round_});
}

void Core::receive(const Message& message, SnapshotChunk& chunk) {
  SnapshotReply reply{.index = chunk.meta.index, .term = chunk.meta.term, .round = chunk.round};
  if (chunk.meta.index <= commit_index_) {
    reply.installed = true;
    return send_when_durable(message.from, current_term(), reply);
  }
  // Two servers' files of the same snapshot may differ in their bytes.
  const bool known
      = arriving_ && arriving_->leader == message.from && arriving_->meta.index == chunk.meta.index
        && arriving_->meta.term == chunk.meta.term && arriving_->total_bytes == chunk.total_bytes;
  if (arriving_ && arriving_->installing) return;
  if (!known) {
    if (arriving_ && arriving_->busy) return;
    arriving_ = Arriving{.meta = chunk.meta,
                         .total_bytes = chunk.total_bytes,
                         .stored = 0,
                         .busy = false,
                         .installing = false,
                         .leader = message.from,
                         .round = 0};
  }
  auto& arriving = *arriving_;
  arriving.round = chunk.round;
  if (arriving.busy) return;
  if (chunk.offset != arriving.stored || chunk.data.empty()
      || chunk.offset + chunk.data.size() > arriving.total_bytes) {
    reply.next_offset = arriving.stored;
    return send(message.from, reply);
  }
  arriving.busy = true;
  out_.store_chunk
      = StoreChunk{.meta = arriving.meta, .offset = chunk.offset, .data = std::move(chunk.data)};
}

void Core::on(ChunkStored input) {
  if (!arriving_ || arriving_->meta.index != input.index || arriving_->meta.term != input.term)
    return;
  auto& arriving = *arriving_;
  if (input.index <= commit_index_) {  // the log has come by another way
    arriving_.reset();
    return;
  }
  arriving.busy = false;
  arriving.stored = input.next_offset;
  if (arriving.stored == arriving.total_bytes) {
    arriving.installing = true;
    out_.install = arriving.meta;
    return;
  }
  if (role_ == Role::follower && leader_ == arriving.leader)
    send(arriving.leader, SnapshotReply{.index = input.index,
                                        .term = input.term,
                                        .next_offset = arriving.stored,
                                        .installed = false,
                                        .round = arriving.round});
}

void Core::on(SnapshotInstalled& input) {
  const auto arrived = std::exchange(arriving_, std::nullopt);
  if (!input.ok) {
    out_.notices.push_back("a snapshot could not be installed; the leader sends it again");
    return;
  }
  auto& meta = input.meta;
  require(meta.index > commit_index_, "an installed snapshot is news");
  if (log_.term_at(meta.index) == meta.term) {
    // The log goes on behind the snapshot; what is in front of it may stay for others.
    configs_.compact_to(meta.index);
  } else if (NOMAD_MUTATED(keep_log_on_install) && log_.last_index() >= meta.index) {
    configs_.compact_to(meta.index);
  } else {
    log_.reset(meta.index, meta.term);
    configs_ = ConfigHistory{{meta.configuration_index, meta.configuration}};
    write_ = {
        .hard_state = write_.hard_state, .reset_to = meta.index, .truncate_from = {}, .append = {}};
    durable_index_ = meta.index;
    for (auto& write : outstanding_)
      write.last_index = meta.index;
  }
  // What the snapshot stands for is durable, whatever of the log's writes is still under way.
  durable_index_ = std::max(durable_index_, meta.index);
  for (auto& write : outstanding_)
    write.last_index = std::max(write.last_index, meta.index);
  commit_index_ = meta.index;
  applied_index_ = meta.index;
  snapshot_ = std::move(meta);
  snapshot_bytes_ = input.bytes;
  if (!arrived || role_ != Role::follower || leader_ != arrived->leader) return;
  send_when_durable(leader_, current_term(),
                    SnapshotReply{.index = snapshot_->index,
                                  .term = snapshot_->term,
                                  .next_offset = input.bytes,
                                  .installed = true,
                                  .round = arrived->round});
}

void Core::receive(const Message& message, const SnapshotReply& reply) {
  const auto found = progress_.find(message.from);
  if (role_ != Role::leader || found == progress_.end()) return;
  auto& progress = found->second;
  acknowledge(progress, reply.round);
  if (progress.state != PeerState::snapshot || progress.snapshot_index != reply.index
      || progress.snapshot_term != reply.term)
    return;
  if (reply.installed) {
    const bool news = reply.index <= log_.last_index() && progress.matched(reply.index);
    progress.become_probe();
    if (news) advance_commit();
    return replicate_to(message.from);
  }
  if (reply.next_offset == progress.snapshot_offset && reply.next_offset != 0) return;
  progress.snapshot_offset = reply.next_offset;
  fetch_chunk(message.from, progress);
}

}  // namespace nomad::raft
