// Snapshots for members that are behind the log: one chunk under way, resumed where the receiver
// stands. The bytes come from and go to files that the node reads and writes.
//
// A snapshot that has begun to travel is sent to its end, though there be newer ones, as long as
// its file is there; and the log waits with what comes behind it. Otherwise a member that takes
// longer than the time between two snapshots would never catch up.
#include <algorithm>

#include "runtime/raft/core.hpp"
#include "runtime/raft/invariant.hpp"

namespace nomad::raft {
namespace {

/// The log waits for a member that has come forward within so many election timeouts.
constexpr int held_timeouts = 60;

}  // namespace

void Core::on(SnapshotSaved& input) {
  snapshot_ = std::move(input.meta);
  snapshot_bytes_ = input.bytes;
  auto through = std::min(input.truncate_through, snapshot_->index);
  if (const auto held = log_held_behind()) through = std::min(through, *held);
  if (through <= log_.base_index()) return;
  require(through <= apply_index(), "only what is applied is cut off");
  log_.compact_to(through);
  configs_.compact_to(through);
  out_.truncate_through = through;
}

std::optional<Index> Core::log_held_behind() const {
  std::optional<Index> held;
  for (const auto& [peer, progress] : progress_) {
    const auto& since = progress.catching_up;
    if (!since || now_ - *since > held_timeouts * options_.election_timeout) continue;
    const auto needed = progress.needs_behind();
    if (needed < log_.base_index() || log_.last_index() - needed > options_.max_held_entries)
      continue;  // it needs another snapshot anyway, or too much
    held = std::min(held.value_or(needed), needed);
  }
  return held;
}

/// A member that caught up by a snapshot has more than before.
void Core::came_forward(Progress& progress) const {
  if (!progress.catching_up) return;
  progress.catching_up = now_;
  const bool follows = progress.match_index + options_.promote_lag >= log_.last_index();
  if (follows && progress.state != PeerState::snapshot) progress.catching_up.reset();
}

void Core::start_snapshot(const ServerId& peer, Progress& progress) {
  require(snapshot_ && snapshot_->index >= log_.base_index(),
          "what was cut off the log is in a snapshot");
  progress.become_snapshot({.meta = *snapshot_,
                            .total_bytes = snapshot_bytes_,
                            .shortest_patience = options_.election_timeout / 2,
                            .patience = options_.election_timeout / 2,
                            .pause = progress.outgoing.pause});
  progress.catching_up = now_;
  fetch_chunk(peer, progress);
}

void Core::fetch_chunk(const ServerId& peer, Progress& progress) {
  if (std::exchange(progress.reading, true)) return;  // what comes first sees what is wanted then
  out_.chunk_fetches.push_back({.peer = peer,
                                .index = progress.outgoing.meta.index,
                                .term = progress.outgoing.meta.term,
                                .offset = progress.outgoing.offset,
                                .max_bytes = options_.chunk_bytes});
}

void Core::on(ChunkFetched& input) {
  const auto found = progress_.find(input.peer);
  if (role_ != Role::leader || found == progress_.end()) return;
  auto& progress = found->second;
  if (!std::exchange(progress.reading, false) || progress.state != PeerState::snapshot) return;
  auto& outgoing = progress.outgoing;
  if (outgoing.meta.index != input.index || outgoing.offset != input.offset) {
    if (outgoing.is_due(now_)) fetch_chunk(input.peer, progress);
    return;
  }
  if (input.data.empty() && snapshot_->index != input.index) {
    // Removed after newer ones had come: begin again with the newest.
    return start_snapshot(input.peer, progress);
  }
  outgoing.sent(now_);
  if (input.data.empty()) {
    // As if it were under way and lost: it is tried again, ever less often.
    out_.notices.push_back("the snapshot at index " + std::to_string(input.index)
                           + " can't be read for server \"" + input.peer + "\"");
    return;
  }
  send(input.peer, SnapshotChunk{.meta = outgoing.meta,
                                 .total_bytes = outgoing.total_bytes,
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
  auto& outgoing = progress.outgoing;
  if (progress.state != PeerState::snapshot || outgoing.meta.index != reply.index
      || outgoing.meta.term != reply.term)
    return;
  if (reply.installed) {
    const bool news = reply.index <= log_.last_index() && progress.matched(reply.index);
    progress.become_probe();
    outgoing = {};
    if (news) {
      came_forward(progress);
      advance_commit();
    }
    return replicate_to(message.from);
  }
  // Not news, or nonsense: nothing lies behind the end.
  if (reply.next_offset == outgoing.offset || reply.next_offset >= outgoing.total_bytes) return;
  if (outgoing.move_to(reply.next_offset, now_)) came_forward(progress);
  if (reply.next_offset == 0)
    out_.notices.push_back("server \"" + message.from + "\" begins the snapshot at index "
                           + std::to_string(reply.index) + " anew");
  if (outgoing.is_due(now_)) fetch_chunk(message.from, progress);
}

}  // namespace nomad::raft
