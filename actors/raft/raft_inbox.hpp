// RaftInbox: where messages of other servers come in, from any thread. It reads and checks them on
// the thread that received them, so that the node is not held up by it, and bounds what waits.
//
// LeaderView: who leads, for any thread: HTTP answers name the leader and how old their news is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "actors/core/actor.hpp"
#include "runtime/raft/fsm.hpp"
#include "runtime/raft/messages.hpp"

namespace nomad::raft {

/// A message of another server, read and checked.
struct Incoming {
  using is_message = void;
  Message message;
  std::string from_address;
  std::shared_ptr<const void> budget;  ///< Frees its share of the inbox when it goes.
};

using Recipient = actor::Interface<void(Incoming)>;

/// Cheap to copy, thread-safe, may outlive the node.
class RaftInbox {
public:
  RaftInbox(Recipient node, std::shared_ptr<const Fsm> fsm, std::size_t max_bytes);

  /// Takes a message whose bytes begin at an 8-byte boundary. `corrupt` for a malformed one,
  /// `invalid_argument` for another protocol's: whoever sends such bytes deserves no connection.
  /// `overloaded` when entries or parts of snapshots wait already beyond the bound, or urgent
  /// messages beyond theirs: they are dropped and come again.
  Result<> deliver(const Bytes& bytes) const;

private:
  /// Thousands of heartbeats and votes: a node that is so far behind has lost its turn anyway.
  static constexpr std::size_t max_urgent_bytes = std::size_t{1} << 20U;

  Recipient node_;
  std::shared_ptr<const Fsm> fsm_;
  std::shared_ptr<std::atomic<std::size_t>> waiting_
      = std::make_shared<std::atomic<std::size_t>>(0);
  std::shared_ptr<std::atomic<std::size_t>> urgent_waiting_
      = std::make_shared<std::atomic<std::size_t>>(0);
  std::size_t max_bytes_;
};

/// Written by the node, read by any thread.
class LeaderView {
public:
  struct Known {
    bool leads = false;  ///< This server is the leader.
    bool ready = false;  ///< It is, and its state has everything that was ever acknowledged.
    Term term = 0;
    ServerId leader = {};             ///< Empty when unknown.
    std::string leader_address = {};  ///< Empty when unknown.
  };

  /// Who is not heard for longer than `silence` is silent.
  explicit LeaderView(std::chrono::nanoseconds silence = std::chrono::nanoseconds::max())
      : silence_{silence} {}

  Known known() const {
    const std::scoped_lock lock{mutex_};
    return known_;
  }

  /// `known().ready`, without the lock.
  bool is_ready() const { return ready_.load(std::memory_order_acquire); }

  /// The leader that is known sends nothing any more: heartbeats are missing.
  bool is_silent() const { return last_contact() > silence_; }

  /// Since the last word of the leader; zero on the leader itself.
  std::chrono::nanoseconds last_contact() const;

  void set(Known known) {
    ready_.store(known.ready, std::memory_order_release);
    const std::scoped_lock lock{mutex_};
    known_ = std::move(known);
  }

  /// When the leader was last heard, by the clock of `LeaderLease::now`; `leading`: always now.
  void set_contact(std::int64_t heard) { heard_.store(heard, std::memory_order_relaxed); }

  static constexpr std::int64_t leading = -1;

  /// What elections hang on, for metrics. Totals since the start.
  struct Waits {
    std::uint64_t elections = 0;           ///< That this server has won.
    std::uint64_t stalls = 0;              ///< How often it did not run when it was due.
    std::chrono::nanoseconds stalled{0};   ///< So long together.
    std::chrono::nanoseconds patience{0};  ///< How long a silence is borne now.
  };

  Waits waits() const {
    const std::scoped_lock lock{mutex_};
    return waits_;
  }

  void set_waits(const Waits& waits) {
    const std::scoped_lock lock{mutex_};
    waits_ = waits;
  }

  /// Why this server takes no writes now; empty: it takes them.
  std::string read_only() const {
    const std::scoped_lock lock{mutex_};
    return read_only_;
  }

  void set_read_only(std::string reason) {
    const std::scoped_lock lock{mutex_};
    read_only_ = std::move(reason);
  }

private:
  const std::chrono::nanoseconds silence_;
  mutable std::mutex mutex_;
  Known known_;
  std::string read_only_;
  Waits waits_;
  std::atomic<bool> ready_{false};
  std::atomic<std::int64_t> heard_{0};
};

}  // namespace nomad::raft
