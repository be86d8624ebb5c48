// WalCheckpointer: copies the log's write-ahead log into its file while writes go on.
//
// Owns:   a connection of its own, opened at the first checkpoint.
// Takes:  Checkpoint, answered with Checkpointed when as much as possible is copied.
// Parent: log_writer, restart. Detached: it waits for the disk.
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
  int copied_pages;  ///< Of the write-ahead log, in the file now.
};

using WalCheckpointer = actor::Interface<Checkpointed(Checkpoint)>;

WalCheckpointer spawn_wal_checkpointer(const actor::Owner& owner, std::string path);

}  // namespace nomad::raft
