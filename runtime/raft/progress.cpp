#include "runtime/raft/progress.hpp"

#include <algorithm>
#include <utility>

namespace nomad::raft {
namespace {

/// The longest patience is so many of the shortest.
constexpr int longest_patience = 16;

/// And the longest pause: about four minutes of the default.
constexpr int longest_pause = 512;

}  // namespace

void OutgoingSnapshot::sent(Time now) {
  if (times_sent++ == 0)
    first_sent = now;
  else if (!lost)
    patience = std::min(2 * patience, longest_patience * shortest_patience);
  last_sent = now;
  lost = false;
}

bool OutgoingSnapshot::move_to(std::uint64_t next, Time now) {
  if (times_sent > 0)
    patience = std::clamp(2 * (now - first_sent), shortest_patience,
                          longest_patience * shortest_patience);
  if (next == 0) {
    pause = std::clamp(2 * pause, shortest_patience, longest_pause * shortest_patience);
    resume = now + pause;
  }
  offset = next;
  times_sent = 0;
  lost = false;
  const bool news = next > furthest;
  furthest = std::max(furthest, next);
  return news;
}

bool OutgoingSnapshot::is_due(Time now) const {
  if (times_sent == 0) return now >= resume;
  return lost || now - last_sent > patience;
}

void Progress::become_probe() {
  state = PeerState::probe;
  next_index = match_index + 1;
  paused = false;
  fetching = false;
  inflight.clear();
  inflight_bytes = 0;
}

void Progress::become_replicate() {
  become_probe();
  state = PeerState::replicate;
}

void Progress::become_snapshot(OutgoingSnapshot next) {
  become_probe();
  state = PeerState::snapshot;
  outgoing = std::move(next);
}

Index Progress::needs_behind() const {
  return state == PeerState::snapshot ? outgoing.meta.index : match_index;
}

void Progress::sent(Index last, std::size_t bytes) {
  if (state == PeerState::probe) {
    paused = true;
    return;
  }
  next_index = last + 1;
  inflight.push_back({last, bytes});
  inflight_bytes += bytes;
}

bool Progress::matched(Index match) {
  while (!inflight.empty() && inflight.front().last <= match)
    free_oldest();
  if (match <= match_index) return false;
  match_index = match;
  next_index = std::max(next_index, match + 1);
  return true;
}

void Progress::free_oldest() {
  if (inflight.empty()) return;
  inflight_bytes -= inflight.front().bytes;
  inflight.pop_front();
}

}  // namespace nomad::raft
