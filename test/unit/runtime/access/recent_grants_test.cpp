#include "runtime/access/recent_grants.hpp"

#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::access;
using namespace std::chrono_literals;

namespace {

const Time first_moment{1h};

TokenHash::Value hash_of(std::uint64_t number) {
  return {number, number};
}

Grant a_grant(std::string accessor, Time until = first_moment + 30s) {
  return {.rights = Rights::everything(), .accessor = std::move(accessor), .until = until};
}

}  // namespace

TEST_CASE("recent_grants: a grant counts until its time is over or something has changed") {
  RecentGrants recent;
  CHECK_FALSE(recent.find(hash_of(1), 7, first_moment));
  recent.keep(hash_of(1), a_grant("one"), 7);
  REQUIRE(recent.find(hash_of(1), 7, first_moment));
  CHECK(recent.find(hash_of(1), 7, first_moment)->accessor == "one");
  CHECK(recent.find(hash_of(1), {7, 9}, first_moment));  // a new token changes nothing of this one
  CHECK_FALSE(recent.find(hash_of(2), 7, first_moment));
  CHECK(recent.find(hash_of(1), 7, first_moment + 30s - 1ms));
  CHECK_FALSE(recent.find(hash_of(1), 7, first_moment + 30s));
  CHECK_FALSE(recent.find(hash_of(1), 7, first_moment));  // it went

  recent.keep(hash_of(1), a_grant("one"), 7);
  CHECK_FALSE(recent.find(hash_of(1), 8, first_moment));
  CHECK_FALSE(recent.find(hash_of(1), 7, first_moment));
}

TEST_CASE("recent_grants: the last four are kept") {
  RecentGrants recent;
  for (std::uint64_t i = 1; i <= 5; ++i)
    recent.keep(hash_of(i), a_grant("n"), 1);
  CHECK_FALSE(recent.find(hash_of(1), 1, first_moment));
  for (std::uint64_t i = 2; i <= 5; ++i)
    CHECK(recent.find(hash_of(i), 1, first_moment));
}

TEST_CASE("recent_grants: each thread has grants of its own") {
  RecentGrants recent;
  const auto here = recent.keep(hash_of(1), a_grant("one"), 1);
  GrantRef there;
  std::thread{[&] {
    there = recent.find(hash_of(1), 1, first_moment);
    if (!there) there = recent.keep(hash_of(1), *here, 1);
  }}.join();
  REQUIRE(there);
  CHECK(there.get() != here.get());
  CHECK(there->accessor == "one");
}

TEST_CASE("recent_grants: many threads at once") {
  RecentGrants recent;
  std::vector<std::thread> threads;
  for (int number = 0; number < 40; ++number)
    threads.emplace_back([&recent, number] {
      for (std::uint64_t i = 0; i < 500; ++i) {
        const auto which = hash_of(i % 6);
        if (const auto found = recent.find(which, i / 100, first_moment))
          CHECK(found->accessor == std::to_string(i % 6));
        else
          recent.keep(which, a_grant(std::to_string(i % 6)), i / 100);
      }
      static_cast<void>(number);
    });
  for (auto& thread : threads)
    thread.join();
}
