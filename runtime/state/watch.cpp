#include "runtime/state/watch.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/guard.hpp"

namespace nomad::state {
namespace {

/// One prefix less of this size.
void drop_size(std::map<std::size_t, std::size_t>& counts, std::size_t size) {
  const auto found = counts.find(size);
  if (--found->second == 0) counts.erase(found);
}

}  // namespace

Watches::Subscription::Subscription(Watches* watches, std::shared_ptr<Waiter> waiter)
    : watches_{watches}, waiter_{std::move(waiter)} {}

Watches::Subscription::Subscription(Subscription&& other) noexcept
    : watches_{std::exchange(other.watches_, nullptr)}, waiter_{std::move(other.waiter_)} {}

Watches::Subscription& Watches::Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    cancel();
    watches_ = std::exchange(other.watches_, nullptr);
    waiter_ = std::move(other.waiter_);
  }
  return *this;
}

void Watches::Subscription::cancel() {
  if (waiter_ != nullptr) watches_->finish(waiter_);
  waiter_.reset();
}

bool Watches::Subscription::active() const {
  return waiter_ != nullptr && !waiter_->done.load(std::memory_order_acquire);
}

Watches::Subscription Watches::subscribe(std::vector<WatchKey> keys, Callback callback) {
  auto waiter = std::make_shared<Waiter>();
  waiter->keys = std::move(keys);
  waiter->callback = std::move(callback);
  const std::lock_guard lock{mutex_};
  for (const WatchKey& key : waiter->keys)
    add(key, waiter);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  return {this, waiter};
}

void Watches::add(const WatchKey& key, const std::shared_ptr<Waiter>& waiter) {
  Table& table = tables_[key.table];
  if (!key.prefix) {
    table.keys[key.key].push_back(waiter);
    return;
  }
  Waiters& waiters = table.prefixes[key.key];
  if (waiters.empty()) ++table.prefix_sizes[key.key.size()];
  waiters.push_back(waiter);
}

void Watches::remove(const std::shared_ptr<Waiter>& waiter) {
  for (const WatchKey& key : waiter->keys)
    remove(key, waiter);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Watches::remove(const WatchKey& key, const std::shared_ptr<Waiter>& waiter) {
  Table& table = tables_[key.table];
  ByText& texts = key.prefix ? table.prefixes : table.keys;
  const auto found = texts.find(key.key);
  if (found == texts.end()) return;
  Waiters& waiters = found->second;
  const auto position = std::find(waiters.begin(), waiters.end(), waiter);
  if (position == waiters.end()) return;
  *position = std::move(waiters.back());
  waiters.pop_back();
  if (!waiters.empty()) return;
  texts.erase(found);
  if (key.prefix) drop_size(table.prefix_sizes, key.key.size());
}

void Watches::finish(const std::shared_ptr<Waiter>& waiter) {
  Callback dropped;  // destroyed outside the lock: it may own anything
  {
    const std::lock_guard lock{mutex_};
    if (waiter->done.exchange(true, std::memory_order_acq_rel)) return;
    remove(waiter);
    dropped = std::move(waiter->callback);
  }
}

void Watches::collect(const Change& change, Waiters& woken) {
  const auto found = tables_.find(change.table);
  if (found == tables_.end()) return;
  Table& table = found->second;
  // All that wait for a text go at once: to look for each among thousands would take the square of
  // their number, on the thread that applies.
  const auto take = [&woken](ByText& texts, std::string_view text) {
    const auto waiters = texts.find(text);
    if (waiters == texts.end()) return false;
    for (auto& waiter : waiters->second)
      if (!waiter->done.exchange(true, std::memory_order_acq_rel))
        woken.push_back(std::move(waiter));
    texts.erase(waiters);
    return true;
  };
  take(table.keys, change.key);
  const std::string_view key = change.key;
  for (auto at = table.prefix_sizes.begin(); at != table.prefix_sizes.end();) {
    const auto size = at++->first;  // it goes with the last prefix of its size
    if (size > key.size()) break;
    if (take(table.prefixes, key.substr(0, size))) drop_size(table.prefix_sizes, size);
  }
}

void Watches::notify(const std::vector<Change>& changes) {
  Waiters woken;
  {
    const std::lock_guard lock{mutex_};
    if (size() == 0) return;
    for (const Change& change : changes)
      collect(change, woken);
    for (const auto& waiter : woken)
      remove(waiter);
  }
  for (const auto& waiter : woken)
    guarded("server", std::exchange(waiter->callback, nullptr));
}

void Watches::notify_all() {
  Waiters woken;
  {
    const std::lock_guard lock{mutex_};
    const auto take = [&](ByText& texts) {
      for (auto& [text, waiters] : texts)
        for (const auto& waiter : waiters)
          if (!waiter->done.exchange(true, std::memory_order_acq_rel)) woken.push_back(waiter);
    };
    for (auto& [id, table] : tables_) {
      take(table.keys);
      take(table.prefixes);
    }
    tables_.clear();
    waiting_.fetch_sub(woken.size(), std::memory_order_relaxed);
  }
  for (const auto& waiter : woken)
    guarded("server", std::exchange(waiter->callback, nullptr));
}

}  // namespace nomad::state
