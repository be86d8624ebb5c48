// Every deliberate mistake of schedulers, plan verification, drainer, deployment watcher and broker
// breaks a property within a few cases. Else the properties would say nothing.
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "test/mistakes/mistake.hpp"
#include "test/properties/case.hpp"

using namespace nomad;
using namespace nomad::properties;

namespace {

constexpr std::uint64_t enough_cases = 3'000;

struct Found {
  std::uint64_t seed = 0;
  std::string what;
};

std::optional<Found> find(test::Mistake mistake) {
  const test::Making making{mistake};
  std::optional<Found> found;
  Counts counts;
  for (std::uint64_t seed = 1; seed <= enough_cases && !found; ++seed) {
    auto failure = try_case({.seed = seed}, counts);
    if (!failure) failure = run_choice(seed);
    if (!failure) failure = run_quota_race(seed);
    if (failure) found = Found{seed, failure->text};
  }
  return found;
}

}  // namespace

TEST_CASE("properties: every deliberate mistake breaks one") {
  for (const auto mistake : test::scheduler_mistakes) {
    const auto name = test::name_of(mistake);
    CAPTURE(name);
    const auto found = find(mistake);
    CHECK(found.has_value());
    if (found) MESSAGE(name << ": case " << found->seed << ", " << found->what);
  }
}

TEST_CASE("properties: without a mistake the same programs break none") {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto failure = run_case({.seed = seed}, counts);
    if (failure) FAIL(describe(*failure));
  }
}
