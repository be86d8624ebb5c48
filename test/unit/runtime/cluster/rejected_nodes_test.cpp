#include "runtime/cluster/rejected_nodes.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;

namespace {

const RejectedNodes::TimePoint first_rejection{1000h};

}  // namespace

TEST_CASE("rejected nodes: one that is refused often within the window is to be ineligible") {
  RejectedNodes nodes{{.enabled = true, .node_threshold = 3, .node_window = 1min}};
  CHECK_FALSE(nodes.add("a", first_rejection));
  CHECK_FALSE(nodes.add("a", first_rejection + 10s));
  CHECK_FALSE(nodes.add("b", first_rejection + 10s));
  CHECK_FALSE(nodes.add("a", first_rejection + 61s));  // the first is too long ago
  CHECK(nodes.scores(first_rejection + 61s)
        == std::map<std::string, std::size_t>{{"a", 2}, {"b", 1}});
  CHECK(nodes.add("a", first_rejection + 62s));
}

TEST_CASE("rejected nodes: nothing is counted unless it is wanted") {
  RejectedNodes nodes{{.enabled = false, .node_threshold = 1}};
  CHECK_FALSE(nodes.add("a", first_rejection));
  CHECK(nodes.scores(first_rejection).empty());
}

TEST_CASE("rejected nodes: few become ineligible in a row") {
  RejectedNodes nodes{{.enabled = true, .node_threshold = 1}};
  int taken = 0;
  for (int i = 0; i < 30; ++i)
    taken += nodes.add(std::to_string(i), first_rejection) ? 1 : 0;
  CHECK(taken == 10);
  CHECK_FALSE(nodes.add("late", first_rejection + 5min));
  CHECK(nodes.add("late", first_rejection + 7min));
  CHECK_FALSE(nodes.add("later", first_rejection + 7min));
}

TEST_CASE("rejected nodes: the command names the reason") {
  const auto command = take_out_rejected("a", 7);
  const auto update = command->getNodeEligibilityUpdate();
  CHECK(update.getEligibility() == schema::SchedulingEligibility::INELIGIBLE);
  CHECK(view(update.getEvent().getMessage()).find("plan rejections") != std::string::npos);
}

TEST_CASE("rejected nodes: only so many are remembered") {
  RejectedNodes nodes{{.enabled = true, .node_threshold = 2}};
  nodes.add("first", first_rejection);
  for (std::size_t i = 0; i < RejectedNodes::most_nodes; ++i)
    nodes.add(std::to_string(i), first_rejection + 1s);
  CHECK(nodes.scores(first_rejection + 1s).size() == RejectedNodes::most_nodes);
  CHECK_FALSE(nodes.add("first", first_rejection + 2s));
}
