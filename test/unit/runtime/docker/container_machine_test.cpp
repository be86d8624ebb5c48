// runtime/docker/container_machine: transcripts of what can happen to a container, and containers
// of a task in a world where engine and agent fail. After a wanted change of behaviour run with
// NOMAD_REWRITE_TRANSCRIPTS=1 and review the difference.
#include "runtime/docker/container_machine.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "test/unit/runtime/docker/container_transcript.hpp"
#include "test/unit/runtime/docker/container_world.hpp"

using namespace nomad;

TEST_CASE("container_machine: transcripts") {
  int files = 0;
  for (const auto& item : std::filesystem::directory_iterator{NOMAD_TRANSCRIPTS}) {
    ++files;
    CAPTURE(item.path().filename().string());
    std::ifstream in{item.path()};
    const std::string wanted{std::istreambuf_iterator<char>{in}, {}};
    const auto made = test::replay_container(wanted);
    CHECK(made == wanted);
    if (std::getenv("NOMAD_REWRITE_TRANSCRIPTS") != nullptr) std::ofstream{item.path()} << made;
  }
  CHECK(files >= 3);
}

TEST_CASE("container_machine: whatever happens, nothing runs twice, ends unasked or is left") {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    CAPTURE(seed);
    const auto broken = test::run_container_world(seed);
    CHECK_MESSAGE(!broken, broken.value_or(""));
  }
}
