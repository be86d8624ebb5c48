#include "runtime/net/query_pool.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/guard.hpp"

namespace nomad::net {

QueryPool::QueryPool(unsigned threads, std::size_t capacity, std::size_t of_one_owner)
    : thread_limit_{threads}, capacity_{capacity}, of_one_owner_{of_one_owner} {}

QueryPool::~QueryPool() {
  stop();
}

bool QueryPool::submit(std::function<void()>& job, std::string_view owner) {
  if (thread_limit_ == 0) {
    job();
    return true;
  }
  {
    const std::lock_guard lock{guard_};
    if (stopping_ || jobs_.size() >= capacity_) return false;
    if (!owner.empty()
        && static_cast<std::size_t>(std::ranges::count(jobs_, owner, &Job::owner)) >= of_one_owner_)
      return false;
    jobs_.push_back({std::move(job), std::string{owner}});
    if (jobs_.size() > idle_ && threads_.size() < thread_limit_)
      threads_.emplace_back([this] { work(); });
  }
  wake_.notify_one();
  return true;
}

void QueryPool::stop() {
  std::deque<Job> dropped;
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

/// The oldest whose owner has none that runs.
std::deque<QueryPool::Job>::iterator QueryPool::next() {
  return std::ranges::find_if(jobs_,
                              [this](const Job& job) { return !at_it_.contains(job.owner); });
}

void QueryPool::work() {
  std::unique_lock lock{guard_};
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || next() != jobs_.end(); });
    --idle_;
    if (stopping_) return;
    const auto first = next();
    auto job = std::move(*first);
    jobs_.erase(first);
    if (!job.owner.empty()) at_it_.insert(job.owner);
    lock.unlock();
    guarded("http", job.run);
    job.run = nullptr;  // its captures die outside the lock
    lock.lock();
    if (!job.owner.empty()) at_it_.erase(job.owner);
  }
}

}  // namespace nomad::net
