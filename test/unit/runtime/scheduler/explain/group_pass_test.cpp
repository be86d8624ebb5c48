#include "runtime/scheduler/explain/group_pass.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("group pass: a budget is spent, or given up") {
  const std::function<bool()> nobody;
  explain::WorkBudget budget{10, nobody};
  CHECK_FALSE(budget.is_spent());
  budget.spend(9);
  CHECK_FALSE(budget.is_spent());
  budget.spend(9);
  CHECK(budget.is_spent());

  const std::function<bool()> gone = [] { return false; };
  explain::WorkBudget unwanted{1'000'000, gone};
  bool spent = false;
  for (int i = 0; i < 300; ++i)
    spent = unwanted.is_spent();
  CHECK(spent);
}

TEST_CASE_FIXTURE(ExplainHarness, "group pass: nodes that score alike share a rank") {
  for (int i = 0; i < 3; ++i)
    add_node();
  register_job(make_job(1));
  for (const auto& one : group().best)
    CHECK(one.rank == 1);
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "group pass: nodes of system jobs are not compared, and take one each") {
  const auto first = add_node();
  const auto eval
      = register_job(make_job(1, [](schema::Job::Builder job) { job.setType("system"); }));
  CHECK(group().best.at(0).rank == 0);

  process(eval);
  add_node();

  const auto answer = group();
  CHECK(answer.fitting == 1);
  CHECK(texts(ask_node(first).reasons) == "one of the group is there");
  CHECK(answer.suggestions.empty());
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "group pass: the change of the node that is asked for is told where others fit") {
  add_node();
  const auto down
      = add_node([](schema::Node::Builder node) { node.setStatus(schema::NodeStatus::DOWN); });
  register_job(make_job(1));
  CHECK(group().suggestions.empty());
  auto asked = question();
  asked.node = down;
  CHECK(texts(explained(asked).groups.at(0).suggestions) == "the node ready (it is down)");
}

TEST_CASE_FIXTURE(ExplainHarness, "group pass: many ways to be refused are told up to a bound") {
  for (unsigned i = 0; i < 70; ++i)
    add_node([i](schema::Node::Builder node) {
      set_meta(node, ("m" + std::to_string(i)).c_str(), "1");
    });
  register_job(make_job(1, [](schema::Job::Builder job) {
    auto constraints = job.initConstraints(70);
    for (unsigned i = 0; i < 70; ++i)
      constrain(constraints[i], ("${meta.m" + std::to_string(i) + "}").c_str(), "is_not_set", "");
  }));

  const auto answer = group();

  CHECK(answer.refused.size() == explain::most_classes);
  CHECK(answer.other_classes == 20);
  CHECK(answer.other_nodes == 20);
  CHECK(answer.suggestions.size() == explain::most_suggestions);
}

TEST_CASE_FIXTURE(ExplainHarness, "group pass: a quota without room is told, whatever nodes have") {
  apply([](schema::Command::Builder command) {
    auto quota = command.initQuotaUpsert();
    quota.setName("small");
    auto limit = quota.initLimits(1)[0];
    limit.setRegion("global");
    limit.initRegionLimit().setMemoryMb(100);
  });
  apply([](schema::Command::Builder command) {
    auto ns = command.initNamespaceUpsert();
    ns.setName("default");
    ns.setQuota("small");
  });
  add_node();
  register_job(make_job(1));

  const auto answer = group();

  CHECK(answer.fitting == 1);
  REQUIRE(answer.quota.size() == 1);
  CHECK(answer.quota[0] == "memory exhausted (256 needed > 100 limit)");
}
