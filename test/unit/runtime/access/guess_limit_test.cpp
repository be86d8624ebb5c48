#include "runtime/access/guess_limit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace nomad;
using namespace nomad::access;
using namespace std::chrono_literals;

TEST_CASE("guess_limit: who shows many unknown tokens is told from others, by his address") {
  GuessLimit limit{{.of_one = 3, .of_all = 1'000, .window = 10s}};
  const Time start{1h};
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(limit.is_over("10.0.0.7:1", start));
    limit.note(fmt::format("10.0.0.7:{}", i), start);
  }
  CHECK(limit.is_over("10.0.0.7:99", start));
  CHECK_FALSE(limit.is_over("10.0.0.8:1", start));
  CHECK_FALSE(limit.is_over("10.0.0.7:1", start + 10s));
  limit.note("10.0.0.7:1", start + 10s);
  CHECK_FALSE(limit.is_over("10.0.0.7:1", start + 10s));
}

TEST_CASE("guess_limit: many addresses together are told, too") {
  GuessLimit limit{{.of_one = 10, .of_all = 100, .window = 10s}};
  const Time start{1h};
  for (int i = 0; i < 100; ++i)
    limit.note(fmt::format("10.0.{}.7:1", i), start);
  CHECK(limit.is_over("10.9.9.9:1", start));
  CHECK_FALSE(limit.is_over("10.9.9.9:1", start + 10s));
}

TEST_CASE("guess_limit: one address does not use up the limit of all") {
  GuessLimit limit{{}};
  const Time start{1h};
  for (int i = 0; i < 2'000; ++i)
    limit.note("10.0.0.7:1", start);
  CHECK(limit.is_over("10.0.0.7:1", start));
  int others = 0;  // One of them may be in the guesser's place.
  for (int i = 0; i < 10; ++i)
    others += limit.is_over(fmt::format("10.0.1.{}:1", i), start) ? 1 : 0;
  CHECK(others < 10);
}
