// SimClock: the clocks of simulated machines in the place of the system's. The simulation is linked
// with `--wrap`: what the program asks of the wall clock (std::chrono::system_clock), of
// std::chrono::steady_clock and of CLOCK_BOOTTIME is answered here on the thread that owns a
// SimClock, and by the system elsewhere.
#pragma once

#include <cstdint>

namespace nomad::test {

class SimClock {
public:
  /// In force on the calling thread until it goes. One a thread.
  SimClock();
  SimClock(const SimClock&) = delete;
  SimClock& operator=(const SimClock&) = delete;
  ~SimClock();

  std::int64_t wall = 0;  ///< Unix nanoseconds.
  std::int64_t boot = 0;  ///< Nanoseconds of a clock that never jumps.
};

}  // namespace nomad::test
