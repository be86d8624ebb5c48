// NamespaceUse: how many bytes of jobs each namespace holds, with their kept versions, sources and
// scaling events, so that nobody who may register fills the servers' memory with a job after the
// other.
//
// What was written is added up; what went, and what other servers took, is seen by counting anew:
// when the sum passes the bound, at most once a second, and after so many writes. Thread-safe; no
// lock is held while all jobs are looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::api {

/// A version of a job that is to be written.
struct JobGrowth {
  std::string ns;
  std::uint64_t bytes = 0;  ///< That the namespace has more then.
  bool is_smaller = false;  ///< Than the version that it replaces, or as large.

  /// `bytes`: of the version and its source. What it replaces is kept, but for the oldest version
  /// when there are enough.
  static JobGrowth of(const state::Snapshot& snapshot,
                      std::string_view ns,
                      std::string_view id,
                      std::uint64_t bytes);
};

class NamespaceUse {
public:
  using Clock = std::chrono::steady_clock;

  /// Whether there is room. `most`: 0 is no bound. A version that is no larger than the one before
  /// may go to twice as much: so owners can mend a namespace that is full.
  Result<> check(const state::Snapshot& snapshot,
                 const JobGrowth& growth,
                 std::uint64_t most,
                 Clock::time_point now);

  /// Once it is written.
  void add(const JobGrowth& growth);

private:
  struct Use {
    std::uint64_t counted = 0;
    std::uint64_t added = 0;  ///< Since counting began.
    std::uint64_t index = 0;  ///< Of the state that was counted.
    Clock::time_point at{};

    std::uint64_t bytes() const { return counted + added; }
  };

  std::mutex guard_;
  std::map<std::string, Use, std::less<>> uses_;
};

}  // namespace nomad::api
