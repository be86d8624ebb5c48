#include "runtime/scheduler/explain/ground.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;
using explain::Ground;

TEST_CASE_FIXTURE(ExplainHarness, "ground: places where a scheduler would, and nowhere else") {
  const auto good = add_node();
  const auto away
      = add_node([](schema::Node::Builder node) { node.setStatus(schema::NodeStatus::DOWN); });
  const auto other = add_node([](schema::Node::Builder node) { node.setNodePool("gpu"); });
  const auto full = add_node(
      [](schema::Node::Builder node) { node.getNodeResources().getCpu().setCpuShares(100); });
  register_job(make_job(1));
  const auto snapshot = state();
  const std::vector<state::AllocRef> rows;
  Ground ground{snapshot, snapshot.job("default", "web"), rows};
  const auto& group = ground.job().groups()[0];

  CHECK(ground.place_on(snapshot.node(good), group, "web.api[0]"));
  for (const auto& id : {away, other, full})
    CHECK_FALSE(ground.place_on(snapshot.node(id), group, "web.api[0]"));
}

TEST_CASE_FIXTURE(ExplainHarness, "ground: an allocation may count as ended") {
  const auto id = add_node(
      [](schema::Node::Builder node) { node.getNodeResources().getMemory().setMemoryMb(300); });
  process(register_job(make_job(1)));
  const auto snapshot = state();
  const auto rows = live();
  Ground with{snapshot, snapshot.job("default", "web"), rows};
  Ground without{snapshot, snapshot.job("default", "web"), rows, rows.at(0)};

  CHECK_FALSE(with.place_on(snapshot.node(id), with.job().groups()[0], "web.api[1]"));
  CHECK(without.place_on(snapshot.node(id), without.job().groups()[0], "web.api[0]"));
}
