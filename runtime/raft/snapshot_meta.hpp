// SnapshotMeta: which point of the log a snapshot stands for.
#pragma once

#include "runtime/raft/configuration.hpp"
#include "runtime/raft/entry.hpp"

namespace nomad::raft {

struct SnapshotMeta {
  Index index = 0;  ///< The last entry that the snapshot contains.
  Term term = 0;    ///< That entry's term.

  /// The members as of `index`, and the entry that made them so.
  Configuration configuration;
  Index configuration_index = 0;

  friend bool operator==(const SnapshotMeta&, const SnapshotMeta&) = default;
};

}  // namespace nomad::raft
