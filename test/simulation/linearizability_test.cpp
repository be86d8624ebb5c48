// The checker itself: histories that a register explains, and some that none does.
#include "test/simulation/linearizability.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

using Kind = RegisterOperation::Kind;

RegisterOperation write(std::int64_t from, std::int64_t to, std::uint64_t value) {
  return {.kind = Kind::write, .called = from, .answered = to, .value = value};
}

RegisterOperation read(std::int64_t from, std::int64_t to, std::uint64_t seen) {
  return {.kind = Kind::read, .called = from, .answered = to, .seen = seen};
}

RegisterOperation cas(std::int64_t from,
                      std::int64_t to,
                      std::uint64_t expected,
                      std::uint64_t value,
                      bool succeeded,
                      std::uint64_t seen = 0) {
  return {.kind = Kind::compare_and_set,
          .called = from,
          .answered = to,
          .value = value,
          .expected = expected,
          .succeeded = succeeded,
          .seen = seen};
}

constexpr auto never = RegisterOperation::unknown;

bool holds(std::vector<RegisterOperation> history) {
  return !find_nonlinearizable(history);
}

}  // namespace

TEST_CASE("linearizability: what a register explains") {
  CHECK(holds({}));
  CHECK(holds({write(0, 1, 5), read(2, 3, 5)}));
  CHECK(holds({write(0, 10, 5), read(1, 2, 0), read(3, 4, 5)}));
  CHECK(holds({write(0, 10, 5), write(0, 10, 6), read(11, 12, 5)}));
  CHECK(holds({write(0, 10, 5), write(0, 10, 6), read(11, 12, 6)}));
  CHECK(holds({cas(0, 1, 0, 5, true), cas(2, 3, 0, 6, false, 5), read(4, 5, 5)}));
  // Not answered: it may happen late, or never.
  CHECK(holds({write(0, never, 5), read(1, 2, 0), read(100, 101, 5)}));
  CHECK(holds({write(0, never, 5), read(1, 2, 0), read(100, 101, 0)}));
  CHECK(holds({write(0, 1, 4), cas(2, never, 4, 5, true), read(3, 4, 4), read(5, 6, 5)}));
}

TEST_CASE("linearizability: a register that is emptied") {
  CHECK(holds({write(0, 1, 5), write(2, 3, 0), read(4, 5, 0), cas(6, 7, 0, 6, true)}));
  CHECK(holds({write(0, 1, 5), write(2, never, 0), read(4, 5, 5), read(6, 7, 0)}));
  CHECK(holds({write(0, 1, 5), cas(2, 3, 5, 0, true), read(4, 5, 0)}));
  CHECK_FALSE(holds({write(0, 1, 5), write(2, 3, 0), read(4, 5, 5)}));
  CHECK_FALSE(holds({write(0, 1, 5), read(2, 3, 0)}));
  CHECK_FALSE(holds({write(0, 1, 5), cas(2, 3, 4, 0, true)}));
}

TEST_CASE("linearizability: what none explains") {
  CHECK_FALSE(holds({write(0, 1, 5), read(2, 3, 0)}));
  CHECK_FALSE(holds({write(0, 1, 5), write(2, 3, 6), read(4, 5, 5)}));
  CHECK_FALSE(holds({read(0, 1, 7)}));
  CHECK_FALSE(holds({write(0, 10, 5), read(1, 2, 5), read(3, 4, 0)}));
  CHECK_FALSE(holds({cas(0, 1, 0, 5, true), cas(2, 3, 0, 6, true)}));
  CHECK_FALSE(holds({write(0, 1, 5), cas(2, 3, 5, 6, false, 5)}));
  CHECK_FALSE(holds({write(0, never, 5), read(1, 2, 5), read(3, 4, 0)}));
  const auto why = find_nonlinearizable({write(0, 1, 5), read(2, 3, 0)});
  REQUIRE(why);
  CHECK(why->find("a read called at 2 and answered at 3 saw 0") != std::string::npos);
}

TEST_CASE(
    "linearizability: histories of a real register pass, with one answer changed they do not") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    std::vector<RegisterOperation> history;
    std::uint64_t value = 0;
    std::int64_t now = 0;
    std::uint64_t next = 1;
    std::size_t last_read = 0;
    for (int number = 0; number < 300; ++number) {
      // Each takes effect at `now`, begins up to 50 before and is answered up to 50 after.
      now += static_cast<std::int64_t>(1 + random.below(20));
      const auto from = now - static_cast<std::int64_t>(random.below(50));
      auto to = now + static_cast<std::int64_t>(random.below(50));
      if (random.chance(0.1)) to = never;
      switch (random.below(3)) {
        case 0:
          history.push_back(write(from, to, next));
          value = next++;
          break;
        case 1: {
          const auto expected = random.chance(0.5) ? value : next / 2;
          const bool fits = expected == value;
          history.push_back(cas(from, to, expected, next, fits, fits ? 0 : value));
          if (fits) value = next;
          ++next;
          break;
        }
        default:
          history.push_back(read(from, to, value));
          if (to != never) last_read = history.size() - 1;
      }
    }
    CHECK(holds(history));
    if (history[last_read].kind != Kind::read || history[last_read].answered == never) continue;
    history[last_read].seen = next + 1;  // written by nobody
    CHECK_FALSE(holds(history));
  }
}
