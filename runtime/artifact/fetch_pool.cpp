#include "runtime/artifact/fetch_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/artifact/fetcher_process.hpp"
#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/isolation/system_calls.hpp"
#include "runtime/host/users.hpp"

namespace nomad::artifact {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t nobody = 65534;

/// A program that does what it should warns of little, and tells its progress once a second.
constexpr std::size_t most_reports = 2 * FetcherProcess::most_reports;
constexpr std::size_t most_reports_a_second = 10;
constexpr std::size_t most_warnings = 16;

const char* of_process(const std::string& name) {
  return std::getenv(name.c_str());
}

Confinement confinement_of(const FetchOptions& options) {
  Confinement confinement{.files = !options.disable_filesystem_isolation};
  if (::geteuid() == 0 && confinement.files) {
    const auto user = host::find_user("nobody");
    confinement.uid = user ? user->uid : nobody;
    confinement.gid = user ? user->gid : nobody;
  }
  auto filter = host::make_call_filter({});
  if (!filter)
    log::warn("client", "artifacts are fetched without a filter of system calls",
              {{"error", filter.error()}});
  else
    confinement.call_filter = std::move(*filter);
  return confinement;
}

}  // namespace

std::vector<std::string> fetcher_environment(
    std::string_view inherited,
    bool with_home,
    const std::function<const char*(const std::string&)>& of) {
  std::map<std::string, std::string> variables{{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  if (with_home) {
    const char* const home = of("HOME");
    variables["HOME"] = home != nullptr ? home : ::geteuid() == 0 ? "/root" : "/nonexistent";
  }
  std::string names{inherited};
  std::ranges::replace(names, ',', ' ');
  for (const auto name : fields(names))
    if (const char* const value = of(std::string{name}); value != nullptr)
      variables[std::string{name}] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : variables)
    list.push_back(fmt::format("{}={}", name, value));
  return list;
}

class FetchPool::Core {
public:
  explicit Core(FetchOptions options) : options_{std::move(options)} {}

  Ticket start(Fetch fetch, FetchListener listener);
  void cancel(Ticket ticket);
  void stop();

  const Confinement& confinement() {
    const std::lock_guard lock{mutex_};
    return confined();
  }

private:
  struct Waiting {
    Ticket ticket;
    Fetch fetch;
    FetchListener listener;
    bool cancelled = false;
  };

  struct Running {
    Ticket ticket;
    FetchListener listener;
    FetcherProcess process;
    Clock::time_point begun;
    Clock::time_point deadline;
    std::size_t reports = 0;
    std::size_t warnings = 0;
    std::optional<Result<FetchDone>> outcome{};  ///< What it, or we, said of its end.
    bool killed = false;
    bool hung_up = false;  ///< It has closed its socket, and ends or should.
  };

  const Confinement& confined() {
    if (!confinement_) confinement_ = confinement_of(options_);
    return *confinement_;
  }

  void serve();
  bool take_orders(std::vector<Waiting>& begin, std::vector<Ticket>& cancelled);
  void begin(Waiting waiting);
  void attend(Running& running, bool ended);
  static void hear(Running& running, const std::vector<FetchReport>& reports);
  void give_up(Running& running, Error why);
  void wake() const;
  static void tell(const FetchListener& listener, const Result<FetchDone>& outcome);

  const FetchOptions options_;
  std::mutex mutex_;
  std::optional<Confinement> confinement_;
  std::deque<Waiting> waiting_;
  std::vector<Ticket> cancelled_;
  Ticket last_ticket_ = 0;
  std::size_t places_taken_ = 0;
  bool stopping_ = false;
  host::UniqueFd bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::thread thread_;

  std::vector<Running> running_;  ///< The thread's own.
};

FetchPool::Ticket FetchPool::Core::start(Fetch fetch, FetchListener listener) {
  const std::lock_guard lock{mutex_};
  confined();
  waiting_.push_back({++last_ticket_, std::move(fetch), std::move(listener)});
  if (!thread_.joinable()) thread_ = std::thread{[this] { serve(); }};
  wake();
  return last_ticket_;
}

void FetchPool::Core::cancel(Ticket ticket) {
  const std::lock_guard lock{mutex_};
  for (auto& waiting : waiting_)
    waiting.cancelled = waiting.cancelled || waiting.ticket == ticket;
  cancelled_.push_back(ticket);
  wake();
}

void FetchPool::Core::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    wake();
  }
  if (thread_.joinable()) thread_.join();
}

void FetchPool::Core::wake() const {
  const std::uint64_t once = 1;
  [[maybe_unused]] const auto rung = ::write(bell_.get(), &once, sizeof once);
}

void FetchPool::Core::tell(const FetchListener& listener, const Result<FetchDone>& outcome) {
  guarded("client", [&] { listener.done(outcome); });
}

/// What is to begin now; false when the pool ends.
bool FetchPool::Core::take_orders(std::vector<Waiting>& begin, std::vector<Ticket>& cancelled) {
  const std::lock_guard lock{mutex_};
  places_taken_ = running_.size();
  cancelled = std::exchange(cancelled_, {});
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const bool has_location = places_taken_ < options_.most_running;
    if (!next->cancelled && !has_location) {
      ++next;
      continue;
    }
    if (!next->cancelled) ++places_taken_;
    begin.push_back(std::move(*next));
    next = waiting_.erase(next);
  }
  return !stopping_;
}

