// How a test waits for what other threads and processes do: by what tells of it, never by the
// clock. `eventually` looks when something in this process has called `note_change`,
// `eventually_in` when the kernel tells of a change in a folder, `has_ended` when it tells of a
// process's end.
#pragma once

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>

#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::test {

using Patience = std::chrono::milliseconds;

/// Far more than anything takes on a busy machine.
inline constexpr Patience patience = std::chrono::seconds{30};

namespace detail {

using Clock = std::chrono::steady_clock;

/// How often something has changed, and a wait for the next time. Thread-safe.
class Changes {
public:
  static Changes& all() {
    static Changes changes;
    return changes;
  }

  void note() {
    const std::lock_guard lock{guard_};
    ++count_;
    noted_.notify_all();
  }

  std::uint64_t count() {
    const std::lock_guard lock{guard_};
    return count_;
  }

  /// Whether there was one since `count` was `seen`; waits for it until `end`.
  bool wait_beyond(std::uint64_t seen, Clock::time_point end) {
    std::unique_lock lock{guard_};
    return noted_.wait_until(lock, end, [&] { return count_ != seen; });
  }

private:
  std::mutex guard_;
  std::condition_variable noted_;
  std::uint64_t count_ = 0;
};

/// Whether `descriptor` can be read before `end`.
inline bool is_readable(int descriptor, Clock::time_point end) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace detail

/// Whether `descriptor` can be read, or is at its end, before long.
inline bool is_readable(int descriptor, Patience within = patience) {
  return detail::is_readable(descriptor, detail::Clock::now() + within);
}

namespace detail {

/// Of a wait that is over: it has failed, also where the condition holds by now, for then each run
/// of the test waits as long.
template <class Condition>
bool too_late(const Condition& condition, const char* who_tells) {
  if (condition())
    std::fprintf(stderr, "the condition holds, but %s has told of it in time\n", who_tells);
  return false;
}

}  // namespace detail

/// Something has changed that a test may wait for. Of any thread, after the change.
inline void note_change() {
  detail::Changes::all().note();
}

/// Waits until `condition` holds. All that can make it hold must call `note_change`.
template <class Condition>
bool eventually(const Condition& condition, Patience within = patience) {
  const auto end = detail::Clock::now() + within;
  for (;;) {
    const auto seen = detail::Changes::all().count();
    if (condition()) return true;
    if (!detail::Changes::all().wait_beyond(seen, end))
      return detail::too_late(condition, "no call of note_change");
  }
}

/// Tries `attempt` until it succeeds, again after the next change, and after `pause` without one:
/// for what another process, or an actor whose state is its own, decides and tells nobody.
template <class Attempt>
bool succeeds(const Attempt& attempt, Patience pause = std::chrono::milliseconds{20}) {
  const auto end = detail::Clock::now() + patience;
  for (;;) {
    const auto seen = detail::Changes::all().count();
    if (attempt()) return true;
    if (detail::Clock::now() > end) return false;
    detail::Changes::all().wait_beyond(seen, detail::Clock::now() + pause);
  }
}

/// Waits until `condition` holds, which is one of the files right in `folder`; that may be made,
/// and go, meanwhile.
template <class Condition>
bool eventually_in(const std::filesystem::path& folder,
                   const Condition& condition,
                   Patience within = patience) {
  constexpr std::uint32_t changes = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVE | IN_DELETE
                                    | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;
  const host::UniqueFd watch{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  const auto end = detail::Clock::now() + within;
  for (;;) {
    auto watched = folder;
    while (::inotify_add_watch(watch.get(), watched.c_str(), changes) < 0
           && watched.has_relative_path())
      watched = watched.parent_path();
    if (condition()) return true;
    if (!detail::is_readable(watch.get(), end))
      return detail::too_late(condition, "no change in the folder");
    char events[4096];
    while (::read(watch.get(), events, sizeof events) > 0) {
    }
  }
}

/// Waits until process `pid` has ended; who started it need not have waited for it yet.
inline bool has_ended(pid_t pid, Patience within = patience) {
  const host::UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (process.get() < 0) return errno == ESRCH;
  return detail::is_readable(process.get(), detail::Clock::now() + within);
}

}  // namespace nomad::test
