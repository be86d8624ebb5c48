#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <map>

#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;
using Question = nomad::schema::plugin::Scheduling::Builder;

void describe(Plugin& plugin);

namespace {

void fill_job(Question question, int count) {
  auto job = question.initJob();
  auto label = job.initMeta(1)[0];
  label.setKey("label");
  label.setValue("ssd");
  auto group = job.initTaskGroups(1)[0];
  group.setName("db");
  group.setCount(count);
}

/// Nodes by their labels.
void fill_nodes(Question question, const std::map<std::string, std::string>& by_node) {
  auto nodes = question.initNodes(static_cast<unsigned>(by_node.size()));
  unsigned i = 0;
  for (const auto& [id, label] : by_node) {
    nodes[i].setId(id);
    nodes[i++].initValues(1).set(0, label);
  }
}

}  // namespace

TEST_CASE("allocations go to nodes with the label, evenly") {
  TestAgent agent{describe};
  REQUIRE(agent.configure());

  const auto decision = agent.decide("labels", [](Question question) {
    fill_job(question, 4);
    fill_nodes(question, {{"a", "ssd"}, {"b", "hdd"}, {"c", "ssd"}});
  });

  REQUIRE(decision);
  std::map<std::string, int> placed;
  for (const auto& each : decision->placements)
    ++placed[each.node_id];
  CHECK(placed == std::map<std::string, int>{{"a", 2}, {"c", 2}});
}

TEST_CASE("without such a node the job says what it waits for") {
  TestAgent agent{describe};
  REQUIRE(agent.configure());

  const auto decision = agent.decide("labels", [](Question question) {
    fill_job(question, 2);
    fill_nodes(question, {{"b", "hdd"}});
  });

  REQUIRE(decision);
  CHECK(decision->placements.empty());
  REQUIRE(decision->unplaced.size() == 1);
  CHECK(decision->unplaced[0].count == 2);
  CHECK(decision->unplaced[0].reason == "no node has the label \"ssd\"");
}

TEST_CASE("what runs where the label has changed moves") {
  TestAgent agent{describe};
  REQUIRE(agent.configure());

  const auto decision = agent.decide("labels", [](Question question) {
    fill_job(question, 1);
    fill_nodes(question, {{"a", "hdd"}, {"c", "ssd"}});
    auto alloc = question.initAllocs(1)[0];
    alloc.setId("1");
    alloc.setGroup("db");
    alloc.setNodeId("a");
  });

  REQUIRE(decision);
  REQUIRE(decision->stops.size() == 1);
  CHECK(decision->stops[0].alloc_id == "1");
  REQUIRE(decision->placements.size() == 1);
  CHECK(decision->placements[0].node_id == "c");
}
