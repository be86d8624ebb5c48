// Replication: proposals, appends both ways, commit.
#include <algorithm>

#include "runtime/raft/core.hpp"
#include "runtime/raft/quorum.hpp"

namespace nomad::raft {
namespace {

/// While entries are committed, heartbeats come up to so many times as often.
constexpr int commit_notices = 5;

/// A peer that has not answered so many requests yet is sent no further ones before it has, or so
/// many entries have come together: a few large requests cost less than many small ones.
constexpr std::size_t small_requests = 2;
constexpr Index worthwhile_entries = 64;

}  // namespace

void Core::on(ProposeCommands& input) {
  if (auto allowed = may_propose(); !allowed) {
    out_.proposed = allowed.error();
    return;
  }
  out_.proposed = log_.last_index() + 1;
  for (auto& payload : input.payloads)
    append({.index = log_.last_index() + 1,
            .term = current_term(),
            .kind = EntryKind::command,
            .payload = std::move(payload)});
  replicate_to_all();
}

void Core::on(Unreachable& input) {
  const auto found = progress_.find(input.peer);
  if (found == progress_.end()) return;
  auto& progress = found->second;
  if (progress.state == PeerState::replicate) progress.become_probe();
  // It goes again as soon as the server answers anything.
  if (progress.state == PeerState::snapshot) progress.outgoing.lost = true;
}

void Core::on(LogFetched& input) {
  const auto found = progress_.find(input.peer);
  if (found == progress_.end()) return;
  auto& progress = found->second;
  if (!std::exchange(progress.fetching, false) || progress.next_index != input.first) return;
  // Gone or changed meanwhile: what to do follows from the log as it is now.
  const bool usable = !input.entries.empty() && input.first > log_.base_index()
                      && progress.state != PeerState::snapshot
                      && std::ranges::all_of(input.entries, [this](const Entry& entry) {
                           return log_.term_at(entry.index) == entry.term;
                         });
  if (usable) send_entries(input.peer, progress, std::move(input.entries));
  if (usable || log_.base_index() >= input.first) replicate_to(input.peer);
}

void Core::replicate_to_all() {
  for (const auto& [peer, progress] : progress_)
    replicate_to(peer);
}

/// Sends all that the peer's window allows.
void Core::replicate_to(const ServerId& peer) {
  const auto found = progress_.find(peer);
  if (role_ != Role::leader || found == progress_.end()) return;
  auto& progress = found->second;
  while (progress.state != PeerState::snapshot) {
    if (progress.paused || progress.fetching) return;
    if (progress.inflight.size() >= options_.max_inflight_requests
        || progress.inflight_bytes >= options_.max_inflight_bytes)
      return;
    if (progress.next_index <= log_.base_index()) return start_snapshot(peer, progress);
    if (progress.next_index > log_.last_index() && progress.state == PeerState::replicate) return;
    if (progress.inflight.size() >= small_requests
        && log_.last_index() - progress.next_index + 1 < worthwhile_entries)
      return;
    if (progress.next_index < log_.cached_from()) {
      progress.fetching = true;
      out_.log_fetches.push_back({.peer = peer,
                                  .first = progress.next_index,
                                  .last = log_.cached_from() - 1,
                                  .max_bytes = options_.max_append_bytes});
      return;
    }
    send_entries(peer, progress,
                 log_.entries(progress.next_index, log_.last_index(), options_.max_append_bytes));
  }
}

void Core::send_entries(const ServerId& peer, Progress& progress, std::vector<Entry> entries) {
  const auto prev_index = progress.next_index - 1;
  std::size_t bytes = 0;
  for (const auto& entry : entries)
    bytes += cost(entry);
  const auto last = prev_index + entries.size();
  const auto commit = commit_index_;
  send(peer, AppendRequest{.prev_index = prev_index,
                           .prev_term = log_.term_at(prev_index).value(),
                           .entries = std::move(entries),
                           .commit_index = commit,
                           .round = round_});
  if (last > prev_index || progress.state == PeerState::probe) progress.sent(last, bytes);
  progress.probe_round = round_;
}

void Core::receive(const Message& message, AppendRequest& request) {
  if (arriving_ && arriving_->installing) return;  // the state machine is being replaced
  AppendReply reply{.prev_index = request.prev_index, .round = request.round};
  if (request.prev_index < commit_index_) {
    // What is committed here is known to match; whatever is newer comes again from there.
    reply.accepted = true;
    reply.match_index = commit_index_;
    return send_when_durable(message.from, current_term(), reply);
  }
  const auto own_term = log_.term_at(request.prev_index);
  if (own_term != request.prev_term) {
    const auto limit = std::min(request.prev_index, log_.last_index());
    reply.hint_index = log_.last_with_term_at_most(request.prev_term, limit);
    reply.hint_term = log_.term_at(reply.hint_index).value();
    return send(message.from, reply);
  }
  const auto last_new = request.prev_index + request.entries.size();
  accept_entries(request);
  if (out_.fatal) return;
  set_commit(std::min({request.commit_index, last_new, log_.last_index()}));
  reply.accepted = true;
  reply.match_index = last_new;
  send_when_durable(message.from, current_term(), reply);  // (1)
}

/// Appends what is new; where our entries differ, ours go.
void Core::accept_entries(AppendRequest& request) {
  for (auto& entry : request.entries) {
    if (const auto own = log_.term_at(entry.index); own) {
      if (*own == entry.term) continue;
      truncate_from(entry.index);
    }
    append(std::move(entry));
    if (out_.fatal) return;
  }
}

void Core::receive(const Message& message, const AppendReply& reply) {
  const auto found = progress_.find(message.from);
  if (role_ != Role::leader || found == progress_.end()) return;
  auto& progress = found->second;
  acknowledge(progress, reply.round);
  if (progress.state == PeerState::snapshot) return;
  if (!reply.accepted) {
    // Stale: it has matched further since, or the probe was another one.
    if (reply.prev_index <= progress.match_index) return;
    if (progress.state == PeerState::probe && reply.prev_index != progress.next_index - 1) return;
    const auto meets = log_.last_with_term_at_most(reply.hint_term, reply.hint_index);
    progress.become_probe();
    progress.next_index = std::max(progress.match_index + 1, std::min(reply.prev_index, meets + 1));
    return replicate_to(message.from);
  }
  if (reply.match_index > log_.last_index()) return;  // no honest follower has more than we sent
  const bool news = progress.matched(reply.match_index);
  if (progress.state == PeerState::probe) progress.become_replicate();
  if (news) {
    came_forward(progress);
    advance_commit();
    if (role_ != Role::leader) return;
    continue_transfer();
  }
  replicate_to(message.from);
}

void Core::advance_commit() {
  const auto reached = reached_by_quorum(configuration(), [this](const ServerId& id) {
    if (id == options_.self) return durable_index_;
    const auto* other = progress(id);
    return other == nullptr ? Index{0} : other->match_index;
  });
  if (reached <= commit_index_) return;
  if (log_.term_at(reached) != current_term()) return;  // (4)
  set_commit(reached);
  if (role_ != Role::leader) return;
  if (!early_reads_.empty() && commit_index_ >= barrier_index_)
    for (const auto id : std::exchange(early_reads_, {}))
      on(RequestRead{id});
  // The others learn of it with what follows, or soon.
  heartbeat_deadline_
      = std::min(heartbeat_deadline_, now_ + options_.heartbeat_interval / commit_notices);
}

}  // namespace nomad::raft
