// Snapshotter: everything about snapshot files that takes time: writing one from a frozen state
// while the log goes on, reading parts for a server that is behind, collecting parts that arrive.
//
// Owns:   the directory of snapshots.
// Takes:  SaveSnapshot, ReadPart, StorePart, FinishArrived; answers each.
// Parent: raft_node, report: the node ends. Detached: it works on the disk.
// Ends:   by an exit message; an unfinished file is removed at the next start.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "runtime/raft/fsm.hpp"
#include "runtime/raft/snapshot_meta.hpp"

namespace nomad::raft {

namespace snapshotter {

/// A whole, durable snapshot file.
struct Saved {
  using is_message = void;
  std::string path;
  std::uint64_t bytes = 0;
};

/// Writes a snapshot, then removes old ones.
struct SaveSnapshot {
  using is_message = void;
  SnapshotMeta meta;
  std::shared_ptr<const SnapshotSource> source;
};

/// Part of a snapshot's file; empty when the snapshot is gone.
struct Part {
  using is_message = void;
  Bytes data;
};

struct ReadPart {
  using is_message = void;
  Index index = 0;
  Term term = 0;
  std::uint64_t offset = 0;
  std::size_t max_bytes = 0;
};

/// How much of the arriving file is there.
struct Stored {
  using is_message = void;
  std::uint64_t size = 0;
};

struct StorePart {
  using is_message = void;
  SnapshotMeta meta;
  std::uint64_t offset = 0;
  Bytes data;
};

/// Verifies an arrived file, has the state machine put its state together, and makes it a snapshot:
/// answered with Arrived, or why it is none.
struct FinishArrived {
  using is_message = void;
  SnapshotMeta meta;
};

struct Arrived {
  using is_message = void;
  std::uint64_t bytes = 0;  ///< Of the file, which is whole and durable.
  std::shared_ptr<PreparedState> state;
};

}  // namespace snapshotter

using Snapshotter = actor::Interface<snapshotter::Saved(snapshotter::SaveSnapshot),
                                     snapshotter::Part(snapshotter::ReadPart),
                                     snapshotter::Stored(snapshotter::StorePart),
                                     snapshotter::Arrived(snapshotter::FinishArrived)>;

/// Detached. Keeps the `keep` newest snapshots in `directory`.
Snapshotter spawn_snapshotter(const actor::Owner& owner,
                              std::string directory,
                              std::size_t keep,
                              std::shared_ptr<const Fsm> fsm);

}  // namespace nomad::raft
