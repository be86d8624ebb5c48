// QueryPool: a few threads for reads that take longer than an I/O thread may be held: lists and
// filters over many rows. Bounded, so that a flood of them is refused instead of queued for ever.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace nomad::net {

class QueryPool {
public:
  /// Up to `threads` threads, started when first needed, and `capacity` waiting jobs. Without any,
  /// jobs run in place: for programs of one thread. Of one owner `of_one_owner` jobs may wait, and
  /// one runs at a time, so that none of them makes others wait for all it asks for.
  QueryPool(unsigned threads, std::size_t capacity, std::size_t of_one_owner = 0);
  QueryPool(const QueryPool&) = delete;
  ~QueryPool();  ///< Finishes running jobs and drops waiting ones.

  /// Runs `job` on a pool thread. False, with the job untouched, when the queue is full, of the
  /// owner or of all, or the pool is stopping. Jobs without an owner only wait for a thread. What
  /// `job` throws is logged.
  bool submit(std::function<void()>& job, std::string_view owner = {});

  void stop();

private:
  struct Job {
    std::function<void()> run;
    std::string owner;
  };

  void work();
  std::deque<Job>::iterator next();

  const unsigned thread_limit_;
  const std::size_t capacity_;
  const std::size_t of_one_owner_;
  std::mutex guard_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::set<std::string, std::less<>> at_it_;  ///< Owners of jobs that run.
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  bool stopping_ = false;
};

}  // namespace nomad::net
