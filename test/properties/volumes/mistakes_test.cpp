// Every deliberate mistake of claims and of giving them back goes wrong in some life. Else the
// lives would say nothing.
#include <doctest/doctest.h>

#include "test/mistakes/mistake.hpp"
#include "test/properties/volumes/volume_life.hpp"

using namespace nomad;
using namespace nomad::properties;

TEST_CASE("volume life: every deliberate mistake is found") {
  for (const auto mistake : test::volumes_mistakes) {
    const auto name = test::name_of(mistake);
    CAPTURE(name);
    const test::Making making{mistake};
    LifeCounts counts;
    std::string found;
    for (std::uint64_t seed = 1; seed <= 2'000 && found.empty(); ++seed)
      found = live(seed, counts);
    CHECK_FALSE(found.empty());
    MESSAGE(name << ": " << found);
  }
}
