#include "runtime/net/timer_queue.hpp"

#include <utility>

namespace nomad::net {

TimerQueue::~TimerQueue() {
  stop();
}

TimerQueue::Id TimerQueue::call_after(Clock::duration delay, std::function<void()> callback) {
  const std::lock_guard lock{guard_};
  const auto id = ++last_id_;
  if (stopping_) return id;
  const auto entry = queue_.emplace(Clock::now() + delay, std::pair{id, std::move(callback)});
  by_id_.emplace(id, entry);
  if (!thread_.joinable())
    thread_ = std::thread{[this] { run(); }};
  else if (entry == queue_.begin())
    wake_.notify_one();
  return id;
}

bool TimerQueue::cancel(Id id) {
  std::function<void()> dropped;  // destroyed after the lock is released
  const std::lock_guard lock{guard_};
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  dropped = std::move(found->second->second.second);
  queue_.erase(found->second);
  by_id_.erase(found);
  return true;
}

std::size_t TimerQueue::size() const {
  const std::lock_guard lock{guard_};
  return queue_.size();
}

void TimerQueue::stop() {
  Queue dropped;
  std::thread ended;
  {
    const std::lock_guard lock{guard_};
    stopping_ = true;
    dropped.swap(queue_);
    by_id_.clear();
    ended.swap(thread_);
  }
  wake_.notify_all();
  if (ended.joinable()) ended.join();
}

void TimerQueue::run() {
  std::unique_lock lock{guard_};
  while (!stopping_) {
    if (queue_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto next = queue_.begin();
    if (const auto due = next->first; due > Clock::now()) {
      wake_.wait_until(lock, due);
      continue;
    }
    auto [id, callback] = std::move(next->second);
    queue_.erase(next);
    by_id_.erase(id);
    lock.unlock();
    callback();
    callback = nullptr;
    lock.lock();
  }
}

}  // namespace nomad::net
