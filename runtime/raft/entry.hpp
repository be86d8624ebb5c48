// The records that Raft keeps: log entries, the term and vote, and what a snapshot stands for.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/raft/bytes.hpp"

namespace nomad::raft {

/// Position in the log; the first entry is 1, 0 is "before the log".
using Index = std::uint64_t;

/// Election term; 0 is "before the first election".
using Term = std::uint64_t;

/// A server's id (a UUID). Never used again once it was removed from a cluster.
using ServerId = std::string;

enum class Role : std::uint8_t { follower, pre_candidate, candidate, leader };

/// Stored as a number: never renumber.
enum class EntryKind : std::uint8_t {
  command = 0,        ///< A write of the state machine; opaque to Raft.
  barrier = 1,        ///< A new leader's first entry; empty.
  configuration = 2,  ///< The members of the cluster from this entry on.
};

struct Entry {
  Index index = 0;
  Term term = 0;
  EntryKind kind = EntryKind::command;
  Bytes payload;

  friend bool operator==(const Entry&, const Entry&) = default;
};

/// What must survive a crash besides the log. An empty `voted_for` is no vote in `current_term`.
struct HardState {
  Term current_term = 0;
  ServerId voted_for;

  friend bool operator==(const HardState&, const HardState&) = default;
};

}  // namespace nomad::raft
