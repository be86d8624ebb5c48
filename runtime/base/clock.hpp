// The wall clock, for those who act: actors, endpoints, commands. Code that decides takes the time
// as an argument instead.
#pragma once

#include <chrono>
#include <cstdint>

namespace nomad {

/// Nanoseconds since 1970, UTC. Any thread.
inline std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace nomad
