// runtime/docker/container_machine: transcripts of what can happen to a container, and containers
// of a task in a world where engine and agent fail. After a wanted change of behaviour run with
// NOMAD_REWRITE_TRANSCRIPTS=1 and review the difference.
#include "runtime/docker/container_machine.hpp"

#include <cstdint>

#include <doctest/doctest.h>

#include "test/support/transcript.hpp"
#include "test/unit/runtime/docker/container_transcript.hpp"
#include "test/unit/runtime/docker/container_world.hpp"

using namespace nomad;

TEST_CASE("container_machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/container", test::replay_container);
}

TEST_CASE("container_machine: whatever happens, nothing runs twice, ends unasked or is left") {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    CAPTURE(seed);
    const auto broken = test::run_container_world(seed);
    CHECK_MESSAGE(!broken, broken.value_or(""));
  }
}
