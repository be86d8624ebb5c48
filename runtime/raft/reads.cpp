// Rounds: each heartbeat to all members is a numbered question "do I still lead?". A quorum of
// answers to a round keeps the leader in office, extends its lease, and grants the reads that
// were asked for before the round began.
#include <algorithm>

#include "runtime/raft/core.hpp"
#include "runtime/raft/quorum.hpp"

namespace nomad::raft {

void Core::on(RequestRead input) {
  if (role_ != Role::leader) {
    out_.refused_reads.push_back(input.id);
    return;
  }
  if (commit_index_ < barrier_index_) {
    // What earlier leaders have committed is not known yet.
    early_reads_.push_back(input.id);
    return;
  }
  if (leads_alone()) {
    out_.reads.push_back({.id = input.id, .index = commit_index_});
    return;
  }
  // Reads wait for a round that begins after them; while one is under way they share the next.
  const bool under_way = !reads_.empty();
  reads_.push_back({.id = input.id, .index = commit_index_, .round = round_ + 1});
  if (!under_way) start_round();
}

void Core::start_round() {
  ++round_;
  heartbeat_deadline_ = now_ + options_.heartbeat_interval;
  rounds_.emplace_back(round_, now_);
  for (const auto& [peer, progress] : progress_)
    send(peer,
         Heartbeat{.commit_index = std::min(commit_index_, progress.match_index), .round = round_});
  if (leads_alone()) grant_reads();
}

void Core::receive(const Message& message, const Heartbeat& heartbeat) {
  const bool installing = arriving_ && arriving_->installing;
  // The leader knows that we match it so far.
  if (!installing) set_commit(std::min(heartbeat.commit_index, log_.last_index()));
  send(message.from, HeartbeatReply{.round = heartbeat.round});
}

void Core::receive(const Message& message, const HeartbeatReply& reply) {
  const auto found = progress_.find(message.from);
  if (role_ != Role::leader || found == progress_.end()) return;
  auto& progress = found->second;
  acknowledge(progress, reply.round);
  if (reply.round > progress.probe_round) progress.paused = false;  // the probe is lost or slow
  const bool stalled = progress.match_at_heartbeat == progress.match_index;
  progress.match_at_heartbeat = progress.match_index;
  switch (progress.state) {
    case PeerState::probe:
      return replicate_to(message.from);
    case PeerState::replicate:
      // What was sent and not confirmed may be lost, and so may the question after it: as long as
      // anything is open, each stalled beat asks.
      if (!stalled || progress.next_index <= progress.match_index + 1)
        return replicate_to(message.from);
      if (progress.next_index <= log_.base_index()) {
        progress.become_probe();  // what it lacks has left the log meanwhile
        return replicate_to(message.from);
      }
      // Something may be lost: an empty request finds out, and makes room if the window is full.
      progress.free_oldest();
      return send_entries(message.from, progress, {});
    case PeerState::snapshot:
      if (progress.outgoing.is_due(now_)) fetch_chunk(message.from, progress);
      return;
  }
}

void Core::acknowledge(Progress& progress, Round round) {
  progress.heard = now_;
  if (round <= progress.acked_round || round > round_) return;
  progress.acked_round = round;
  grant_reads();
}

void Core::grant_reads() {
  const auto confirmed = reached_by_quorum(configuration(), [this](const ServerId& id) {
    if (id == options_.self) return round_;
    const auto* other = progress(id);
    return other == nullptr ? Round{0} : other->acked_round;
  });
  if (confirmed <= confirmed_round_) return;
  confirmed_round_ = confirmed;
  while (!rounds_.empty() && rounds_.front().first <= confirmed) {
    confirmed_since_ = rounds_.front().second;
    rounds_.pop_front();
  }
  if (!leads_alone()) patience_.waited(now_, now_ - confirmed_since_ - put_off_);
  put_off_ = Time{0};
  while (!reads_.empty() && reads_.front().round <= confirmed) {
    out_.reads.push_back({.id = reads_.front().id, .index = reads_.front().index});
    reads_.pop_front();
  }
  // The rest came while the round was under way.
  if (!reads_.empty() && round_ < reads_.front().round) start_round();
}

void Core::refuse_reads() {
  for (const auto& read : reads_)
    out_.refused_reads.push_back(read.id);
  for (const auto id : early_reads_)
    out_.refused_reads.push_back(id);
  reads_.clear();
  early_reads_.clear();
}

void Core::check_quorum() {
  if (leads_alone()) confirmed_since_ = now_;
  if (now_ - confirmed_since_ <= patience() + put_off_) return;  // (7)
  out_.notices.push_back("stepping down: no quorum has answered in time");
  become_follower(current_term(), {});
}

Time Core::lease_until() const {
  if (role_ != Role::leader || handed_over_ || commit_index_ < barrier_index_) return Time{0};
  if (leads_alone()) return Time::max();
  if (confirmed_round_ == 0) return Time{0};
  return confirmed_since_ + options_.election_timeout - options_.election_timeout / 10;  // (5)
}

}  // namespace nomad::raft
