#include "runtime/scheduler/plan/held_steps.hpp"

#include <doctest/doctest.h>

using namespace nomad::scheduler;

TEST_CASE("held steps: one goes on when all it waits for is written, and is right if in full") {
  HeldSteps steps;
  steps.hold("a", {"x", "y"});
  steps.settle("x", true);
  CHECK_FALSE(steps.take_ready());
  steps.settle("y", true);
  auto ready = steps.take_ready();
  REQUIRE(ready);
  CHECK(ready->token == "a");
  CHECK(ready->holds_true);
  CHECK_FALSE(steps.take_ready());

  steps.hold("a", {"x", "y"});
  steps.settle("x", false);
  steps.settle("y", true);
  ready = steps.take_ready();
  REQUIRE(ready);
  CHECK_FALSE(ready->holds_true);
}

TEST_CASE("held steps: who waits for one that is decided anew is taken out with it") {
  HeldSteps steps;
  steps.hold("a", {"x"});
  steps.hold("b", {"a", "x"});
  steps.hold("c", {"y"});
  steps.settle("x", false);
  const auto ready = steps.take_ready();
  REQUIRE(ready);
  CHECK(ready->token == "a");
  CHECK(steps.take_dependents("a") == std::vector<std::string>{"b"});
  CHECK(steps.take_dependents("a").empty());
  steps.hold("a", {"y"});
  steps.hold("b", {"a", "y"});
  CHECK_FALSE(steps.take_ready());
  steps.settle("y", true);
  CHECK(steps.take_ready()->token == "a");
  CHECK(steps.take_ready()->token == "c");
  CHECK_FALSE(steps.take_ready());  // until the plan of "a" is over
  steps.settle("a", true);
  CHECK(steps.take_ready()->token == "b");
}

TEST_CASE("held steps: what is erased waits no more") {
  HeldSteps steps;
  steps.hold("a", {"x"});
  steps.erase("a");
  steps.settle("x", true);
  CHECK_FALSE(steps.take_ready());
}
