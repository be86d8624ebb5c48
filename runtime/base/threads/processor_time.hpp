// The time that the calling thread has had of a processor: what work really took, however busy the
// machine is.
#pragma once

#include <chrono>
#include <ctime>

namespace nomad {

inline std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace nomad
