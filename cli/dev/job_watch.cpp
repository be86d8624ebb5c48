#include "cli/dev/job_watch.hpp"

#include <cerrno>
#include <chrono>
#include <memory>

#include <sys/eventfd.h>

namespace nomad::cli::dev {
namespace {

/// A question waits for news so long: evaluations and jobs may be others without a changed
/// allocation, and the end of the watch does not interrupt a question.
constexpr const char* longest_question = "500ms";
constexpr std::chrono::milliseconds after_failure{100};

}  // namespace

Result<std::unique_ptr<JobWatch>> JobWatch::start(Api api) {
  host::UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (wake.get() < 0) return errno_error("eventfd", errno);
  return std::unique_ptr<JobWatch>{new JobWatch{std::move(api), std::move(wake)}};
}

JobWatch::JobWatch(Api api, host::UniqueFd wake)
    : api_{std::move(api)}, wake_{std::move(wake)}, thread_{[this] { run(); }} {}

JobWatch::~JobWatch() {
  is_stopping_ = true;
  thread_.join();
}

std::optional<JobsNow> JobWatch::take() {
  eventfd_t count = 0;
  static_cast<void>(::eventfd_read(wake_.get(), &count));  // nothing there is no matter
  const std::lock_guard lock{guard_};
  return std::exchange(newest_, std::nullopt);
}

Result<JobsNow> JobWatch::ask(std::uint64_t& index) {
  Query query{{"namespace", "*"}};
  if (index != 0)
    query.insert(query.end(), {{"index", std::to_string(index)}, {"wait", longest_question}});
  auto allocations = NOMAD_TRY(api_.get("/v1/allocations", query));
  index = allocations.index;
  auto evaluations = NOMAD_TRY(api_.get("/v1/evaluations", {{"namespace", "*"}}));
  auto jobs = NOMAD_TRY(api_.get("/v1/jobs", {{"namespace", "*"}}));
  return JobsNow{std::move(allocations.body), std::move(evaluations.body), std::move(jobs.body)};
}

void JobWatch::run() {
  std::uint64_t index = 0;
  while (!is_stopping_) {
    auto now = ask(index);
    if (!now) {  // The agent ends, which who waits for it tells.
      std::this_thread::sleep_for(after_failure);
      continue;
    }
    {
      const std::lock_guard lock{guard_};
      newest_ = std::move(*now);
    }
    static_cast<void>(::eventfd_write(wake_.get(), 1));  // full: it is awake
  }
}

}  // namespace nomad::cli::dev
