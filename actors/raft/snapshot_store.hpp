// SnapshotStore: a node's snapshots: decides when one is taken, answers who asked for it, and
// moves them between servers as the core says. The files are the Snapshotter's, its child. Part of
// the RaftNode; works in its turns.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "actors/raft/node_parts.hpp"
#include "runtime/base/random.hpp"

namespace nomad::raft {

class SnapshotStore {
public:
  /// What it asks of the node.
  struct Node {
    std::function<Index()> applied;
    /// The state machine is ahead of `applied`, or being replaced.
    std::function<bool()> is_applying;
    std::function<void(Input)> step;
    /// A snapshot has arrived: the state machine takes it over, and `installed` follows.
    std::function<void(const SnapshotMeta&, const snapshotter::Arrived&)> install;
  };

  /// `parts` and `core` outlive it; `core` is there from `start` on.
  SnapshotStore(NodeSelf::pointer self,
                const NodeParts& parts,
                const std::optional<Core>& core,
                Node node)
      : self_{self}, parts_{parts}, core_{core}, node_{std::move(node)} {}

  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;

  /// Spawns the Snapshotter. `newest`: of the snapshot that the node has restored; 0: none.
  void start(Index newest);

  /// Up to where the newest snapshot goes.
  Index index() const { return index_; }

  /// Takes one if so much has been applied since the last, and the last is old enough.
  void take_if_due();

  /// Takes one now, and answers `promise` by it or a newer one.
  void take(std::optional<actor::Promise<SnapshotTaken>> promise);

  /// What the core wants done with snapshots.
  void carry_out(Outputs& out);

  /// The state machine holds what the leader's snapshot up to `index` had.
  void installed(Index index) { index_ = index; }

  bool is_child(const actor::Address& address) const { return snapshotter_.address() == address; }

  /// Answers who waits by `reason`, and ends the Snapshotter. Nothing is done after that.
  void stop(const Error& reason);

private:
  /// Who asked for a snapshot, and what was applied then: an older one is no answer.
  struct Asker {
    Index at_least;
    actor::Promise<SnapshotTaken> promise;
  };

  void draw_delay();
  void saved(const SnapshotMeta& meta, const snapshotter::Saved& saved);
  void answer_askers(const SnapshotTaken& taken);
  void fail(const Error& reason);
  void fetch(const ChunkFetch& fetch);
  void store(StoreChunk& chunk);
  void finish(const SnapshotMeta& meta);

  NodeSelf::pointer self_;
  const NodeParts& parts_;
  const std::optional<Core>& core_;
  Node node_;
  Snapshotter snapshotter_;
  bool saving_ = false;
  bool failed_ = false;  ///< The last one: the next has to wait, urgent or not.
  bool stopped_ = false;
  Index index_ = 0;
  Time since_{0};     ///< When the last one was begun.
  double delay_ = 1;  ///< Of the interval and the count, until the next one is drawn.
  Random chance_{0};
  std::vector<Asker> askers_;
};

}  // namespace nomad::raft
