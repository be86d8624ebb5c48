// Messages: what servers of a cluster say to each other. Plain values here; the transport gives
// them their form on the wire.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/raft/entry.hpp"
#include "runtime/raft/snapshot_meta.hpp"

namespace nomad::raft {

inline constexpr std::uint32_t protocol_version = 1;

/// Counts the leader's questions to all members within a term. A reply names the round it answers:
/// a quorum of replies to a round proves that nobody else led when the round began.
using Round = std::uint64_t;

/// Asks for a vote. A pre-vote asks whether a vote would be granted, and carries the term that the
/// candidate would have.
struct VoteRequest {
  bool pre_vote = false;
  bool transfer = false;  ///< The leader itself wants this election.
  Index last_index = 0;
  Term last_term = 0;
};

/// A granted pre-vote carries the asked-for term, everything else the sender's own.
struct VoteReply {
  bool pre_vote = false;
  bool granted = false;
};

/// Sent to every member each heartbeat interval; never waits for a disk.
struct Heartbeat {
  Index commit_index = 0;  ///< Never beyond what the receiver is known to have.
  Round round = 0;
};

struct HeartbeatReply {
  Round round = 0;
};

struct AppendRequest {
  Index prev_index = 0;
  Term prev_term = 0;
  std::vector<Entry> entries;
  Index commit_index = 0;
  Round round = 0;
};

/// Accepted: everything up to `match_index` equals the leader's log and is durable. Refused: the
/// entry before does not fit; the hint names the last place that may.
struct AppendReply {
  bool accepted = false;
  Index match_index = 0;
  Index prev_index = 0;  ///< The request's.
  Index hint_index = 0;
  Term hint_term = 0;
  Round round = 0;
};

/// Part of the file of a snapshot.
struct SnapshotChunk {
  SnapshotMeta meta;
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;
  Bytes data;
  Round round = 0;
};

/// How far the receiver is with that snapshot: the next byte it wants, or that it is installed.
struct SnapshotReply {
  Index index = 0;
  Term term = 0;
  std::uint64_t next_offset = 0;
  bool installed = false;
  Round round = 0;
};

/// The leader hands over: start an election at once.
struct TimeoutNow {};

using Body = std::variant<VoteRequest,
                          VoteReply,
                          Heartbeat,
                          HeartbeatReply,
                          AppendRequest,
                          AppendReply,
                          SnapshotChunk,
                          SnapshotReply,
                          TimeoutNow>;

struct Message {
  std::uint32_t protocol = protocol_version;
  std::string cluster_id;
  ServerId from;
  ServerId to;
  Term term = 0;
  Body body;
  std::uint32_t known_commands = 0;  ///< `Fsm::known_commands` of the sender; 0: it doesn't say.
};

}  // namespace nomad::raft