void FetchPool::Core::begin(Waiting waiting) {
  if (waiting.cancelled) return tell(waiting.listener, Error{Errc::cancelled, "cancelled"});
  const FetchOrder order{.source = std::move(waiting.fetch.source),
                         .mode = std::move(waiting.fetch.mode),
                         .headers = std::move(waiting.fetch.headers),
                         .limits = options_.limits,
                         .confinement = confinement(),
                         .reach = options_.reach,
                         .insecure = waiting.fetch.insecure};
  auto process = FetcherProcess::start(
      {.program = options_.program,
       .order = write_order(order),
       .environment = fetcher_environment(options_.set_environment_variables,
                                          options_.disable_filesystem_isolation, of_process),
       .directory = waiting.fetch.directory.get()});
  if (!process) return tell(waiting.listener, process.error());
  const auto now = Clock::now();
  running_.push_back(
      {.ticket = waiting.ticket,
       .listener = std::move(waiting.listener),
       .process = std::move(*process),
       .begun = now,
       .deadline = now + std::chrono::duration_cast<Clock::duration>(options_.limits.deadline())});
}

void FetchPool::Core::give_up(Running& running, Error why) {
  if (std::exchange(running.killed, true)) return;
  running.outcome = std::move(why);
  running.process.kill();
}

/// What it says, as little of it as says all.
void FetchPool::Core::hear(Running& running, const std::vector<FetchReport>& reports) {
  std::optional<FetchProgress> newest;
  for (const auto& report : reports) {
    if (const auto* const warning = std::get_if<FetchWarning>(&report)) {
      if (++running.warnings <= most_warnings)
        log::warn("client", "the fetch of an artifact has a warning",
                  {{"error", escape_controls(warning->text)}});
    } else if (const auto* const progress = std::get_if<FetchProgress>(&report)) {
      newest = *progress;
    } else if (!running.outcome) {
      if (const auto* const failed = std::get_if<FetchFailed>(&report))
        running.outcome = Error{Errc::unavailable, escape_controls(failed->text)};
      else
        running.outcome = std::get<FetchDone>(report);
    }
  }
  if (newest) guarded("client", [&] { running.listener.progress(*newest); });
}

void FetchPool::Core::attend(Running& running, bool ended) {
  const auto reports = running.process.reports();
  if (!reports) give_up(running, reports.error());
  if (reports) hear(running, *reports);
  running.reports += reports ? reports->size() : 0;
  const auto seconds
      = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - running.begun).count();
  if (running.reports > most_reports + most_reports_a_second * static_cast<std::size_t>(seconds))
    give_up(running, {Errc::corrupt, "nomadctl-artifact reports without end"});
  if (!ended && Clock::now() >= running.deadline)
    give_up(running, {Errc::timeout, "it took longer than all limits allow and was killed"});
  if (!ended) return;
  const auto how = running.process.wait();
  if (!running.outcome)
    running.outcome = Error{Errc::unavailable, fmt::format("nomadctl-artifact {}", how)};
  tell(running.listener, *running.outcome);
}

void FetchPool::Core::serve() {
  for (;;) {
    std::vector<Waiting> orders;
    std::vector<Ticket> cancelled;
    if (!take_orders(orders, cancelled)) break;
    for (auto& order : orders)
      begin(std::move(order));
    for (auto& running : running_)
      if (std::ranges::find(cancelled, running.ticket) != cancelled.end())
        give_up(running, {Errc::cancelled, "cancelled"});
    std::vector<pollfd> waits{{bell_.get(), POLLIN, 0}};
    int patience = -1;
    for (const auto& running : running_) {
      waits.push_back({running.process.process(), POLLIN, 0});
      waits.push_back({running.hung_up ? -1 : running.process.socket(), POLLIN, 0});
      patience = 1000;  // Deadlines are of minutes.
    }
    if (::poll(waits.data(), waits.size(), patience) < 0 && errno != EINTR) {
      log::error("client", "waiting for artifacts failed", {{"error", std::strerror(errno)}});
      break;
    }
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto heard = ::read(bell_.get(), &rings, sizeof rings);
    std::vector<Running> living;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const bool ended = waits[1 + 2 * i].revents != 0;
      running_[i].hung_up = running_[i].hung_up || (waits[2 + 2 * i].revents & POLLHUP) != 0;
      attend(running_[i], ended);
      if (!ended) living.push_back(std::move(running_[i]));
    }
    running_ = std::move(living);
  }
  running_.clear();  // Which kills them.
}

FetchPool::FetchPool(FetchOptions options) : core_{std::make_shared<Core>(std::move(options))} {}

FetchPool::~FetchPool() {
  core_->stop();
}

FetchPool::Ticket FetchPool::start(Fetch fetch, FetchListener listener) {
  return core_->start(std::move(fetch), std::move(listener));
}

void FetchPool::cancel(Ticket ticket) {
  core_->cancel(ticket);
}

uid_t FetchPool::uid() const {
  const auto& confinement = core_->confinement();
  return confinement.uid == 0 && confinement.gid == 0 ? ::geteuid() : confinement.uid;
}

gid_t FetchPool::gid() const {
  const auto& confinement = core_->confinement();
  return confinement.uid == 0 && confinement.gid == 0 ? ::getegid() : confinement.gid;
}

}  // namespace nomad::artifact
