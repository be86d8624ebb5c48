#include "runtime/cluster/variables/lock_timers.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;

namespace {

const LockTimers::TimePoint taken{};

LockTimers with_lock() {
  LockTimers timers;
  timers.held("a", {"id-a", 10s, 5s, 7}, taken);
  return timers;
}

}  // namespace

TEST_CASE(
    "lock timers: one that is not renewed is lost after twice its TTL, and lifted after its "
    "delay") {
  auto timers = with_lock();

  CHECK(timers.next() == taken + 20s);
  CHECK(timers.take_due(taken + 20s, 9).empty());
  CHECK(timers.next() == taken + 25s);
  CHECK(timers.take_due(taken + 25s - 1ns, 9).empty());
  CHECK(timers.take_due(taken + 25s, 9) == std::vector<LockTimers::Due>{{"a", "id-a", 7}});
}

TEST_CASE("lock timers: a renewal counts from when it comes") {
  auto timers = with_lock();

  CHECK(timers.renew("a", "id-a", taken + 19s));
  CHECK(timers.next() == taken + 39s);
  CHECK(timers.take_due(taken + 38s, 9).empty());
}

TEST_CASE("lock timers: who has not the lock, or not any more, renews nothing") {
  auto timers = with_lock();

  CHECK(timers.renew("a", "other", taken).error().what == "attempting to modify locked variable");
  CHECK(timers.renew("b", "id-a", taken).error().what == "variable doesn't hold a lock");
  const auto late
      = timers.renew("a", "id-a", taken + 20s);  // before anybody has looked at the time
  CHECK(late.error().code == Errc::conflict);
  CHECK(late.error().what == "the lock is lost: it was not renewed within its TTL");
  timers.take_due(taken + 20s, 9);
  CHECK_FALSE(timers.renew("a", "id-a", taken + 20s));
  CHECK(timers.next() == taken + 25s);
}

TEST_CASE("lock timers: who takes a lost lock again before anybody else could holds it again") {
  auto timers = with_lock();
  timers.take_due(taken + 20s, 9);

  timers.held("a", {"id-a", 10s, 5s}, taken + 22s);

  CHECK(timers.renew("a", "id-a", taken + 23s));
  CHECK(timers.size() == 1);
  CHECK(timers.next() == taken + 43s);
}

TEST_CASE("lock timers: one that cannot be lifted comes again, one that was lifted does not") {
  auto timers = with_lock();
  timers.take_due(taken + 20s, 9);
  const auto due = timers.take_due(taken + 25s, 9);
  REQUIRE(due.size() == 1);

  CHECK_FALSE(timers.next());  // Until it is known what came of it.
  CHECK(timers.take_due(taken + 90s, 9).empty());
  timers.failed(due[0], taken + 90s);
  CHECK(timers.take_due(taken + 100s - 1ns, 9).empty());
  CHECK(timers.take_due(taken + 100s, 9) == due);
  timers.lifted("a");
  timers.lifted("a");
  CHECK_FALSE(timers.next());
  CHECK(timers.size() == 0);
}

TEST_CASE("lock timers: what is due comes oldest first, and no more than is asked for") {
  LockTimers timers;
  timers.held("late", {"1", 20s, 0s}, taken);
  timers.held("soon", {"2", 10s, 0s}, taken);

  CHECK(timers.take_due(taken + 40s, 1) == std::vector<LockTimers::Due>{{"soon", "2", 0}});
  CHECK(timers.take_due(taken + 40s, 9) == std::vector<LockTimers::Due>{{"late", "1", 0}});
  timers.clear();
  CHECK_FALSE(timers.next());
}

TEST_CASE("lock timers: a release that failed is not the next one's of a lock taken again") {
  auto timers = with_lock();
  timers.take_due(taken + 20s, 9);
  const auto first = timers.take_due(taken + 25s, 9);
  REQUIRE(first.size() == 1);

  timers.held("a", {"id-a", 10s, 5s, 8}, taken + 26s);
  timers.failed(first[0], taken + 27s);

  CHECK(timers.next() == taken + 46s);
  CHECK(timers.renew("a", "id-a", taken + 28s));
  timers.take_due(taken + 48s, 9);
  const auto second = timers.take_due(taken + 53s, 9);
  CHECK(second == std::vector<LockTimers::Due>{{"a", "id-a", 8}});
  timers.failed(first[0], taken + 54s);
  CHECK_FALSE(timers.next());
}

TEST_CASE("lock timers: what its holder writes renews nothing, and moves its index") {
  auto timers = with_lock();
  timers.written("a", "id-a", 9);
  timers.written("a", "id-a", 8);  // Told late.
  timers.written("a", "id-b", 20);
  timers.written("b", "id-a", 21);

  CHECK(timers.next() == taken + 20s);
  timers.take_due(taken + 20s, 9);
  CHECK(timers.take_due(taken + 25s, 9) == std::vector<LockTimers::Due>{{"a", "id-a", 9}});
}

TEST_CASE("lock timers: another lock on the same variable has times of its own") {
  auto timers = with_lock();
  timers.take_due(taken + 20s, 9);

  timers.held("a", {"id-b", 30s, 1s}, taken + 21s);

  CHECK_FALSE(timers.renew("a", "id-a", taken + 22s));
  CHECK(timers.next() == taken + 81s);
}
