#include "runtime/telemetry/cpu_profiler.hpp"

#include <ctime>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::telemetry;
using namespace std::chrono_literals;

/// Takes so much running time of this thread. Outside of a namespace without a name, so that it has
/// a name to be found by.
[[gnu::noinline]] std::uint64_t burn_for_profiler_test(std::chrono::nanoseconds time) {
  std::uint64_t sum = 0;
  timespec now{};
  const auto used = [&now] {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  };
  const auto end = used() + time;
  while (used() < end)
    for (std::uint64_t i = 0; i < 10'000; ++i)
      sum = sum * 31 + i;
  return sum;
}

TEST_CASE("cpu profiler: what runs is found, by its name") {
  auto profiler = CpuProfiler::start(1ms);
  REQUIRE(profiler.has_value());
  CHECK(CpuProfiler::start().error()
        == Error{Errc::overloaded, "another profile of this agent is being made"});
  CHECK(burn_for_profiler_test(300ms) != 0);
  const auto profile = profiler->stop();

  const FunctionNames names;
  std::uint64_t all = 0;
  std::uint64_t burning = 0;
  for (const auto& sample : profile.samples) {
    all += sample.count;
    for (const auto address : sample.stack)
      if (names.at(address).starts_with("burn_for_profiler_test")) {
        burning += sample.count;
        break;
      }
  }
  CHECK(all > 5);  // the kernel counts by its own ticks
  CHECK(burning > all / 2);
  CHECK(profile.period == 1ms);
  CHECK_FALSE(profile.mappings.empty());
  CHECK(CpuProfiler::start().has_value());  // the next may begin, and ends by itself
}

TEST_CASE("cpu profiler: what has no name has none") {
  CHECK(FunctionNames{}.at(1).empty());
}
