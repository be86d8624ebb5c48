#include "runtime/net/timer_queue.hpp"

#include <utility>

#include "runtime/base/guard.hpp"

namespace nomad::net {

TimerQueue::~TimerQueue() {
  stop();
}

TimerQueue::Id TimerQueue::call_after(Clock::duration delay, std::function<void()> callback) {
  const std::lock_guard lock{guard_};
  const Id id{.due = Clock::now() + delay, .number = ++last_number_};
  if (stopping_) return id;
  const auto entry = queue_.emplace(id, std::move(callback)).first;
  const bool is_next = entry == queue_.begin();
  if (alarm_) {
    if (is_next) wake_at(id.due);
    return id;
  }
  if (!std::exchange(is_started_, true)) loop_.start();
  if (is_next) loop_.post([this] { call_due(); });
  return id;
}

void TimerQueue::wake_at(Clock::time_point due) {
  if (!alarm_) return loop_.wake_at(due, [this] { call_due(); });
  if (alarm_due_ && *alarm_due_ <= due) return;
  alarm_due_ = due;
  alarm_(due - Clock::now(), [this, due] {
    {
      const std::lock_guard lock{guard_};
      if (alarm_due_ != due) return;  // An earlier one has been set since.
      alarm_due_.reset();
    }
    call_due();
  });
}

bool TimerQueue::cancel(Id id) {
  std::function<void()> dropped;  // destroyed after the lock is released
  const std::lock_guard lock{guard_};
  const auto found = queue_.find(id);
  if (found == queue_.end()) return false;
  dropped = std::move(found->second);
  queue_.erase(found);
  return true;
}

std::size_t TimerQueue::size() const {
  const std::lock_guard lock{guard_};
  return queue_.size();
}

void TimerQueue::stop() {
  Queue dropped;
  {
    const std::lock_guard lock{guard_};
    stopping_ = true;
    dropped.swap(queue_);
  }
  loop_.stop();
}

void TimerQueue::call_due() {
  std::unique_lock lock{guard_};
  while (!queue_.empty()) {
    const auto next = queue_.begin();
    if (const auto due = next->first.due; due > Clock::now()) return wake_at(due);
    auto callback = std::move(next->second);
    queue_.erase(next);
    lock.unlock();
    guarded("net", callback);
    callback = nullptr;
    lock.lock();
  }
}

}  // namespace nomad::net
