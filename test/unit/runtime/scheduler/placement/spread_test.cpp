// How a placement would change the distribution over racks.
#include "runtime/scheduler/placement/spread.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using doctest::Approx;

namespace {

struct Spreading : Harness {
  std::map<std::string, Object<schema::Node>> nodes;

  Spreading() {
    for (const auto* rack : {"r1", "r2", "r3", "none"}) {
      const auto id = add_node([rack](schema::Node::Builder node) {
        if (std::string_view{rack} == "none") return;
        auto meta = node.initMeta(1)[0];
        meta.setKey("rack");
        meta.setValue(rack);
      });
      nodes.emplace(rack, state().node(id));
    }
  }

  using Placed = std::vector<std::pair<const char*, int>>;

  PropertyCounts count(const Placed& placed) const {
    PropertyCounts counts{"${meta.rack}", "api", state(), {}};
    for (const auto& [rack, number] : placed)
      for (int i = 0; i < number; ++i)
        counts.change(*nodes.at(rack), "api", 1);
    return counts;
  }

  double even(const Placed& placed, const char* rack) const {
    return even_spread_score(count(placed), rack);
  }

  /// A group of ten that is spread over racks with these targets.
  static GroupSpec ten(std::vector<SpreadTargetSpec> targets, double weight = 100) {
    GroupSpec group;
    group.name = "api";
    group.count = 10;
    group.spreads.push_back({"${meta.rack}", weight, std::move(targets)});
    return group;
  }

  double score(const GroupSpec& group, const Placed& placed, const char* rack) const {
    const std::vector<PropertyCounts> counts(group.spreads.size(), count(placed));
    return SpreadScorer{group, counts}.score(*nodes.at(rack));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Spreading, "a star is the target of all values that are not named") {
  const auto group = ten({{"r1", 20}, {"*", 80}});
  CHECK(score(group, {}, "r1") == Approx(0.5));
  CHECK(score(group, {}, "r2") == Approx(7.0 / 8));
  CHECK(score(group, {{"r2", 3}}, "r3") == Approx(4.0 / 8));  // they share it
  CHECK(score(ten({{"*", 50}}), {}, "r2") == Approx(4.0 / 5));
}

TEST_CASE_FIXTURE(Spreading, "an even spread prefers who has least, by how far others are ahead") {
  CHECK(even({{"r1", 2}}, "r2") == 1);
  CHECK(even({{"r1", 2}, {"r2", 2}}, "r1") == -1);
  CHECK(even({{"r1", 1}, {"r2", 3}}, "r1") == 2);
  CHECK(even({{"r1", 1}, {"r2", 3}}, "r2") == -2);
  CHECK(even({{"r1", 3}, {"r2", 1}}, "r2") == 2);
  CHECK(even({{"r1", 3}, {"r2", 1}}, "r1") == -2);
  CHECK(even({{"r1", 2}, {"r2", 4}, {"r3", 3}}, "r1") == 1);
  CHECK(even({{"r1", 2}, {"r2", 4}, {"r3", 3}}, "r3") == -0.5);
}

TEST_CASE_FIXTURE(Spreading,
                  "an even spread has no opinion on the first, and minds what is unknown") {
  const auto group = ten({});
  CHECK(score(group, {}, "r1") == 0);
  CHECK(score(group, {}, "none") == -1);
  CHECK(score(group, {{"r1", 1}}, "none") == -1);
  CHECK(score(group, {{"r1", 1}}, "r2") == 1);
}

TEST_CASE_FIXTURE(Spreading, "a target scores by what it still lacks") {
  const auto group = ten({{"r1", 70}, {"r2", 30}});
  CHECK(score(group, {}, "r1") == Approx(6.0 / 7));
  CHECK(score(group, {{"r1", 6}}, "r1") == Approx(0));
  CHECK(score(group, {{"r1", 9}}, "r1") == Approx(-3.0 / 7));
  CHECK(score(group, {{"r1", 9}}, "r2") == Approx(2.0 / 3));
  CHECK(score(group, {}, "r3") == -1);  // the targets leave nothing for others
  CHECK(score(group, {}, "none") == -1);
}

TEST_CASE_FIXTURE(Spreading, "values that are not named share what the targets leave") {
  const auto group = ten({{"r1", 60}});
  CHECK(score(group, {}, "r3") == Approx(3.0 / 4));
  CHECK(score(group, {{"r1", 5}, {"r2", 1}, {"r3", 1}}, "r3") == Approx(1.0 / 4));
  CHECK(score(group, {{"r2", 4}}, "r3") == Approx(-1.0 / 4));
}

TEST_CASE_FIXTURE(Spreading, "a value that should have none scores as the worst one met") {
  const auto group = ten({{"r1", 100}, {"r2", 0}});
  const std::vector<PropertyCounts> counts{count({{"r1", 30}})};
  SpreadScorer scorer{group, counts};
  CHECK(scorer.score(*nodes.at("r2")) == -1);
  CHECK(scorer.score(*nodes.at("r1")) == Approx(-2.1));
  CHECK(scorer.score(*nodes.at("r2")) == Approx(-2.1));
  CHECK(scorer.score(*nodes.at("r3")) == -1);
  CHECK(score(ten({{"r1", 0}}), {}, "r2") == -1);
}

TEST_CASE_FIXTURE(Spreading, "several spreads add up by their weights") {
  auto group = ten({{"r1", 100}}, 50);
  group.spreads.push_back({"${meta.rack}", 150, {{"r1", 50}}});
  CHECK(score(group, {}, "r1") == Approx(0.25 * 0.9 + 0.75 * 0.8));
  CHECK(score(ten({{"r1", 100}}, 0), {}, "r1") == 0);
}

TEST_CASE_FIXTURE(Spreading,
                  "a spread counts by its share of all weights, however small they are") {
  CHECK(score(ten({{"r1", 100}}, 1), {}, "r1") == Approx(0.9));
}

TEST_CASE_FIXTURE(Spreading,
                  "targets leave to others what they leave, be it less than one or all but one") {
  CHECK(score(ten({{"r1", 10}}), {}, "r3") == Approx(8.0 / 9));
  auto group = ten({{"r1", 95}}, 50);
  group.spreads.push_back(group.spreads.front());
  CHECK(score(group, {}, "r3") == Approx(-1));  // half of each weight
}
