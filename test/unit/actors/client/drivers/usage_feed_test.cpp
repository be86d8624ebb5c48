#include "actors/client/drivers/usage_feed.hpp"

#include <doctest/doctest.h>

#include "actors/client/drivers/driver_objects.hpp"

using namespace nomad;
using namespace nomad::client;
using namespace std::chrono_literals;
using driver::TaskId;
using Ids = std::vector<TaskId>;

TEST_CASE("usage_feed: tasks of one interval are due together, whenever they came") {
  const TaskId a{"1", "a"};
  const TaskId b{"2", "b"};
  UsageFeed feed;
  CHECK_FALSE(feed.next());
  feed.follow(a, 1s, 10'100ms);
  feed.follow(b, 1s, 10'900ms);
  CHECK(feed.next() == 11s);
  CHECK(feed.take_due(10'999ms).empty());
  CHECK(feed.take_due(11s) == Ids{a, b});
  CHECK(feed.take_due(11s).empty());
  CHECK(feed.next() == 12s);
}

TEST_CASE("usage_feed: who is late reads once") {
  const TaskId a{"1", "a"};
  UsageFeed feed;
  feed.follow(a, 1s, 0s);
  CHECK(feed.take_due(10'500ms) == Ids{a});
  CHECK(feed.next() == 11s);
}

TEST_CASE("usage_feed: asking again changes the interval and nothing else; 0 ends it") {
  const TaskId a{"1", "a"};
  UsageFeed feed;
  feed.follow(a, 2s, 0s);
  feed.follow(a, 2s, 1'900ms);
  CHECK(feed.next() == 2s);
  feed.follow(a, 5s, 1'900ms);
  CHECK(feed.next() == 5s);
  feed.follow(a, 0s, 2s);
  CHECK_FALSE(feed.follows(a));
  CHECK_FALSE(feed.next());
}

TEST_CASE("usage_feed: an interval that nobody can keep is one that can be") {
  CHECK(driver::usage_interval(-1s) == 0s);
  CHECK(driver::usage_interval(0s) == 0s);
  CHECK(driver::usage_interval(1ns) == 500ms);
  CHECK(driver::usage_interval(3s) == 3s);
  CHECK(driver::usage_interval(Nanoseconds::max()) == 1h);
}
