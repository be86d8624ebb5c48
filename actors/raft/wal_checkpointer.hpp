// WalCheckpointer: copies the log's write-ahead log into its file while writes go on.
//
// Owns:   a connection of its own, opened at the first checkpoint.
// Takes:  Checkpoint, answered with Checkpointed when as much as possible is copied.
// Parent: the log_writer. Detached: it waits for the disk.
// Ends:   by the parent's exit message.
#pragma once

#include <string>

#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::raft {

struct Checkpoint {
  using is_message = void;
};

struct Checkpointed {
  using is_message = void;
};

using WalCheckpointer = actor::Interface<Checkpointed(Checkpoint)>;

/// The behavior; spawn it as a detached child.
WalCheckpointer::behavior_type wal_checkpointer(WalCheckpointer::pointer self, std::string path);

/// Linked: neither lives without the other.
template <class Parent>
WalCheckpointer spawn_wal_checkpointer(Parent* parent, std::string path) {
  return parent->template spawn<caf::linked + caf::detached>(
      actor::detail::supervised(wal_checkpointer), std::move(path));
}

}  // namespace nomad::raft
