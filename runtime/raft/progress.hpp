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
#include <optional>

#include "runtime/raft/messages.hpp"

namespace nomad::raft {

/// Nanoseconds of a clock that never goes back and counts suspends; its origin means nothing.
using Time = std::chrono::nanoseconds;

enum class PeerState : std::uint8_t { probe, replicate, snapshot };

/// A snapshot on its way to a member, one chunk after the other.
///
/// A chunk goes again when it is known to be lost, or was not answered in time. That time doubles
/// with each repetition, and begins with what the chunk before has taken: over a slow link each
/// would otherwise be sent several times, which makes the link slower still.
///
/// A receiver that begins anew has no room for the file, or refuses what is in it, and will most
/// likely do so again: it is sent the file again after a pause, which doubles each time.
struct OutgoingSnapshot {
  SnapshotMeta meta;
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;    ///< Where the chunk begins that is being read or under way.
  std::uint64_t furthest = 0;  ///< Where it has ever begun.

  Time shortest_patience{0};
  Time patience{0};  ///< So long an answer is waited for.
  int times_sent = 0;
  Time first_sent{0};
  Time last_sent{0};
  bool lost = false;  ///< It has not arrived, as was reported.

  Time pause{0};   ///< The last time that it began anew.
  Time resume{0};  ///< Nothing is sent before.

  /// The chunk leaves.
  void sent(Time now);

  /// The receiver wants the chunk at `next`. True when it never was so far.
  bool move_to(std::uint64_t next, Time now);

  /// Whether the chunk may be sent, or sent again.
  bool is_due(Time now) const;
};

struct Progress {
  PeerState state = PeerState::probe;
  Index match_index = 0;  ///< Durable there and equal to ours.
  Index next_index = 1;   ///< What is sent next.
  Round acked_round = 0;  ///< The newest round it has answered.
  Time heard{0};          ///< When it last answered anything; at first when it became known.

  /// As it said last (`Message::known_commands`); unset: it has said nothing to this leader yet.
  std::optional<std::uint32_t> known_commands;

  /// probe: a request is under way, wait for its reply or the next heartbeat's.
  bool paused = false;
  Round probe_round = 0;  ///< The newest round when it left.

  /// Entries were asked for from storage.
  bool fetching = false;

  /// `match_index` at its last heartbeat reply: no progress since then means something was lost.
  Index match_at_heartbeat = 0;

  /// snapshot: which one, and how far.
  OutgoingSnapshot outgoing;

  /// Part of a snapshot is being read for it, whether or not it is still wanted.
  bool reading = false;

  /// When it last came forward, from the beginning of a snapshot until it follows the log again.
  std::optional<Time> catching_up;

  /// replicate: requests under way.
  struct Sent {
    Index last;
    std::size_t bytes;
  };

  std::deque<Sent> inflight;
  std::size_t inflight_bytes = 0;

  void become_probe();
  void become_replicate();
  void become_snapshot(OutgoingSnapshot next);

  /// Behind this index it needs the log, after the snapshot that is on its way.
  Index needs_behind() const;

  /// A request with entries up to `last` leaves.
  void sent(Index last, std::size_t bytes);

  /// Raises `match_index`, frees the window. False when `match` is old news.
  bool matched(Index match);

  /// Forgets the oldest request, which may be lost, so that another may be tried.
  void free_oldest();
};

}  // namespace nomad::raft
