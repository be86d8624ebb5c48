// EventBuffer<E, Packed>: the newest batches of events, one batch per Raft index, kept in memory
// for the event stream. One writer appends, any number of readers follow at their own pace, each
// remembering only the index up to which it has read.
//
// A reader that falls behind the oldest kept batch is told that it lost events; it must not go on
// as if it had seen all. Batches are shared and immutable. Thread-safe.
//
// What is kept is `Packed`: made from a batch's events, so that the buffer holds none of the
// objects that they refer to, its `unpack` gives them back, as a Result, and its `denser` takes
// less room, for times when few read. Readers of the same batch share what one of them has
// unpacked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nomad::state {

template <class E, class Packed>
class EventBuffer {
public:
  struct Batch {
    std::uint64_t index = 0;
    std::vector<E> events;
    std::size_t bytes = 0;  ///< What they hold, as who appended them counts it.
  };

  using BatchRef = std::shared_ptr<const Batch>;

  struct Page {
    std::vector<BatchRef> batches;  ///< Ascending by index.
    /// Where to go on: pass it to the next `read_after`.
    std::uint64_t next_after = 0;
  };

  static constexpr std::size_t default_bytes = std::size_t{64} << 20;

  /// Smaller batches are not worth being made denser.
  static constexpr std::size_t least_packed = 4096;

  /// `capacity` batches are kept (`event_buffer_size`), and no more than hold `most_bytes`; one at
  /// least.
  explicit EventBuffer(std::size_t capacity = 100, std::size_t most_bytes = default_bytes)
      : capacity_{std::max<std::size_t>(capacity, 1)}, most_bytes_{most_bytes} {}

  /// Adds the events of one index, greater than all before, and calls those who wait.
  void append(std::uint64_t index, std::vector<E> events, std::size_t bytes = 0) {
    std::vector<std::function<void()>> woken;
    std::vector<Kept> evicted;  // destroyed outside the lock
    Kept kept{.index = index,
              .bytes = bytes,
              .packed = std::make_shared<const Packed>(events),
              .unpacked = {}};
    {
      const std::lock_guard lock{mutex_};
      batches_.push_back(std::move(kept));
      bytes_ += bytes;
      while (batches_.size() > capacity_ || (bytes_ > most_bytes_ && batches_.size() > 1)) {
        bytes_ -= batches_.front().bytes;
        lost_until_ = batches_.front().index;
        evicted.push_back(std::move(batches_.front()));
        batches_.pop_front();
      }
      woken = take_waiters();
    }
    for (const auto& call : woken)
      call();
  }

  /// Where a stream asked for from `index` begins: at the first kept batch of at least that
  /// index. The result is an argument for `read_after`.
  std::uint64_t start_at(std::uint64_t index) const {
    const std::lock_guard lock{mutex_};
    const std::uint64_t wanted = index == 0 ? 0 : index - 1;
    return std::max(wanted, lost_until_);
  }

  /// Where a stream of only new events begins.
  std::uint64_t end() const {
    const std::lock_guard lock{mutex_};
    return batches_.empty() ? lost_until_ : batches_.back().index;
  }

  /// The batches after index `after`, at most `limit`; nothing if events between were dropped.
  std::optional<Page> read_after(std::uint64_t after, std::size_t limit) const {
    const auto found = find_after(after, limit);
    if (!found) return std::nullopt;
    Page page{.batches = {}, .next_after = after};
    for (const auto& kept : *found) {
      auto batch = kept.unpacked.lock();
      if (!batch) {
        auto events = kept.packed->unpack();
        if (!events) return std::nullopt;
        batch = std::make_shared<const Batch>(Batch{kept.index, std::move(*events), kept.bytes});
        share(kept, batch);
      }
      page.batches.push_back(std::move(batch));
      page.next_after = kept.index;
    }
    return page;
  }

