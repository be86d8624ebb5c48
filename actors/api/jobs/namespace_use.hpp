// NamespaceUse: how many bytes of jobs each namespace holds, so that nobody who may register fills
// the servers' memory with a job after the other.
//
// What is admitted here is added up; what went, and what other servers took, is seen by counting
// anew: when the sum passes the bound, at most once a second, and after so many writes.
// Thread-safe.
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

class NamespaceUse {
public:
  using Clock = std::chrono::steady_clock;

  /// Whether a job of so many bytes has room, which is taken then. `most`: 0 is no bound.
  Result<> admit(const state::Snapshot& snapshot,
                 std::string_view ns,
                 std::uint64_t bytes,
                 std::uint64_t most,
                 Clock::time_point now);

private:
  struct Use {
    std::uint64_t bytes = 0;
    std::uint64_t index = 0;  ///< Of the state that was counted.
    Clock::time_point at{};
  };

  std::mutex guard_;
  std::map<std::string, Use, std::less<>> uses_;
};

}  // namespace nomad::api
