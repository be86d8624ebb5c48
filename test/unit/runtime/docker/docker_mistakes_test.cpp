// Every deliberate mistake of the machines over a container engine breaks a world within a few
// seeds.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "test/mistakes/mistake.hpp"
#include "test/unit/runtime/docker/container_world.hpp"
#include "test/unit/runtime/docker/health_world.hpp"
#include "test/unit/runtime/docker/image_world.hpp"
#include "test/unit/runtime/docker/infra_world.hpp"

using namespace nomad;

namespace {

std::optional<std::string> run_docker_worlds(std::uint64_t seed) {
  for (const auto run : {test::run_container_world, test::run_health_world, test::run_image_world,
                         test::run_infra_world})
    if (auto broken = run(seed)) return broken;
  return {};
}

}  // namespace

TEST_CASE("docker machines: every deliberate mistake is found") {
  constexpr std::uint64_t enough_seeds = 1'000;
  for (const auto mistake : test::docker_mistakes) {
    const auto name = test::name_of(mistake);
    CAPTURE(name);
    const test::Making making{mistake};
    std::optional<std::string> found;
    std::uint64_t seed = 0;
    while (!found && seed < enough_seeds)
      found = run_docker_worlds(++seed);
    CHECK(found.has_value());
    if (found) MESSAGE(name << ": seed " << seed << ", not so: " << *found);
  }
}

TEST_CASE("docker machines: without a mistake the same program breaks no world") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    CHECK_FALSE(run_docker_worlds(seed).has_value());
  }
}
