#include "runtime/raft/progress.hpp"

#include <algorithm>

namespace nomad::raft {

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

void Progress::become_snapshot(const SnapshotMeta& meta) {
  become_probe();
  state = PeerState::snapshot;
  snapshot_index = meta.index;
  snapshot_term = meta.term;
  snapshot_offset = 0;
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
