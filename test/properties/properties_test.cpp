#include <string>

#include <doctest/doctest.h>

#include "test/properties/case.hpp"

using namespace nomad::properties;

TEST_CASE("properties: random clusters keep them, whatever happens, and come to rest") {
  Counts counts;
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    const auto failure = run_case({.seed = seed}, counts);
    if (failure) FAIL(describe(*failure));
  }
  for (const auto& [name, count, is_rare] : count_names()) {
    const std::string shown{name};
    CAPTURE(shown);
    if (!is_rare) CHECK(counts.*count > 0);
  }
}

TEST_CASE("properties: no race takes more of a quota than there is") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto failure = run_quota_race(seed);
    if (failure) FAIL(describe(*failure));
  }
}

TEST_CASE("properties: where nodes are equal, spreads, affinities and failures decide") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto failure = run_choice(seed);
    if (failure) FAIL(describe(*failure));
  }
}
