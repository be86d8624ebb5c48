// LogWrite: one change of the stored log, as the core asks for it and storage carries it out.
#pragma once

#include <optional>
#include <vector>

#include "runtime/raft/entry.hpp"

namespace nomad::raft {

/// Carried out in this order: hard state, reset or truncation, append. All of it becomes durable
/// together.
struct LogWrite {
  std::optional<HardState> hard_state;

  /// Drops the whole log; the next entry follows this index. After a snapshot was installed.
  std::optional<Index> reset_to;

  /// Drops this entry and all behind it.
  std::optional<Index> truncate_from;

  std::vector<Entry> append;

  bool empty() const { return !hard_state && !reset_to && !truncate_from && append.empty(); }
};

}  // namespace nomad::raft
