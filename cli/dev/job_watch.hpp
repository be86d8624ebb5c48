// JobWatch: a thread that asks an agent again and again how its jobs are, and hands each answer on.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/json/value.hpp>

#include "cli/api.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::cli::dev {

/// Lists as the API has them.
struct JobsNow {
  boost::json::value allocations;
  boost::json::value evaluations;
  boost::json::value jobs;
};

class JobWatch {
public:
  /// Errors: no descriptor was to be had.
  static Result<std::unique_ptr<JobWatch>> start(Api api);

  JobWatch(const JobWatch&) = delete;
  ~JobWatch();

  /// For poll(2): readable when there is something to take.
  int descriptor() const { return wake_.get(); }

  /// The newest answer since the last one.
  std::optional<JobsNow> take();

private:
  JobWatch(Api api, host::UniqueFd wake);

  void run();
  Result<JobsNow> ask(std::uint64_t& index);

  Api api_;
  host::UniqueFd wake_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex guard_;
  std::optional<JobsNow> newest_;
  std::thread thread_;
};

}  // namespace nomad::cli::dev
