// Proposer: how any thread writes to the cluster, and LeaderLease: how any thread learns whether
// this server may answer a read from its newest snapshot. No CAF in here, so that HTTP and RPC
// threads use them as they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/raft/fsm.hpp"

namespace nomad::raft {

/// The write is committed, durable on a quorum, applied, and visible in the published snapshot.
/// `outcome` says whether the state machine accepted it.
struct Applied {
  using is_message = void;
  Index index = 0;
  Outcome outcome;
};

/// Called once, on the Raft node's thread: post to your own thread and return. Errors:
/// `no_leader` (this server does not lead, hands over or stops: nothing was written, and another
/// may be asked), `unavailable` (leadership was lost meanwhile: the write may still happen, and the
/// text says so; or a member has not said yet whether it can apply it), `overloaded` (too much
/// waits already, or the disk is full), `rejected` (a member can't apply it), `too_large`, `io`
/// (the log is broken: the write may still happen if the text says so).
using ProposalCallback = std::function<void(Result<Applied>)>;

struct Proposal {
  Bytes payload;
  ProposalCallback callback;
};

/// What proposers fill and the node empties. Internal to actors/raft.
class ProposalQueue {
public:
  /// `wake` is called when the queue stops being empty, from the thread that added; the limits
  /// bound what waits here.
  ProposalQueue(std::size_t max_count, std::size_t max_bytes)
      : max_count_(max_count), max_bytes_(max_bytes) {}

  void add(Proposal proposal);

  /// Takes everything that waits.
  std::vector<Proposal> take();

  /// Sets how the node is woken; once, before the first `add` of interest. Wakes at once when
  /// something waits already.
  void set_wake(std::function<void()> wake);

  /// From now on each proposal fails at once with `reason`. Returns what still waited.
  std::vector<Proposal> close(Error reason);

private:
  std::mutex mutex_;
  std::vector<Proposal> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t max_count_;
  std::size_t max_bytes_;
  std::function<void()> wake_;
  std::optional<Error> closed_;
};

/// A handle to the log of this server. Cheap to copy; thread-safe; may outlive the node.
class Proposer {
public:
  explicit Proposer(std::shared_ptr<ProposalQueue> queue) : queue_(std::move(queue)) {}

  /// Proposes a command: enqueues it and wakes the node if it was idle. `callback` may be called
  /// before this returns when the proposal is refused.
  void propose(Bytes payload, ProposalCallback callback) const {
    queue_->add({std::move(payload), std::move(callback)});
  }

private:
  std::shared_ptr<ProposalQueue> queue_;
};

/// Until when this server is certainly the leader. Written by the node, read by any thread.
class LeaderLease {
public:
  /// Whether no other leader can have been elected yet and this one has applied an entry of its
  /// own term. For a linearizable read: take the snapshot first, then ask.
  bool holds() const;

  /// Nanoseconds of CLOCK_BOOTTIME, which counts suspends.
  static std::int64_t now();

  /// A lease that ends only when it is changed: that of a single voter.
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

  void set(std::int64_t until) { until_.store(until, std::memory_order_release); }

private:
  std::atomic<std::int64_t> until_{0};
};

/// Totals since the start; for metrics. Written by the actors of this folder, read by any thread.
struct RaftCounters {
  std::atomic<std::uint64_t> proposals{0};
  std::atomic<std::uint64_t> entries_persisted{0};
  std::atomic<std::uint64_t> log_commits{0};  ///< SQLite transactions; each is one fsync.
  std::atomic<std::uint64_t> checkpoints{0};
  std::atomic<std::uint64_t> applied{0};
  std::atomic<std::uint64_t> snapshots{0};
  std::atomic<std::uint64_t> elections{0};
};

}  // namespace nomad::raft
