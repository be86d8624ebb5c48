// What the drainer writes next, judged on a state that a real scheduler makes.
#include "runtime/cluster/drain/drain_plan.hpp"

#include "test/unit/runtime/cluster/drain/drain_harness.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace nomad::cluster;
using schema::ClientStatus;

TEST_CASE_FIXTURE(DrainHarness, "drain plan: a service moves as its migrate block allows") {
  const auto node = add_node();
  run_service(4, 2);
  add_node();
  drain(node, {.deadline = 3600 * second});

  CHECK(round().commands.size() == 1);
  CHECK(marked().size() == 2);
  CHECK(live().size() == 4);        // two of them anew, elsewhere
  CHECK(round().commands.empty());  // these are not healthy yet

  report_health_elsewhere(node, 1);
  round();
  CHECK(marked().size() == 3);
  report_health_elsewhere(node, 10);
  round();
  CHECK(marked().size() == 4);
  CHECK(view(state().node(node)->getLastDrain().getStatus()) == "draining");

  end_marked();
  round();
  CHECK_FALSE(state().node(node)->hasDrainStrategy());
  const auto after = state().node(node);
  CHECK(view(after->getLastDrain().getStatus()) == "complete");
  CHECK(after->getSchedulingEligibility() == schema::SchedulingEligibility::INELIGIBLE);
  CHECK(last_event(node) == "Drain: Node drain complete");
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: marks come with an evaluation for each job") {
  const auto node = add_node();
  run_service(2, 2, "web");
  run_service(1, 1, "api");
  drain(node);
  const auto plan = plan_round();
  REQUIRE(plan.commands.size() == 1);
  const auto command = plan.commands[0]->getAllocTransition();
  CHECK(command.getEntries().size() == 3);
  for (const auto entry : command.getEntries())
    CHECK(entry.getTransition().getMigrate().getValue());
  REQUIRE(command.getEvaluations().size() == 2);
  CHECK(view(command.getEvaluations()[0].getJobId()) == "api");
  for (const auto eval : command.getEvaluations())
    CHECK(eval.getTriggeredBy() == schema::EvalTrigger::NODE_DRAIN);
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: several nodes share what a group can do without") {
  const auto first = add_node();
  run_service(2, 1);
  const auto second = add_node([](auto node) { node.getNodeResources().getCpu().setCpuShares(9); });
  drain(first);
  drain(second);
  round();
  CHECK(marked().size() == 1);
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: nothing moves before its health is known") {
  const auto node = add_node();
  add_node();
  process(register_job(make_service(1, 1)));
  const auto on = std::string{live().at(0)->alloc->node_id()};
  drain(on);
  CHECK(round().commands.empty());
  report(live().at(0), ClientStatus::RUNNING, true);
  CHECK(round().commands.size() == 1);
  CHECK(marked().size() == 1);
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: the unhealthy go first and count for nobody") {
  const auto node = add_node();
  run_service(3, 1);
  add_node();
  report_sick(live().at(1));
  drain(node);
  round();
  REQUIRE(marked().size() == 1);
  CHECK(marked().at(0) == live_before.at(1));
  CHECK(round().commands.empty());

  // The replacement is sick, too: nobody healthy is risked for it.
  for (const auto& row : live())
    if (row->alloc->node_id() != node) report_sick(row);
  CHECK(round().commands.empty());
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: what goes on without anybody's doing isn't counted") {
  const auto node = add_node();
  run_service(2, 1);
  drain(node);
  const auto plan = plan_round();
  REQUIRE(plan.commands.size() == 1);
  write_only(plan.commands[0]);  // marked; the scheduler has done nothing yet
  CHECK(plan_round().commands.empty());
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: batch jobs run out until the deadline") {
  for (const char* type : {"batch", "sysbatch"}) {
    CAPTURE(type);
    const auto node = add_node();
    const std::string id = std::string{"job-"} + type;
    run_job(id, type, node);
    drain(node, {.deadline = 60 * second});
    CHECK(round().commands.empty());
    CHECK(outlook(node).look_again == now + 60 * second);

    SUBCASE("they end") {
      for (const auto& row : live(id.c_str()))
        report(row, ClientStatus::COMPLETE);
      round();
      CHECK_FALSE(state().node(node)->hasDrainStrategy());
      CHECK(last_detail(node).empty());
    }
    SUBCASE("the deadline is over") {
      now += 60 * second;
      round();
      CHECK(marked(id.c_str()).size() == 1);
      round();
      CHECK_FALSE(state().node(node)->hasDrainStrategy());
      CHECK(last_detail(node) == "deadline_reached=true");
    }
    set_status(node, schema::NodeStatus::DOWN);
  }
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: force ends all of it at once") {
  const auto node = add_node();
  run_service(3, 1);
  run_job("sys", "system", node);
  drain(node, {.deadline = -1});
  const auto plan = round();
  CHECK(plan.goes_on);
  CHECK(marked().size() == 3);
  CHECK(marked("sys").size() == 1);
  CHECK(state().node(node)->hasDrainStrategy());
  round();
  CHECK_FALSE(state().node(node)->hasDrainStrategy());
  CHECK(last_detail(node) == "deadline_reached=true");
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: system jobs go last, or not at all") {
  const auto node = add_node();
  run_service(1, 1);
  run_job("sys", "system", node);
  for (const bool ignore : {false, true}) {
    CAPTURE(ignore);
    drain(node, {.ignore_system_jobs = ignore});
    round();
    CHECK(marked().size() == 1);
    CHECK(marked("sys").empty());
    if (ignore) end_marked();
  }
  round();
  CHECK(marked("sys").empty());
  CHECK_FALSE(state().node(node)->hasDrainStrategy());

  drain(node);
  CHECK(round().goes_on);
  CHECK(marked("sys").size() == 1);
  round();
  CHECK_FALSE(state().node(node)->hasDrainStrategy());
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: an empty node, and one that is down, are done") {
  const auto empty = add_node();
  drain(empty);
  round();
  CHECK_FALSE(state().node(empty)->hasDrainStrategy());

  const auto lost = add_node();
  run_service(1, 1);
  drain(lost);
  set_status(lost, schema::NodeStatus::DOWN);
  process(evaluate(schema::EvalTrigger::NODE_UPDATE));
  round();
  CHECK_FALSE(state().node(lost)->hasDrainStrategy());
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: nodes that are gone and drains that were cancelled") {
  const auto node = add_node();
  run_service(1, 1);
  drain(node);
  const auto plan = plan_round({node, "gone"}, {});
  CHECK(plan.nodes.at("gone").is_over);
  CHECK_FALSE(plan.nodes.at(node).is_over);
  CHECK(plan.nodes.at(node).jobs.size() == 1);
  cancel(node);
  CHECK(outlook(node).is_over);
  const DrainedJob web{"default", "web"};
  CHECK(plan_round({}, {web}).finished.contains(web));
  CHECK(plan_round({}, {web}).commands.empty());
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: a completion counts for its own drain only") {
  const auto node = add_node();
  drain(node, {.deadline = 60 * second});
  const auto plan = plan_round();
  REQUIRE(plan.commands.size() == 1);
  now += second;
  drain(node, {.deadline = 60 * second});
  const auto outcome = store.apply(++next_index, *plan.commands[0]);
  store.publish();
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == Errc::conflict);
  CHECK(state().node(node)->hasDrainStrategy());
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: where nothing has room it waits, and says so once") {
  const auto node = add_node();
  run_service(3, 1);
  drain(node);
  round();
  CHECK(marked().size() == 1);
  CHECK(live().size() == 2);
  CHECK(round().waits.size() == 1);
  CHECK(last_event(node) == "Drain: Node drain waits for capacity elsewhere");
  CHECK(last_detail(node) == "job_id=web namespace=default task_group=api");
  CHECK(round().commands.empty());
  CHECK(marked().size() == 1);
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: entries of the log stay small") {
  const auto node = add_node([](auto node) {
    node.getNodeResources().getCpu().setCpuShares(1'000'000);
    node.getNodeResources().getMemory().setMemoryMb(1'000'000);
    node.getNodeResources().getDisk().setDiskMb(1'000'000);
  });
  run_service(2'100, 1);
  drain(node, {.deadline = -1});
  const auto plan = plan_round();
  REQUIRE(plan.commands.size() == 1);
  CHECK(plan.commands[0]->getAllocTransition().getEntries().size() == most_marked);
  CHECK(plan.goes_on);
}

TEST_CASE_FIXTURE(DrainHarness, "drain plan: whatever happens, few of a group are on their way") {
  for (std::uint64_t world = 1; world <= 60; ++world) {
    CAPTURE(world);
    DrainHarness here;
    here.random = Random{world};
    here.live_through(world);
  }
}
