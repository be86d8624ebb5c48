// The order of plans.
#include "runtime/cluster/plan_queue.hpp"

#include <string>

#include <doctest/doctest.h>

using nomad::cluster::PlanQueue;

TEST_CASE("plans leave by priority, then by arrival") {
  PlanQueue<std::string> queue;
  queue.push(50, "first");
  queue.push(50, "second");
  queue.push(100, "urgent");
  queue.push(1, "idle");
  CHECK(queue.size() == 4);
  CHECK(queue.pop() == "urgent");
  CHECK(queue.drain() == std::vector<std::string>{"first", "second", "idle"});
  CHECK(queue.empty());
  CHECK_FALSE(queue.pop());
}
