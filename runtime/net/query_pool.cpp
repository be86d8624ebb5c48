#include "runtime/net/query_pool.hpp"

#include <utility>

#include "runtime/base/guard.hpp"

namespace nomad::net {

QueryPool::QueryPool(unsigned threads, std::size_t capacity)
    : thread_limit_{threads}, capacity_{capacity} {}

QueryPool::~QueryPool() {
  stop();
}

bool QueryPool::submit(std::function<void()>& job) {
  if (thread_limit_ == 0) {
    job();
    return true;
  }
  {
    const std::lock_guard lock{guard_};
    if (stopping_ || jobs_.size() >= capacity_) return false;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < thread_limit_)
      threads_.emplace_back([this] { work(); });
  }
  wake_.notify_one();
  return true;
}

void QueryPool::stop() {
  std::deque<std::function<void()>> dropped;
  std::vector<std::thread> ended;
  {
    const std::lock_guard lock{guard_};
    stopping_ = true;
    dropped.swap(jobs_);
    ended.swap(threads_);
  }
  wake_.notify_all();
  for (auto& thread : ended)
    thread.join();
}

void QueryPool::work() {
  std::unique_lock lock{guard_};
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (stopping_) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    guarded("query", job);
    job = nullptr;  // its captures die outside the lock
    lock.lock();
  }
}

}  // namespace nomad::net
