// QueryPool: a few threads for reads that take longer than an I/O thread may be held: lists and
// filters over many rows. Bounded, so that a flood of them is refused instead of queued for ever.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nomad::net {

class QueryPool {
public:
  /// Up to `threads` threads, started when first needed, and `capacity` waiting jobs. Without any,
  /// jobs run in place: for programs of one thread.
  QueryPool(unsigned threads, std::size_t capacity);
  QueryPool(const QueryPool&) = delete;
  ~QueryPool();  ///< Finishes running jobs and drops waiting ones.

  /// Runs `job` on a pool thread. False, with the job untouched, when the queue is full or
  /// the pool is stopping. What `job` throws is logged.
  bool submit(std::function<void()>& job);

  void stop();

private:
  void work();

  const unsigned thread_limit_;
  const std::size_t capacity_;
  std::mutex guard_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  bool stopping_ = false;
};

}  // namespace nomad::net
