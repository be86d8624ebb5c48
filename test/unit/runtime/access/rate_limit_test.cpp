#include "runtime/access/rate_limit.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

namespace nomad::access {
namespace {

using namespace std::chrono_literals;

const RateLimit::Time start{std::chrono::hours{1}};

}  // namespace

TEST_CASE("rate_limit: a burst goes, then the rate, and each identity has its own") {
  RateLimit limit{{.per_second = 2, .burst = 3}};

  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(limit.take("a", start));
  CHECK(limit.take("a", start) == 500ms);
  CHECK_FALSE(limit.take("b", start));
  CHECK(limit.take("a", start + 499ms));
  CHECK_FALSE(limit.take("a", start + 500ms));
  CHECK(limit.take("a", start + 500ms) == 500ms);
}

TEST_CASE("rate_limit: without a rate nobody is limited, without a burst it is twice the rate") {
  RateLimit none{{}};
  for (int i = 0; i < 1'000; ++i)
    CHECK_FALSE(none.take("a", start));
  CHECK(none.size() == 0);

  RateLimit twice{{.per_second = 2}};
  for (int i = 0; i < 4; ++i)
    CHECK_FALSE(twice.take("a", start));
  CHECK(twice.take("a", start));

  RateLimit slow{{.per_second = 0.1}};  // a burst below one would never let anybody by
  CHECK_FALSE(slow.take("a", start));
  CHECK(slow.take("a", start) == 10s);
}

TEST_CASE("rate_limit: the table is bounded; who has no place in it shares, and full ones go") {
  RateLimit limit{{.per_second = 1, .burst = 2}, 3};
  for (const auto* each : {"a", "b", "c"})
    CHECK_FALSE(limit.take(each, start));

  CHECK_FALSE(limit.take("d", start));
  CHECK_FALSE(limit.take("e", start));
  CHECK(limit.take("f", start));
  CHECK_FALSE(limit.take("a", start));
  CHECK(limit.size() == 3);

  CHECK_FALSE(limit.take("f", start + 5s));
  CHECK(limit.size() == 1);
}

TEST_CASE("rate_limit: in no interval more go than burst and rate allow") {
  constexpr std::uint64_t seed = 77;
  CAPTURE(seed);
  Random random{seed};
  RateLimit limit{{.per_second = 50, .burst = 20}};
  auto now = start;
  std::size_t went = 0;

  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::microseconds{random.below(3'000)};
    if (!limit.take("a", now)) ++went;
  }

  const std::chrono::duration<double> passed = now - start;
  CHECK(static_cast<double>(went) <= 20 + 50 * passed.count() + 1);
  CHECK(static_cast<double>(went) >= 50 * passed.count() - 1);
}

}  // namespace nomad::access
