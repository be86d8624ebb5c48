#include "runtime/scheduler/placement/metrics.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

Score with_normalized(double value) {
  Score score;
  score.set(ScoreName::binpack, value);
  return score;
}

/// "key=value …" of one of a metric's maps.
template <class Entries>
std::string entries_text(Entries entries) {
  std::string joined;
  for (const auto entry : entries)
    joined += (joined.empty() ? "" : " ") + std::string{view(entry.getKey())} + "="
              + std::to_string(static_cast<std::int64_t>(entry.getValue()));
  return joined;
}

std::string ranking(const MetricBuilder& metrics) {
  const auto metric = metrics.build();
  std::string joined;
  for (const auto node : metric->getScoreMetaData())
    joined += view(node.getNodeId());
  return joined;
}

}  // namespace

TEST_CASE("metrics: why nodes fell out is counted by class and by reason") {
  MetricBuilder metrics;
  for (int i = 0; i < 5; ++i)
    metrics.evaluated();
  metrics.filtered("large", "missing drivers");
  metrics.filtered("large", "distinct_hosts");
  metrics.filtered("", "distinct_hosts");
  metrics.exhausted("small", "cpu");
  metrics.exhausted("small", "memory");
  metrics.coalesce(GroupSpec{});
  metrics.set_nodes(7, {{"dc1", 4}, {"dc2", 3}});
  const auto metric = metrics.build();
  CHECK(metric->getNodesEvaluated() == 5);
  CHECK(metric->getNodesFiltered() == 3);
  CHECK(metric->getNodesExhausted() == 2);
  CHECK(metric->getNodesInPool() == 7);
  CHECK(metric->getCoalescedFailures() == 1);
  CHECK(entries_text(metric->getNodesAvailable()) == "dc1=4 dc2=3");
  CHECK(entries_text(metric->getClassFiltered()) == "large=2");
  CHECK(entries_text(metric->getConstraintFiltered()) == "distinct_hosts=2 missing drivers=1");
  CHECK(entries_text(metric->getClassExhausted()) == "small=2");
  CHECK(entries_text(metric->getDimensionExhausted()) == "cpu=1 memory=1");
}

TEST_CASE("metrics: without a reason there is no list of reasons") {
  const auto metric = MetricBuilder{}.build();
  CHECK_FALSE(metric->hasClassFiltered());
  CHECK_FALSE(metric->hasConstraintFiltered());
  CHECK_FALSE(metric->hasClassExhausted());
  CHECK_FALSE(metric->hasDimensionExhausted());
  CHECK_FALSE(metric->hasScoreMetaData());
}

TEST_CASE("metrics: the five best scores are kept, the earlier of two equal ones first") {
  MetricBuilder metrics;
  metrics.scored("a", with_normalized(0.3));
  metrics.scored("b", with_normalized(0.5));
  metrics.scored("c", with_normalized(0.1));
  metrics.scored("d", with_normalized(0.3));
  CHECK(ranking(metrics) == "badc");
  metrics.scored("e", with_normalized(0.1));
  CHECK(ranking(metrics) == "badce");
  metrics.scored("f", with_normalized(0.1));  // no better than the last one
  CHECK(ranking(metrics) == "badce");
  metrics.scored("g", with_normalized(0.2));
  CHECK(ranking(metrics) == "badgc");
}

TEST_CASE("metrics: one node's scores can be shown alone") {
  MetricBuilder metrics;
  metrics.evaluated();
  metrics.scored("a", with_normalized(0.3));
  metrics.scored("b", with_normalized(0.5));
  const auto metric = metrics.build_for("a");
  CHECK(metric->getNodesEvaluated() == 1);
  REQUIRE(metric->getScoreMetaData().size() == 1);
  CHECK(view(metric->getScoreMetaData()[0].getNodeId()) == "a");
  CHECK_FALSE(metrics.build_for("c")->hasScoreMetaData());
}

TEST_CASE("metrics: another selection counts anew, of the same nodes") {
  MetricBuilder metrics;
  metrics.set_nodes(3, {{"dc1", 3}});
  metrics.evaluated();
  metrics.filtered("large", "distinct_hosts");
  metrics.exhausted("large", "cpu");
  metrics.scored("a", with_normalized(0.3));
  metrics.restart();
  const auto metric = metrics.build();
  CHECK(metric->getNodesInPool() == 3);
  CHECK(entries_text(metric->getNodesAvailable()) == "dc1=3");
  CHECK(metric->getNodesEvaluated() == 0);
  CHECK(metrics.nodes_filtered() == 0);
  CHECK_FALSE(metric->hasDimensionExhausted());
  CHECK_FALSE(metric->hasScoreMetaData());
}

TEST_CASE("metrics: what the tasks ask for of exhausted cpu and memory adds up") {
  GroupSpec group;
  group.tasks.resize(2);
  group.tasks[0].name = "server";
  group.tasks[0].cpu = 500;
  group.tasks[0].memory_mb = 256;
  group.tasks[1].name = "log";
  group.tasks[1].cpu = 100;
  const auto shown = [](const MetricBuilder& metrics) {
    const auto metric = metrics.build();
    std::string joined;
    for (const auto entry : metric->getResourcesExhausted())
      joined += copy(entry.getKey()) + "=" + std::to_string(entry.getValue().getCpu()) + "/"
                + std::to_string(entry.getValue().getMemoryMb()) + " ";
    return joined;
  };
  MetricBuilder metrics;
  metrics.exhaust_resources(group);
  CHECK(shown(metrics).empty());  // no node was exhausted
  metrics.exhausted("", "cpu");
  metrics.exhaust_resources(group);
  metrics.coalesce(group);
  CHECK(shown(metrics) == "log=200/0 server=1000/0 ");
  MetricBuilder disk;
  disk.exhausted("", "disk");
  disk.exhaust_resources(group);
  CHECK(shown(disk) == "log=0/0 server=0/0 ");
}

TEST_CASE("metrics: each score carries its parts by name") {
  MetricBuilder metrics;
  auto score = with_normalized(0.5);
  score.set(ScoreName::job_anti_affinity, -1);
  metrics.scored("a", score);
  const auto metric = metrics.build();
  const auto node = metric->getScoreMetaData()[0];
  CHECK(node.getNormScore() == doctest::Approx(-0.25));
  REQUIRE(node.getScores().size() == 2);
  CHECK(view(node.getScores()[0].getKey()) == "binpack");
  CHECK(node.getScores()[0].getValue() == 0.5);
  CHECK(view(node.getScores()[1].getKey()) == "job-anti-affinity");
}

TEST_CASE("metrics: those of several selections add up to one") {
  MetricBuilder one;
  one.evaluated();
  one.filtered("large", "distinct_hosts");
  one.set_nodes(3, {{"dc1", 3}});
  MetricBuilder sum;
  sum.merge_filters(one);
  sum.merge_filters(one);
  const auto metric = sum.build();
  CHECK(metric->getNodesEvaluated() == 2);
  CHECK(metric->getNodesFiltered() == 2);
  CHECK(metric->getNodesInPool() == 3);
  CHECK(entries_text(metric->getNodesAvailable()) == "dc1=3");
  CHECK(entries_text(metric->getClassFiltered()) == "large=2");
  CHECK(entries_text(metric->getConstraintFiltered()) == "distinct_hosts=2");
}
