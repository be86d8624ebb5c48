// No sequence of allowed calls by a client token gives it more than its policies. WALK_STEPS says
// how many calls (100,000 before a release), WALK_SEED the first seed: the suite walks the same way
// each time, `./dev nightly` another one every day.
#include "test/properties/access/walk.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <doctest/doctest.h>

#include "test/properties/access/forms.hpp"

using namespace nomad;
using namespace nomad::properties;

namespace {

constexpr std::uint64_t steps_of_walk = 500;
/// A walk of fewer may happen to be refused often, or to never log in.
constexpr std::uint64_t steps_that_are_many = 50'000;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const auto* end = text + std::strlen(text);
  REQUIRE(std::from_chars(text, end, number).ptr == end);
  return number;
}

std::uint64_t sum(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t all = 0;
  for (const auto& entry : counts)
    all += entry.second;
  return all;
}

}  // namespace

TEST_CASE("access walks: no sequence of calls gives a token more than its policies") {
  const auto seed = number_in("WALK_SEED", 1);
  const auto steps = std::max<std::uint64_t>(number_in("WALK_STEPS", 3'000), steps_of_walk);
  MESSAGE("first seed " << seed);
  WalkCounts counts;
  for (std::uint64_t done = 0; done < steps; done += steps_of_walk)
    if (const auto found = walk(seed + done / steps_of_walk, steps_of_walk, counts); !found.empty())
      FAIL(found);

  MESSAGE(sum(counts.tried) << " requests, " << sum(counts.allowed) << " allowed, "
                            << counts.changes << " changed something, " << counts.logins
                            << " logins, " << counts.managed << " changes by managers");
  CHECK(sum(counts.tried) > 0);
  if (steps < steps_that_are_many) return;
  CHECK(sum(counts.allowed) > steps / 10);
  CHECK(counts.changes > steps / 100);
  CHECK(counts.logins > 0);
  CHECK(counts.tried.size() > std::size(request_forms) * 8 / 10);
}
