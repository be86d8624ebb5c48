#include "runtime/scheduler/explain/explanation.hpp"

#include <doctest/doctest.h>

using namespace nomad::scheduler::explain;

TEST_CASE("explanation: a reason with and without what nodes have") {
  const Reason reason{
      .what = Obstacle::constraint, .subject = "constraint a", .values = {"x", "y"}};
  CHECK(reason.text() == "constraint a: x, y");
  CHECK(reason.text(false) == "constraint a");
  CHECK(Reason{.subject = "drain"}.text() == "drain");
  CHECK(Reason{.subject = "a", .values = {"x"}, .has_more = true}.text() == "a: x, ...");
  const Reason amount{
      .subject = "memory, 9 MiB asked", .asked = 9, .least_free = 1, .most_free = 3};
  CHECK(amount.text() == "memory, 9 MiB asked: 1 to 3 free");
  CHECK(amount.text(false) == "memory, 9 MiB asked");
}

TEST_CASE("explanation: the first line is that of the group that waits") {
  Explanation explained;
  explained.groups.push_back({.name = "a", .live = 2, .nodes = 3, .looked_at = 3, .fitting = 1});
  CHECK(explained.summary()
        == "Nothing of the job waits for a place; 2 allocations have not ended");
  explained.groups.push_back({.name = "b", .queued = 2, .nodes = 3, .looked_at = 3, .fitting = 2});
  CHECK(explained.summary() == "Group \"b\": 2 allocations wait for a place; 2 of 3 nodes fit");
  explained.groups[1].fitting = 0;
  explained.groups[1].refused.push_back({.count = 3, .reasons = {{.subject = "being drained"}}});
  CHECK(explained.summary()
        == "Group \"b\": 2 allocations wait for a place; none of 3 nodes fits: being drained (3 "
           "nodes)");
  explained.groups[1].quota = {"cpu"};
  CHECK(explained.summary()
        == "Group \"b\": 2 allocations wait for a place; the namespace's quota has no room: cpu");
  explained.groups[1].queued = 0;
  explained.groups[1].waits.push_back({"stopped", "the job is stopped"});
  CHECK(explained.summary() == "Group \"b\": the job is stopped");
}

TEST_CASE("explanation: a cluster without nodes, and many classes") {
  GroupAnswer group{.name = "a"};
  CHECK(group.summary() == "Group \"a\": the cluster has no nodes");
  group.nodes = group.looked_at = 6;
  for (std::size_t i = 1; i <= 3; ++i)
    group.refused.push_back(
        {.count = i, .reasons = {{.subject = "1"}, {.subject = "2"}, {.subject = "3"}}});
  CHECK(group.summary()
        == "Group \"a\": none of 6 nodes fits: 1; 2; 1 more (3 nodes), 1; 2; 1 more (2 nodes), and "
           "others");
}
