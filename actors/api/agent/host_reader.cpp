#include "actors/api/agent/host_reader.hpp"

#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "actors/api/http/call.hpp"
#include "runtime/base/guard.hpp"

namespace nomad::api {

struct HostReader::Shared {
  Shared(std::chrono::nanoseconds time, Read how) : patience{time}, read{std::move(how)} {}

  const std::chrono::nanoseconds patience;
  const Read read;
  std::mutex guard;  // also while somebody is told: who stops it is told nothing later
  std::vector<Done> waiting;
  net::TimerQueue::Id alarm;
  std::uint64_t reads = 0;  // that have begun
  bool is_reading = false;
  bool is_late = false;
  bool is_over = false;

  static Error late() { return {Errc::timeout, "reading the host's data: a disk does not answer"}; }

  /// With the lock held.
  void tell(const Result<host::HostData>& data) {
    for (const auto& done : std::exchange(waiting, {}))
      guarded("http", [&] { done(data); });
  }

  /// Of the thread.
  void serve(net::TimerQueue& timers) {
    Result<host::HostData> data{Error{Errc::internal, "reading the host's data"}};
    guarded("http", [&] { data = read(); });
    const std::lock_guard lock{guard};
    is_reading = is_late = false;
    if (is_over) return;  // and the timers may be gone
    timers.cancel(alarm);
    tell(data);
  }

  void give_up(std::uint64_t number) {
    const std::lock_guard lock{guard};
    if (!is_reading || number != reads) return;
    is_late = true;
    tell(late());
  }
};

HostReader::HostReader(std::chrono::nanoseconds patience, Read read)
    : shared_{std::make_shared<Shared>(patience, std::move(read))} {}

HostReader::~HostReader() {
  stop();
}

void HostReader::stop() {
  std::vector<Done> dropped;  // outside of the lock: they may hold the last of what holds this
  const std::lock_guard lock{shared_->guard};
  shared_->is_over = true;
  dropped.swap(shared_->waiting);
}

void HostReader::read(net::TimerQueue& timers, Done done) {
  auto& shared = *shared_;
  std::unique_lock lock{shared.guard};
  const auto refuse = [&](const Error& why) {
    lock.unlock();
    done(why);
  };
  if (shared.is_over) return refuse({Errc::cancelled, "reading the host's data: it is over"});
  if (shared.is_late) return refuse(Shared::late());
  if (!shared.is_reading) {
    const bool has_begun = guarded("http", [&] {
      std::thread{[all = shared_, &timers] {
        ::pthread_setname_np(::pthread_self(), "host-data");
        all->serve(timers);
      }}.detach();
    });
    if (!has_begun) return refuse(too_many_queries());
    shared.is_reading = true;
    const std::weak_ptr<Shared> weak = shared_;
    shared.alarm = timers.call_after(shared.patience, [weak, number = ++shared.reads] {
      if (const auto all = weak.lock()) all->give_up(number);
    });
  }
  shared.waiting.push_back(std::move(done));
}

}  // namespace nomad::api
