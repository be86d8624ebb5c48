#include "runtime/access/grant.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::access;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<Grant> everything(std::uint64_t index = 0, Time until = Time::max()) {
  return std::make_shared<Grant>(
      Grant{.rights = Rights::everything(), .index = index, .until = until});
}

GrantCache::Key key(std::uint64_t number) {
  return {number, number};
}

constexpr CacheLimits small{.known = 2, .unknown = 2, .known_for = 30s, .unknown_for = 5s};
const Time start{1h};

}  // namespace

TEST_CASE("grant_cache: a grant and the lack of one are kept, each for its time") {
  GrantCache cache{small};
  CHECK_FALSE(cache.find(key(1), 0, start));
  CHECK(cache.keep(key(1), everything(), 0, start)->until == start + 30s);
  CHECK(cache.keep(key(2), nullptr, 0, start) == nullptr);

  REQUIRE(cache.find(key(1), 0, start + 5s - 1ms));
  CHECK(cache.find(key(1), 0, start + 5s - 1ms)->get()->rights == Rights::everything());
  REQUIRE(cache.find(key(2), 0, start + 5s - 1ms));
  CHECK(*cache.find(key(2), 0, start + 5s - 1ms) == nullptr);
  CHECK_FALSE(cache.find(key(2), 0, start + 5s));
  CHECK(cache.find(key(1), 0, start + 30s - 1ms));
  CHECK_FALSE(cache.find(key(1), 0, start + 30s));
  CHECK(cache.size() == 1);
}

TEST_CASE("grant_cache: a token that ends earlier is not kept for longer") {
  GrantCache cache{small};
  cache.keep(key(1), everything(0, start + 1s), 0, start);
  CHECK(cache.find(key(1), 0, start + 1s - 1ms));
  CHECK_FALSE(cache.find(key(1), 0, start + 1s));
}

TEST_CASE("grant_cache: what was read before the newest change does not count") {
  GrantCache cache{small};
  cache.keep(key(1), everything(7), 7, start);
  cache.keep(key(2), nullptr, 7, start);
  CHECK(cache.find(key(1), 7, start));
  CHECK(cache.find(key(2), 7, start));
  CHECK_FALSE(cache.find(key(1), 8, start));
  CHECK(cache.find(key(1), {7, 8}, start));
  CHECK_FALSE(cache.find(key(2), 8, start));
  CHECK(cache.size() == 1);
}

TEST_CASE("grant_cache: what was last known of a token is had until it ends by itself or is none") {
  GrantCache cache{small};
  cache.keep(key(1), everything(7, start + 60s), 7, start);
  CHECK_FALSE(cache.find(key(1), 8, start + 40s));
  const auto last = cache.last_known(key(1), start + 40s);
  REQUIRE(last != nullptr);
  CHECK(last->ends == start + 60s);
  CHECK(cache.last_known(key(1), start + 60s) == nullptr);

  auto again = std::make_shared<Grant>(*last);
  again->index = 8;
  CHECK(cache.extend(key(1), std::move(again), start + 45s)->until == start + 45s);
  CHECK(cache.find(key(1), 8, start + 44s));
  CHECK_FALSE(cache.find(key(1), 8, start + 45s));
  again = std::make_shared<Grant>(*last);
  CHECK(cache.extend(key(1), std::move(again), start + 90s)->until == start + 60s);

  cache.keep(key(1), nullptr, 8, start + 41s);
  CHECK(cache.last_known(key(1), start + 41s) == nullptr);
  CHECK(cache.last_known(key(2), start) == nullptr);
}

TEST_CASE("grant_cache: it is bounded, and guesses displace nobody's rights") {
  GrantCache cache{small};
  cache.keep(key(1), everything(), 0, start);
  cache.keep(key(2), everything(), 0, start);
  for (std::uint64_t guess = 100; guess < 1'000; ++guess)
    cache.keep(key(guess), nullptr, 0, start);
  CHECK(cache.size() == 4);
  CHECK(cache.find(key(999), 0, start));
  CHECK(cache.find(key(1), 0, start));  // used later than the other one
  cache.keep(key(3), everything(), 0, start);
  CHECK(cache.size() == 4);
  CHECK(cache.find(key(1), 0, start));
  CHECK_FALSE(cache.find(key(2), 0, start));
  CHECK(cache.find(key(3), 0, start));
}

TEST_CASE("grant_cache: what is found later replaces what was known") {
  GrantCache cache{small};
  cache.keep(key(1), nullptr, 0, start);
  cache.keep(key(1), everything(), 0, start);
  CHECK(cache.find(key(1), 0, start)->get() != nullptr);
  cache.keep(key(1), nullptr, 0, start);
  CHECK(cache.find(key(1), 0, start)->get() == nullptr);
  CHECK(cache.size() == 1);
}

TEST_CASE("token_hash: the same for a token in one process, and another one in the next") {
  const TokenHash one;
  const TokenHash other;
  CHECK(one.of("secret") == one.of("secret"));
  CHECK(one.of("secret") != one.of("secres"));
  CHECK(one.of("") != one.of("secret"));
  CHECK(one.of("secret") != other.of("secret"));
}