  /// Makes what is kept denser. Takes a millisecond for about 100 kB.
  void pack() {
    std::vector<Kept> loose;
    {
      const std::lock_guard lock{mutex_};
      for (const auto& kept : batches_)
        if (!kept.is_dense && kept.bytes >= least_packed) loose.push_back(kept);
    }
    for (auto& kept : loose)
      kept.packed = std::make_shared<const Packed>(kept.packed->denser());
    const std::lock_guard lock{mutex_};  // ends before `loose`
    for (auto& kept : loose) {
      const auto position = above(kept.index - 1);
      if (position == batches_.end() || position->index != kept.index)
        continue;  // Dropped meanwhile.
      position->packed.swap(kept.packed);
      position->is_dense = true;
    }
  }

  /// Calls `callback` once, when something after index `after` can be read (at once, on this
  /// thread, if it can already). The callback posts a message and returns. The result is for
  /// `forget`; 0 when it was called already.
  std::uint64_t wait(std::uint64_t after, std::function<void()> callback) {
    {
      const std::lock_guard lock{mutex_};
      const bool readable
          = after < lost_until_ || (!batches_.empty() && batches_.back().index > after);
      if (!readable) {
        waiters_.emplace(++last_waiter_, std::move(callback));
        return last_waiter_;
      }
    }
    callback();
    return 0;
  }

  /// Withdraws a `wait`; a call that has begun is not waited for.
  void forget(std::uint64_t waiter) {
    std::function<void()> dropped;
    const std::lock_guard lock{mutex_};
    const auto found = waiters_.find(waiter);
    if (found == waiters_.end()) return;
    dropped = std::move(found->second);
    waiters_.erase(found);
  }

  /// Drops everything, because the whole state was replaced as of `index`: every reader learns
  /// that it lost events.
  void reset(std::uint64_t index) {
    std::vector<std::function<void()>> woken;
    std::deque<Kept> dropped;
    {
      const std::lock_guard lock{mutex_};
      dropped.swap(batches_);
      bytes_ = 0;
      lost_until_ = std::max(index, lost_until_ + 1);
      woken = take_waiters();
    }
    for (const auto& call : woken)
      call();
  }

private:
  struct Kept {
    std::uint64_t index = 0;
    std::size_t bytes = 0;
    std::shared_ptr<const Packed> packed;
    std::weak_ptr<const Batch> unpacked;  ///< For readers, while one of them has it.
    bool is_dense = false;
  };

  void share(const Kept& kept, const BatchRef& batch) const {
    const std::lock_guard lock{mutex_};
    const auto position = above(kept.index - 1);
    if (position != batches_.end() && position->index == kept.index) position->unpacked = batch;
  }

  /// The first behind `index`. Under the lock.
  auto above(std::uint64_t index) const {
    return std::ranges::upper_bound(batches_, index, {}, &Kept::index);
  }

  std::optional<std::vector<Kept>> find_after(std::uint64_t after, std::size_t limit) const {
    const std::lock_guard lock{mutex_};
    if (after < lost_until_) return std::nullopt;
    std::vector<Kept> found;
    for (auto kept = above(after); kept != batches_.end() && found.size() < limit; ++kept)
      found.push_back(*kept);
    return found;
  }

  std::vector<std::function<void()>> take_waiters() {
    std::vector<std::function<void()>> taken;
    taken.reserve(waiters_.size());
    for (auto& [id, callback] : waiters_)
      taken.push_back(std::move(callback));
    waiters_.clear();
    return taken;
  }

  const std::size_t capacity_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  mutable std::deque<Kept> batches_;  ///< Its `unpacked` is a cache.
  std::size_t bytes_ = 0;             ///< Of all of them.
  std::uint64_t lost_until_ = 0;      ///< Events up to here may have been dropped.
  std::unordered_map<std::uint64_t, std::function<void()>> waiters_;
  std::uint64_t last_waiter_ = 0;
};

}  // namespace nomad::state
