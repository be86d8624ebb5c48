// Ticks: the cheapest clock there is, for what is measured at every message: reading the system's
// would cost as much as a third of sending one.
#pragma once

#include <chrono>
#include <cstdint>

namespace nomad::actor {

/// Counts up, in units of the processor's.
inline std::int64_t ticks() {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/// How long `count` of them last, measured since the process began.
std::chrono::nanoseconds time_of_ticks(std::int64_t count);

}  // namespace nomad::actor
