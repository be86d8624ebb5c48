// Watches: tells waiters that a key, or a key beginning with some text, of a table has changed.
//
// This is how blocking queries and watchers of the server wait: 10,000 clients that each wait for
// their own node's allocations cost one hash entry each, and a change wakes only those it concerns.
//
// To wait without missing a change: subscribe first, then take a snapshot and read; if what was
// read is new enough, cancel; else wait for the call. A subscription calls at most once, however
// many of its keys change. Calls come after the snapshot with the change is published, on the
// thread that applied it: a callback posts a message and returns; it may subscribe and cancel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nomad::state {

/// What to watch: one key of a table, or every key that begins with `key` (all, when empty).
struct WatchKey {
  std::uint32_t table = 0;
  std::string key;
  bool prefix = false;
};

/// One changed key.
struct Change {
  std::uint32_t table = 0;
  std::string key;
};

/// The registry. Thread-safe.
class Watches {
  struct Waiter;

public:
  using Callback = std::function<void()>;

  /// Ends the subscription when destroyed, if it has not called yet. A call that has begun on
  /// another thread is not waited for. Must not outlive the registry.
  class [[nodiscard]] Subscription {
  public:
    Subscription() = default;
    Subscription(Subscription&& other) noexcept;
    Subscription& operator=(Subscription&& other) noexcept;

    ~Subscription() { cancel(); }

    void cancel();
    /// Whether it can still call.
    bool active() const;

  private:
    friend class Watches;
    Subscription(Watches* watches, std::shared_ptr<Waiter> waiter);

    Watches* watches_ = nullptr;
    std::shared_ptr<Waiter> waiter_;
  };

  Watches() = default;
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  /// Calls `callback` once, when the first of `keys` changes.
  Subscription subscribe(std::vector<WatchKey> keys, Callback callback);

  /// Wakes whoever watches one of `changes`.
  void notify(const std::vector<Change>& changes);

  /// Wakes everyone: the whole state was replaced.
  void notify_all();

  /// How many subscriptions are waiting.
  std::size_t size() const { return waiting_.load(std::memory_order_relaxed); }

private:
  struct Waiter {
    std::vector<WatchKey> keys;
    Callback callback;
    std::atomic<bool> done{false};
  };

  using Waiters = std::vector<std::shared_ptr<Waiter>>;

  struct StringHash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  using ByText = std::unordered_map<std::string, Waiters, StringHash, std::equal_to<>>;

  struct Table {
    ByText keys;
    ByText prefixes;
    std::map<std::size_t, std::size_t> prefix_sizes;  ///< How many distinct prefixes per length.
  };

  void add(const WatchKey& key, const std::shared_ptr<Waiter>& waiter);
  void remove(const std::shared_ptr<Waiter>& waiter);
  void remove(const WatchKey& key, const std::shared_ptr<Waiter>& waiter);
  void collect(const Change& change, Waiters& woken);
  void finish(const std::shared_ptr<Waiter>& waiter);

  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Table> tables_;
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace nomad::state
