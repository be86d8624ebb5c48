#include "runtime/workload/respawn_delay.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace nomad;
using namespace std::chrono_literals;
using workload::RespawnDelay;

TEST_CASE("respawn_delay: twice as long each time, to two minutes") {
  RespawnDelay delay;
  std::vector<Nanoseconds> delays;
  for (int i = 0; i < 7; ++i)
    delays.push_back(delay.after(1s));
  CHECK(delays == std::vector<Nanoseconds>{5s, 10s, 20s, 40s, 80s, 2min, 2min});
}

TEST_CASE("respawn_delay: begins anew after a good life") {
  RespawnDelay delay;
  CHECK(delay.after(0s) == 5s);
  CHECK(delay.after(119s) == 10s);
  CHECK(delay.after(2min) == 5s);
  CHECK(delay.after(0s) == 10s);
}
