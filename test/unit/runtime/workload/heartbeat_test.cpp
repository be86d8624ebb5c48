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

TEST_CASE("heartbeat: nothing has no jitter") {
  Random random{3};
  CHECK(with_jitter(0s, random) == 0s);
  CHECK(with_jitter(-1s, random) == -1s);
}

TEST_CASE("heartbeat: a long lease is not waited for, a lost one not hurried after") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    const auto far = heartbeat_retry(24h, random);
    CHECK(far >= 1s);
    CHECK(far < 30s + 1ns);
    const auto just_over = heartbeat_retry(-30s, random);
    CHECK(just_over >= 1s);
    CHECK(just_over < 2s);
    CHECK(heartbeat_retry(-1ns, random) >= 1s);
  }
}
