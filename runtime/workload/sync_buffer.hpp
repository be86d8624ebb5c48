// SyncBuffer: decides which allocation updates go to the servers, and when. Client updates are most
// of a busy cluster's log, but only a change of ClientStatus moves a deployment or a rescheduling
// on; so those leave soon and take all others with them, and the others alone leave seldom.
//
// Invariants:
//   1. One entry per allocation; the newest state wins. Nobody is ever made to wait.
//   2. Nothing leaves before the servers' first answer or while a send is under way. A change of
//      ClientStatus leaves at once while the node has made no more than `burst` sends beyond one
//      for each tick (200 ms). Then it waits a little: the pause grows with the square of what was
//      sent beyond that, and is a whole tick after `reserve` more. So hundreds of changes one after
//      the other wait for milliseconds, and a node that never rests sends once a tick.
//   3. Without such a change, entries leave on every fifth tick, counted from the last send.
//   4. A state that the servers have acknowledged is dropped. An allocation's first state counts
//      as a change of ClientStatus unless it is still pending.
//   5. A failed send puts its entries back, except where a newer one waits, and all wait longer.
//
// Times are any monotonic clock's, as nanoseconds since whatever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::workload {

struct SyncOptions {
  Nanoseconds tick = std::chrono::milliseconds{200};
  unsigned burst = 50;       ///< Sends that a quiet node may make one right after the other.
  unsigned reserve = 1'000;  ///< Sends behind these, each after a longer pause.
  unsigned ticks_between_ordinary = 5;
  Nanoseconds retry = std::chrono::seconds{5};  ///< Plus up to as much again.
  std::size_t max_batch = 2'000;                ///< Of updates in one send.
};

class SyncBuffer {
public:
  explicit SyncBuffer(SyncOptions options = {}) : options_{options} {}

  /// What the servers had acknowledged before this process started.
  void restore(const std::string& alloc_id, Acknowledged acknowledged);

  /// A new state of an allocation. `version` grows from one state of it to the next; one that is
  /// not above the last one's is passed over, because urgent messages overtake others.
  void put(const std::string& alloc_id, std::uint64_t version, AllocUpdate update);

  /// What the servers acknowledged of the allocation may not be what they have: its next state is
  /// sent, and soon, even if they have acknowledged it.
  void doubt(const std::string& alloc_id);

  /// The servers have forgotten the allocation: its updates are of no use any more.
  void forget(const std::string& alloc_id);

  /// The servers have answered for the first time; before, nothing is sent.
  void open() { open_ = true; }

  /// The servers can be reached again: a retry need not wait.
  void send_now() { not_before_ = last_send_; }

  /// When `take` has something to give, if no further state comes; nothing: it has none.
  std::optional<Nanoseconds> due(Nanoseconds now) const;

  /// The updates to send now; empty when it is not time. Not empty: `succeeded` or `failed` has to
  /// be called before anything else leaves.
  std::vector<Object<schema::Allocation>> take(Nanoseconds now);

  /// Whether nothing of what was taken last is a change of ClientStatus.
  bool may_wait() const { return !sends_urgent_ && options_.ticks_between_ordinary > 1; }

  /// The updates last taken have been accepted: what to remember of them across a restart.
  std::vector<std::pair<std::string, Acknowledged>> succeeded(Nanoseconds now);

  void failed(Nanoseconds now, Random& random);

  /// Allocations whose state waits to be sent.
  std::size_t waiting() const { return waiting_.size(); }

private:
  struct Entry {
    AllocUpdate update;
    bool urgent = false;
  };

  /// What is known of an allocation beyond what waits.
  struct Known {
    std::optional<Acknowledged> acknowledged;
    std::uint64_t version = 0;  ///< Of the last state that was put.
  };

  static bool is_urgent(const Known& known, const Acknowledged& state);
  Nanoseconds pause_behind_send(Nanoseconds now) const;
  void drop_known();
  void erase_waiting(const std::string& alloc_id);

  SyncOptions options_;
  std::unordered_map<std::string, Entry> waiting_;
  std::size_t urgent_waiting_ = 0;               ///< How many of `waiting_` are urgent.
  std::unordered_map<std::string, Entry> sent_;  ///< The send under way.
  std::unordered_map<std::string, Known> known_;
  Nanoseconds last_send_ = Nanoseconds::min() / 2;   ///< When the last send was answered.
  Nanoseconds paid_until_ = Nanoseconds::min() / 2;  ///< Each send takes a tick, now or in advance.
  Nanoseconds pause_until_ = Nanoseconds::min() / 2;  ///< The budget allows no send before.
  Nanoseconds not_before_ = Nanoseconds::min() / 2;   ///< Nor does a failure.
  /// When what waits now leaves without a change of ClientStatus: fixed when it is first asked for,
  /// because whoever wakes up for it does so a little late.
  mutable std::optional<Nanoseconds> ordinary_due_;
  bool open_ = false;
  bool sends_urgent_ = false;
  bool sending_ = false;  ///< A batch was taken and its outcome is not known yet.
};

}  // namespace nomad::workload
