#include "cli/var/lock_lease.hpp"

#include <doctest/doctest.h>

using namespace nomad::cli;
using namespace std::chrono_literals;

namespace {

using Act = LockLease::Act;
using Said = LockLease::Answer;

const LockLease::TimePoint start{};

LockLease lease(bool early_return = false, std::int64_t retries = 5) {
  return LockLease{{.ttl = 10s, .pause = 11s, .early_return = early_return, .retries = retries}};
}

/// Whose child runs since `start`.
LockLease holding(std::int64_t retries = 5) {
  auto made = lease(false, retries);
  CHECK(made.next(start) == Act::acquire);
  made.answered(Said::done, "", start + 1s);
  CHECK(made.next(start + 1s) == Act::start);
  made.started();
  return made;
}

}  // namespace

TEST_CASE("lock lease: the child runs while the lock is held, and it is given up behind it") {
  auto held = holding();

  CHECK(held.next(start + 1s) == Act::wait);
  CHECK(held.wake() == start + 7s);  // seven tenths of the TTL after the call was sent
  CHECK(held.next(start + 7s) == Act::renew);
  held.answered(Said::done, "", start + 8s);
  CHECK(held.next(start + 9s) == Act::wait);
  CHECK(held.wake() == start + 14s);
  held.child_ended("");
  CHECK(held.next(start + 10s) == Act::release);
  held.released("");
  CHECK(held.next(start + 10s) == Act::end);
  CHECK(held.problem().empty());
}

TEST_CASE("lock lease: another's lock is waited for, or ends it") {
  auto patient = lease();
  CHECK(patient.next(start) == Act::acquire);
  patient.answered(Said::conflict, "taken", start + 1s);
  CHECK(patient.next(start + 11s) == Act::wait);
  CHECK(patient.next(start + 12s) == Act::acquire);

  auto early = lease(true);
  CHECK(early.next(start) == Act::acquire);
  early.answered(Said::conflict, "taken", start);
  CHECK(early.next(start) == Act::end);
  CHECK(early.problem().empty());
}

TEST_CASE("lock lease: calls that may do better later are tried again, and others are not") {
  auto trying = lease(false, 2);
  for (const auto pause : {1s, 2s}) {
    CHECK(trying.next(trying.wake()) == Act::acquire);
    trying.answered(Said::try_again, "no leader", start + 10s);
    CHECK(trying.wake() == start + 10s + pause);
  }
  CHECK(trying.next(trying.wake()) == Act::acquire);
  trying.answered(Said::try_again, "no leader", start + 10s);
  CHECK(trying.next(start + 99s) == Act::end);
  CHECK(trying.problem() == "no leader");

  auto refused = lease();
  CHECK(refused.next(start) == Act::acquire);
  refused.answered(Said::failed, "Permission denied", start);
  CHECK(refused.next(start) == Act::end);
  CHECK(refused.problem() == "Permission denied");
}

TEST_CASE("lock lease: a lock that another has by now ends the child, at last by force") {
  auto held = holding();
  CHECK(held.next(start + 7s) == Act::renew);
  held.answered(Said::conflict, "attempting to modify locked variable", start + 7s);

  CHECK(held.next(start + 7s) == Act::terminate_child);
  CHECK(held.next(start + 11s) == Act::wait);
  CHECK(held.next(start + 12s) == Act::kill_child);
  CHECK(held.next(start + 12s) == Act::wait);
  held.child_ended("signal: terminated");
  CHECK(held.next(start + 13s) == Act::end);  // there is nothing to give up
  CHECK(held.problem() == "the lock was lost: attempting to modify locked variable");
}

TEST_CASE("lock lease: servers that cannot be reached for a TTL have lost it the lock") {
  auto held = holding(100);
  CHECK(held.next(start + 7s) == Act::renew);
  held.answered(Said::try_again, "EOF", start + 8s);
  CHECK(held.wake() == start + 9s);
  CHECK(held.next(start + 9s) == Act::renew);
  held.answered(Said::try_again, "EOF", start + 9s + 500ms);
  CHECK(held.wake() == start + 10s);  // sooner than the next try

  CHECK(held.next(start + 10s) == Act::terminate_child);
  CHECK(held.problem() == "the lock was lost: it could not be renewed in time");
}

TEST_CASE("lock lease: a renewal that is refused, or fails too often, loses the lock") {
  auto held = holding(0);
  CHECK(held.next(start + 7s) == Act::renew);
  held.answered(Said::try_again, "no leader", start + 7s);
  CHECK(held.next(start + 7s) == Act::terminate_child);
  CHECK(held.problem() == "error renewing the lease: no leader");
}

TEST_CASE("lock lease: the first thing that went wrong is what it fails with") {
  auto held = holding();
  held.child_ended("exit status 3");
  CHECK(held.next(start + 2s) == Act::release);
  held.released("no leader");
  CHECK(held.problem() == "exit status 3");

  auto released = holding();
  released.child_ended("");
  released.released("no leader");
  CHECK(released.problem() == "lock release: no leader");
}

TEST_CASE("lock lease: who is stopped while he waits for the lock does not wait any more") {
  auto waiting = lease();
  CHECK(waiting.next(start) == Act::acquire);
  waiting.answered(Said::conflict, "taken", start);
  waiting.stop();
  CHECK(waiting.next(start) == Act::end);
  CHECK(waiting.problem() == "interrupted before the lock was acquired");

  auto held = holding();
  held.stop();  // the child hears of it itself
  CHECK(held.next(start + 1s) == Act::wait);
}
