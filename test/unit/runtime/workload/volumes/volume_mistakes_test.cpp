// Every deliberate mistake of the machine of volumes breaks a world within a few seeds.
#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "test/mistakes/mistake.hpp"
#include "test/unit/runtime/workload/volumes/volume_world.hpp"

using namespace nomad;

TEST_CASE("volume_machine: every deliberate mistake is found") {
  constexpr std::uint64_t enough_seeds = 5'000;
  for (const auto mistake : test::node_volumes_mistakes) {
    const auto name = test::name_of(mistake);
    CAPTURE(name);
    const test::Making making{mistake};
    std::optional<std::string> found;
    std::uint64_t seed = 0;
    while (!found && seed < enough_seeds)
      found = test::run_volume_world(++seed);
    CHECK(found.has_value());
    if (found) MESSAGE(name << ": seed " << seed << ", not so: " << *found);
  }
}

TEST_CASE("volume_machine: without a mistake the same program breaks no world") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    CHECK_FALSE(test::run_volume_world(seed).has_value());
  }
}
