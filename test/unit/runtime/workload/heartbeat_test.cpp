// Pauses between a client's words to the servers.
#include "runtime/workload/heartbeat.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;

TEST_CASE("heartbeat: a failed one is tried again within sane bounds") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed ", seed);
    Random random{seed};
    CHECK(heartbeat_retry(std::nullopt, random) >= 15s);
    const auto within = heartbeat_retry(100s, random);
    CHECK(within >= 1s);
    CHECK(within <= 30s);
    CHECK(heartbeat_retry(-5s, random) <= 2s);
    const auto long_ago = heartbeat_retry(-10min, random);
    CHECK(long_ago >= 10min);
    CHECK(long_ago <= 20min);
  }
}

TEST_CASE("heartbeat: jitter stays below twice the base") {
  Random random{3};
  for (int i = 0; i < 100; ++i) {
    const auto pause = with_jitter(5s, random);
    CHECK(pause >= 5s);
    CHECK(pause < 10s);
  }
  CHECK(with_jitter(0s, random) == 0s);
}
