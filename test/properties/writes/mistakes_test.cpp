// Every deliberate mistake of guards lets a pair of writes go wrong. Else the pairs would say
// nothing.
#include "test/mistakes/mistake.hpp"
#include "test/properties/writes/write_pairs.hpp"

using namespace nomad;
using namespace nomad::properties;

namespace {

constexpr std::uint64_t enough_pairs = 20'000;

std::string find_pair(test::Mistake mistake) {
  const test::Making making{mistake};
  WriteCounts counts;
  std::string found;
  for (std::uint64_t seed = 1; seed <= enough_pairs && found.empty(); ++seed)
    found = try_pair(seed, Guards::kept, counts);
  return found;
}

}  // namespace

TEST_CASE("writes: every deliberate mistake of guards is found") {
  for (const auto mistake : test::state_mistakes) {
    const auto name = test::name_of(mistake);
    CAPTURE(name);
    const auto found = find_pair(mistake);
    CHECK_FALSE(found.empty());
    MESSAGE(name << ": " << found);
  }
}
