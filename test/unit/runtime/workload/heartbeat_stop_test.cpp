// Allocations that end because their client has been without servers for too long.
#include "runtime/workload/heartbeat_stop.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::workload;
using namespace std::chrono_literals;

namespace {

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("heartbeat_stop: ends what has waited longer than its patience, once") {
  HeartbeatStop stop{100s};
  stop.watch("short", 10s);
  stop.watch("long", 60s);
  stop.watch("also short", 10s);

  CHECK(stop.expire(110s).empty());
  CHECK(stop.expire(110s + 1ns) == Ids{"also short", "short"});
  CHECK(stop.expire(120s).empty());
  CHECK(stop.expire(161s) == Ids{"long"});
}

TEST_CASE("heartbeat_stop: a patience of centuries is not over at once") {
  HeartbeatStop stop{100s};
  stop.watch("patient", Nanoseconds::max());
  CHECK(stop.expire(100s).empty());
  CHECK(stop.expire(1h).empty());
  CHECK(stop.next_look(100s) == 5s);
}

TEST_CASE("heartbeat_stop: a heartbeat starts the count anew") {
  HeartbeatStop stop{0s};
  stop.watch("a", 10s);

  stop.heard(9s);
  CHECK(stop.expire(19s).empty());
  stop.heard(19s);
  CHECK(stop.expire(29s).empty());
  CHECK(stop.expire(30s) == Ids{"a"});
}

TEST_CASE("heartbeat_stop: a client that never hears of servers counts from its start") {
  HeartbeatStop stop{500s};
  stop.watch("a", 1s);

  CHECK(stop.expire(501s).empty());
  CHECK(stop.expire(502s) == Ids{"a"});
}

TEST_CASE("heartbeat_stop: what is forgotten or gets more patience stays") {
  HeartbeatStop stop{0s};
  stop.watch("gone", 1s);
  stop.watch("patient", 1s);

  stop.forget("gone");
  stop.watch("patient", 100s);
  CHECK(stop.expire(50s).empty());
}

TEST_CASE("heartbeat_stop: looks in time, every five seconds at least, and not for nothing") {
  HeartbeatStop stop{0s};
  CHECK_FALSE(stop.next_look(0s));

  stop.watch("a", 60s);
  CHECK(stop.next_look(0s) == Nanoseconds{5s});
  stop.watch("b", 2s);
  CHECK(*stop.next_look(0s) > Nanoseconds{2s});
  CHECK(*stop.next_look(0s) < Nanoseconds{2100ms});
  CHECK(*stop.next_look(10s) > Nanoseconds{0});
}
