// Claims of CSI volumes in random lives: never two writers where one is allowed, nothing freed that
// is in use, nothing left in the end.
#include "test/properties/volumes/volume_life.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::properties;

TEST_CASE("volume life: claims are as the rules have them, and all are given back") {
  const std::uint64_t first_seed = Random::from_system().next() >> 16;
  MESSAGE("first seed " << first_seed);
  LifeCounts counts;
  for (std::uint64_t seed = first_seed; seed < first_seed + 300; ++seed)
    if (const auto found = live(seed, counts); !found.empty()) FAIL(found);

  MESSAGE(counts.claims << " claims, " << counts.refused << " refused, " << counts.released
                        << " released, " << counts.failures << " failed steps, " << counts.lost
                        << " lost nodes");
  CHECK(counts.claims > 1'000);
  CHECK(counts.refused > 700);
  CHECK(counts.released > 1'000);
  CHECK(counts.failures > 300);
  CHECK(counts.lost > 200);
}
