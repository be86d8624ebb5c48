// Every deliberate mistake about rights is found by a walk. Else walks would say nothing.
#include <doctest/doctest.h>

#include "test/mistakes/mistake.hpp"
#include "test/properties/access/walk.hpp"

using namespace nomad;
using namespace nomad::properties;

namespace {

constexpr std::uint64_t enough_walks = 40;

std::string find_walk(test::Mistake mistake) {
  const test::Making making{mistake};
  WalkCounts counts;
  std::string found;
  for (std::uint64_t seed = 1; seed <= enough_walks && found.empty(); ++seed)
    found = walk(seed, 500, counts);
  return found;
}

template <class List>
void find_all(const List& mistakes) {
  for (const auto mistake : mistakes) {
    const auto name = test::name_of(mistake);
    CAPTURE(name);
    const auto found = find_walk(mistake);
    CHECK_FALSE(found.empty());
    MESSAGE(name << ": " << found);
  }
}

}  // namespace

TEST_CASE("access walks: every deliberate mistake about rights is found") {
  find_all(test::access_mistakes);
  find_all(test::acl_mistakes);
}
