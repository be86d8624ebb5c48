// Progress: what the leader knows about one other member, and how much it may send it.
//
//   probe     -- accepted reply -->  replicate      (one request at a time until logs meet)
//   replicate -- refused, lost  -->  probe          (a window of requests under way)
//   either    -- log compacted  -->  snapshot       (chunks, one at a time)
//   snapshot  -- installed      -->  probe
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/raft/messages.hpp"

namespace nomad::raft {

/// Nanoseconds of a clock that never goes back and counts suspends; its origin means nothing.
using Time = std::chrono::nanoseconds;

enum class PeerState : std::uint8_t { probe, replicate, snapshot };

struct Progress {
  PeerState state = PeerState::probe;
  Index match_index = 0;  ///< Durable there and equal to ours.
  Index next_index = 1;   ///< What is sent next.
  Round acked_round = 0;  ///< The newest round it has answered.
  Time heard{0};          ///< When it last answered anything; at first when it became known.

  /// probe: a request is under way, wait for its reply or the next heartbeat's.
  bool paused = false;
  Round probe_round = 0;  ///< The newest round when it left.

  /// Entries were asked for from storage.
  bool fetching = false;

  /// `match_index` at its last heartbeat reply: no progress since then means something was lost.
  Index match_at_heartbeat = 0;

  /// snapshot: which one, and where the next chunk begins.
  Index snapshot_index = 0;
  Term snapshot_term = 0;
  std::uint64_t snapshot_offset = 0;
  Time chunk_since{0};  ///< When the chunk was asked for.

  /// replicate: requests under way.
  struct Sent {
    Index last;
    std::size_t bytes;
  };

  std::deque<Sent> inflight;
  std::size_t inflight_bytes = 0;

  void become_probe();
  void become_replicate();
  void become_snapshot(const SnapshotMeta& meta);

  /// A request with entries up to `last` leaves.
  void sent(Index last, std::size_t bytes);

  /// Raises `match_index`, frees the window. False when `match` is old news.
  bool matched(Index match);

  /// Forgets the oldest request, which may be lost, so that another may be tried.
  void free_oldest();
};

}  // namespace nomad::raft
