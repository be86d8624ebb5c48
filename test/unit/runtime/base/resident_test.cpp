// When a process counts as quiet after a busy time.
#include "runtime/base/resident.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;

TEST_CASE("a quiet moment comes once after each busy time") {
  nomad::QuietMoment moment;
  CHECK_FALSE(moment.has_come(1s, 100ms));  // nothing to compare with
  CHECK_FALSE(moment.has_come(2s, 600ms));  // busy
  CHECK(moment.has_come(3s, 601ms));        // quiet
  CHECK_FALSE(moment.has_come(4s, 602ms));  // still quiet, nothing new to release
  CHECK_FALSE(moment.has_come(5s, 1602ms));
  CHECK(moment.has_come(6s, 1610ms));
}

TEST_CASE("spare memory is given back as long as somebody holds it") {
  int calls = 0;
  {
    const nomad::ReleasableMemory spare{[&calls] { ++calls; }};
    nomad::release_unused_pages();
    CHECK(calls == 1);
  }
  nomad::release_unused_pages();
  CHECK(calls == 1);
}

TEST_CASE("what the start left is given back, however little it worked") {
  nomad::QuietMoment moment;
  CHECK_FALSE(moment.has_come(1s, 30ms));
  CHECK(moment.has_come(2s, 31ms));
  CHECK_FALSE(moment.has_come(3s, 32ms));
  CHECK_FALSE(moment.has_come(4s, 80ms));  // busy, but less than 50 ms
  CHECK_FALSE(moment.has_come(5s, 80ms));
  CHECK(moment.has_come(6s, 82ms));
}

TEST_CASE("who is never quiet gives back every five minutes") {
  nomad::QuietMoment moment;
  int times = 0;
  for (auto now = 1000ms; now <= 1'000s; now += 1s)
    times += moment.has_come(now, now / 2) ? 1 : 0;
  CHECK(times == 3);
}

TEST_CASE("a busy second after a long calm is none to give back in") {
  nomad::QuietMoment moment;
  for (auto now = 1s; now <= 1'000s; now += 1s)
    moment.has_come(now, 1ms);
  CHECK_FALSE(moment.has_come(1'001s, 500ms));
}
