#include "runtime/host/executor/alone.hpp"

#include <doctest/doctest.h>

using namespace nomad::host::executor;
using namespace std::chrono_literals;

TEST_CASE("executor: alone, it leaves when nothing is left to watch, and never a task") {
  const std::chrono::steady_clock::time_point since{100s};
  CHECK(leaves_at(Phase::idle, since) == since + 10s);
  CHECK(leaves_at(Phase::ended, since) == since + 1h);
  for (const auto phase : {Phase::running, Phase::ending, Phase::finished})
    CHECK(leaves_at(phase, since) == std::nullopt);
}
