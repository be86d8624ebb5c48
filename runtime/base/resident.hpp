// Memory that a busy time has left behind: free heap pages, and mapped code that ran once.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace nomad {

/// Memory that somebody holds and can do without: what was read and can be read again, what can be
/// packed.
class ReleasableMemory {
public:
  /// `give_back` may be called by any thread, one call at a time, until this has been destroyed.
  explicit ReleasableMemory(std::function<void()> give_back);
  ReleasableMemory(const ReleasableMemory&) = delete;
  ReleasableMemory& operator=(const ReleasableMemory&) = delete;

  /// Waits for a call that is under way.
  ~ReleasableMemory();

private:
  friend void release_unused_pages();

  std::function<void()> give_back_;
};

/// Has all spare memory given back, then gives back free heap pages, and unmaps the read-only pages
/// of the program and its libraries. The kernel keeps the latter in its page cache and maps back,
/// at the first touch, those that are needed again; a long-lived process does not stay charged with
/// the code that only its start ran (measured: 21 MB resident before, 11 to 12 MB after), nor with
/// the heap of its busiest moment. Any thread; takes a millisecond or two after a large burst, well
/// below one otherwise.
void release_unused_pages();

/// Decides when a process is quiet after a busy time, or has been busy for too long. Pure; one
/// thread.
class QuietMoment {
public:
  /// `now` and `used` are the clock and the processor time of the process. True once after its
  /// start and after each busy time: less than 2 % of a core since the last call, and 50 ms of
  /// processor time or more since the last moment. Who is not quiet for five minutes has
  /// one, too.
  bool has_come(std::chrono::nanoseconds now, std::chrono::nanoseconds used);

private:
  std::optional<std::chrono::nanoseconds> looked_at_;
  std::chrono::nanoseconds used_then_{0};
  std::chrono::nanoseconds calm_since_{0};  ///< The last look that was quiet, or taken for it.
  std::optional<std::chrono::nanoseconds> used_at_last_;
};

/// Calls `release_unused_pages` if a quiet moment has come. To be called about once a second.
void release_in_quiet(QuietMoment& moment);

}  // namespace nomad
