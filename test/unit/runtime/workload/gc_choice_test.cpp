// Which terminal allocations go.
#include "runtime/workload/gc_choice.hpp"

#include <doctest/doctest.h>

using namespace nomad::workload;

TEST_CASE("gc_choice: the oldest goes when there are too many, two at a time") {
  GcQueue queue{{.max_allocs = 3, .parallel_destroys = 2}};
  for (const auto id : {"a", "b", "c", "d"})
    queue.mark(id);
  const GcUsage six{.allocs = 6};
  CHECK(queue.next(six) == "a");
  CHECK(queue.next(six) == "b");
  CHECK_FALSE(queue.next(six).has_value());

  queue.destroyed("a");
  CHECK(queue.next({.allocs = 5}) == "c");
  queue.destroyed("b");
  queue.destroyed("c");
  CHECK_FALSE(queue.next({.allocs = 3}).has_value());
}

TEST_CASE("gc_choice: live allocations are never chosen") {
  GcQueue queue{{.max_allocs = 1}};
  CHECK_FALSE(queue.next({.allocs = 100}).has_value());
  queue.mark("a");
  queue.mark("a");
  queue.unmark("a");
  CHECK_FALSE(queue.next({.allocs = 100}).has_value());
}

TEST_CASE("gc_choice: a full disk or too few inodes are reasons too") {
  GcQueue queue{{}};
  queue.mark("a");
  CHECK_FALSE(queue.next({.allocs = 1, .disk_used_percent = 80}).has_value());
  CHECK(queue.reason({.inodes_used_percent = 71})
        == "inode usage of 71 is over gc threshold of 70");
  CHECK(queue.next({.allocs = 1, .disk_used_percent = 80.1}) == "a");
}

TEST_CASE("gc_choice: room is made for those that come") {
  GcQueue queue{{.max_allocs = 3}};
  queue.mark("a");
  CHECK_FALSE(queue.next({.allocs = 2}, 1).has_value());
  CHECK(queue.next({.allocs = 2}, 2) == "a");
}

TEST_CASE("gc_choice: demanded ones go first, whatever the limits") {
  GcQueue queue{{.parallel_destroys = 0}};
  queue.mark("a");
  queue.mark("b");
  queue.demand("b");
  queue.demand("c");
  CHECK(queue.next({.allocs = 1}) == "b");
  CHECK_FALSE(queue.next({.allocs = 1}).has_value());
  queue.destroyed("b");
  CHECK(queue.next({.allocs = 1}) == "c");
  queue.destroyed("c");
  CHECK_FALSE(queue.next({.allocs = 1}).has_value());
  CHECK(queue.is_marked("a"));
}

TEST_CASE("gc_choice: what is just at a limit is within it") {
  const GcQueue queue{{.max_allocs = 3}};
  CHECK(queue.reason({.allocs = 3, .disk_used_percent = 80, .inodes_used_percent = 70}).empty());
  CHECK(queue.reason({.allocs = 4}) == "number of allocations (4) is over the limit (3)");
  CHECK(queue.reason({.disk_used_percent = 81}) == "disk usage of 81 is over gc threshold of 80");
}

TEST_CASE("gc_choice: what was unmarked and marked again goes once") {
  GcQueue queue{{.max_allocs = 0, .parallel_destroys = 5}};
  queue.mark("a");
  queue.unmark("a");
  queue.mark("a");
  CHECK(queue.next({.allocs = 5}) == "a");
  CHECK_FALSE(queue.next({.allocs = 5}).has_value());
  queue.destroyed("a");
  queue.destroyed("a");  // one too many changes nothing
  queue.mark("b");
  CHECK(queue.next({.allocs = 1}) == "b");
}
