#include "runtime/identity/signature_cache.hpp"

#include <doctest/doctest.h>

using nomad::identity::SignatureCache;

TEST_CASE("signature_cache: what was kept is found, by all that it signs") {
  SignatureCache cache;
  CHECK(cache.find("a.b") == nullptr);
  cache.keep("a.b", "one");
  cache.keep("a.c", "two");

  REQUIRE(cache.find("a.b") != nullptr);
  CHECK(*cache.find("a.b") == "one");
  CHECK(*cache.find("a.c") == "two");
  CHECK(cache.find("a.") == nullptr);
}

TEST_CASE("signature_cache: it is bounded, and what is asked for stays") {
  SignatureCache cache{2};
  cache.keep("1", "one");
  for (const auto* other : {"2", "3", "4", "5", "6"}) {
    REQUIRE(cache.find("1") != nullptr);
    CHECK(*cache.find("1") == "one");
    cache.keep(other, other);
  }

  CHECK(cache.find("2") == nullptr);
  CHECK(cache.find("6") != nullptr);
}

TEST_CASE("signature_cache: a generation has as many as its capacity, and two are kept") {
  SignatureCache cache{2};
  for (const auto* each : {"1", "2", "3", "4"})
    cache.keep(each, each);
  SUBCASE("what is in either") {
    CHECK(cache.find("4") != nullptr);
    CHECK(cache.find("2") != nullptr);
  }
  SUBCASE("the next takes the place of the older one") {
    cache.keep("5", "5");
    CHECK(cache.find("1") == nullptr);
    CHECK(cache.find("3") != nullptr);
  }
}
