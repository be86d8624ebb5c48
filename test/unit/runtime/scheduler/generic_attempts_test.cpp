// What the scheduler of service and batch jobs keeps and forgets between the attempts of one
// evaluation, and what a plan carries of them.
#include <set>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalTrigger;

namespace {

struct AttemptHarness : Harness {
  std::unique_ptr<Scheduler> scheduler;
  state::Snapshot seen;

  Step begin(const Object<schema::Evaluation>& eval) {
    scheduler = make_scheduler(eval, seed++);
    seen = state();
    return scheduler->start({seen, now, nullptr});
  }

  /// The plan was not, or not wholly, written.
  Step refuse(bool made_progress) {
    PlanResult result;
    result.rejected_nodes.emplace("node", "for the test");
    result.made_progress = made_progress;
    return scheduler->resume({seen, now, nullptr}, result);
  }

  void set_eligibility(const std::string& node, schema::SchedulingEligibility eligibility) {
    apply([&](schema::Command::Builder command) {
      auto update = command.initNodeEligibilityUpdate();
      update.setNodeId(text(node));
      update.setEligibility(eligibility);
    });
  }

  void migrate(const state::AllocRef& row) {
    apply([&](schema::Command::Builder command) {
      auto entry = command.initAllocTransition().initEntries(1)[0];
      entry.setAllocId(text(row->alloc->id()));
      entry.initTransition().getMigrate().setValue(true);
    });
  }

  /// The job runs on the first of two nodes, the other of which is fuller, and so scored higher.
  std::pair<std::string, std::string> beside_a_fuller_node(const EditJob& edit) {
    const auto home = add_node();
    process(register_job(make_job(1, edit)));
    report_all_running();
    set_eligibility(home, schema::SchedulingEligibility::INELIGIBLE);
    const auto fuller = add_node();
    process(register_job(make_job(4, [](schema::Job::Builder job) {
      job.setId("filler");
      job.setName("filler");
    })));
    REQUIRE(live("filler").size() == 4);
    set_eligibility(home, schema::SchedulingEligibility::ELIGIBLE);
    return {home, fuller};
  }

  std::string home_after_migration() {
    migrate(live().at(0));
    process(evaluate(EvalTrigger::ALLOC_STOP));
    REQUIRE(live().size() == 1);
    return std::string{live()[0]->alloc->node_id()};
  }

  static void on_rack(schema::Node::Builder node) {
    auto meta = node.initMeta(1)[0];
    meta.setKey("rack");
    meta.setValue("r1");
  }

  static void one_a_rack(schema::Job::Builder job) {
    auto constraint = job.initConstraints(1)[0];
    constraint.setOperand("distinct_property");
    constraint.setLTarget("${meta.rack}");
  }

  static void add_update(schema::Job::Builder job) {
    auto update = job.getTaskGroups()[0].initUpdate();
    update.setMaxParallel(1);
    update.setHealthCheck("task_states");
    update.setProgressDeadline(600 * second);
  }
};

}  // namespace

TEST_CASE_FIXTURE(AttemptHarness, "conflicts count from the last plan that was written in part") {
  add_node();
  auto step = begin(register_job(make_job(1)));
  for (int i = 0; i < 4; ++i)
    step = refuse(false);
  REQUIRE(step.plan);
  step = refuse(true);
  int more = 0;
  while (step.plan) {
    REQUIRE(++more < 10);
    step = refuse(false);
  }
  CHECK(more == 5);
}

TEST_CASE_FIXTURE(AttemptHarness, "a blocked evaluation is made again only if it was not written") {
  add_node();
  auto step = begin(register_job(make_job(10)));  // 8 fit
  REQUIRE(step.plan);
  CHECK(step.lacks_room);
  REQUIRE(step.plan->evaluations.size() == 1);
  const auto first = copy(step.plan->evaluations[0]->getId());
  CHECK(view(step.plan->completion->getBlockedEval()) == first);

  step = refuse(false);
  REQUIRE(step.plan);
  REQUIRE(step.plan->evaluations.size() == 1);
  const auto second_id = copy(step.plan->evaluations[0]->getId());
  CHECK(second_id != first);

  step = refuse(true);
  REQUIRE(step.plan);
  CHECK(step.plan->evaluations.empty());
  CHECK(view(step.plan->completion->getBlockedEval()) == second_id);
  step = refuse(true);
  REQUIRE(step.plan);
  CHECK(step.plan->evaluations.empty());
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "no evaluation is blocked when all is placed, or by one that was blocked") {
  add_node();
  auto step = begin(register_job(make_job(1)));
  REQUIRE(step.plan);
  CHECK_FALSE(step.lacks_room);
  CHECK(step.plan->evaluations.empty());

  const auto eval = process(register_job(make_job(10)));
  const auto blocked = state().eval(view(eval->getBlockedEval()));
  REQUIRE(blocked);
  step = begin(blocked);
  CHECK_FALSE(step.plan);
  REQUIRE(step.evaluations.size() == 1);
  CHECK(view(step.evaluations[0]->getId()) == view(blocked->getId()));
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "what waits for its reschedule time is tried again with it, not blocked") {
  add_node();
  process(register_job(make_job(8)));
  report_all_running();
  report(live().at(0), ClientStatus::FAILED);
  const auto step = begin(register_job(make_job(12)));
  REQUIRE(step.plan);
  CHECK(step.lacks_room);
  REQUIRE(step.plan->evaluations.size() == 1);
  CHECK(step.plan->evaluations[0]->getWaitUntil() > 0);
  CHECK(step.plan->completion->getBlockedEval().size() == 0);
}

TEST_CASE_FIXTURE(
    AttemptHarness,
    "an allocation that is updated in place joins the new deployment, its health unknown") {
  add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) { add_update(job); })));
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  const auto changed = make_job(1, [](schema::Job::Builder job) {
    add_update(job);
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(9 * second);
  });
  process(register_job(changed));

  const auto deployment = state().latest_deployment("default", "web");
  REQUIRE(deployment->getJobVersion() == 1);
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->deployment_id() == view(deployment->getId()));
  CHECK_FALSE(live()[0]->alloc->health().has_value());
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "a replacement goes where the score is best, or where its disk is") {
  SUBCASE("neither sticky nor migrated") {
    const auto [home, fuller] = beside_a_fuller_node({});
    CHECK(home_after_migration() == fuller);
  }
  SUBCASE("sticky") {
    const auto [home, fuller] = beside_a_fuller_node([](schema::Job::Builder job) {
      job.getTaskGroups()[0].getEphemeralDisk().setSticky(true);
    });
    CHECK(home_after_migration() == home);
  }
  SUBCASE("migrated") {
    const auto [home, fuller] = beside_a_fuller_node([](schema::Job::Builder job) {
      job.getTaskGroups()[0].getEphemeralDisk().setMigrate(true);
    });
    CHECK(home_after_migration() == home);
  }
  SUBCASE("sticky, but its node takes no more") {
    const auto [home, fuller] = beside_a_fuller_node([](schema::Job::Builder job) {
      job.getTaskGroups()[0].getEphemeralDisk().setSticky(true);
    });
    set_eligibility(home, schema::SchedulingEligibility::INELIGIBLE);
    CHECK(home_after_migration() == fuller);
  }
}

TEST_CASE_FIXTURE(AttemptHarness, "only a failed allocation's node is avoided by its replacement") {
  const auto node = add_node();
  process(register_job(make_job(1)));
  report_all_running();
  const auto other = add_node();
  SUBCASE("it failed") {
    report(live().at(0), ClientStatus::FAILED);
    now += 30 * second;
    process(evaluate(EvalTrigger::ALLOC_FAILURE));
    REQUIRE(live().size() == 1);
    CHECK(live()[0]->alloc->node_id() == other);
  }
  SUBCASE("it is moved") {
    process(register_job(make_job(1, [](schema::Job::Builder job) {
      job.setId("filler");
      job.setName("filler");
      job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(3000);
    })));
    REQUIRE(live("filler").at(0)->alloc->node_id() == node);
    CHECK(home_after_migration() == node);
  }
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "allocations of one name are given different ones when replaced") {
  add_node();
  auto step = begin(register_job(make_job(2)));
  REQUIRE(step.plan);
  auto plan = *step.plan;
  for (auto& placed : plan.nodes.begin()->second.placements) {
    Draft<schema::Allocation> row{placed.row};
    row->setName("web.api[0]");
    placed.row = row.freeze();
  }
  submit(plan);
  report_all_running();
  process(register_job(make_job(
      2, [](schema::Job::Builder job) { job.getTaskGroups()[0].getTasks()[0].setConfig("{}"); })));
  std::set<std::string> names;
  for (const auto& row : live())
    names.insert(std::string{row->alloc->name()});
  CHECK(names == std::set<std::string>{"web.api[0]", "web.api[1]"});
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "what a replaced allocation held of a property is free for its successor") {
  add_node(on_rack);
  process(register_job(make_job(1, one_a_rack)));
  report_all_running();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    one_a_rack(job);
    job.getTaskGroups()[0].getTasks()[0].setConfig("{}");
  })));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->job_version() == 1);
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "what an allocation updated in place holds of a property stays taken") {
  add_node(on_rack);
  process(register_job(make_job(1, one_a_rack)));
  report_all_running();
  add_node(on_rack);
  process(register_job(make_job(2, [](schema::Job::Builder job) {
    one_a_rack(job);
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(9 * second);
  })));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->job_version() == 1);
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "an update that finds no room leaves its node's other changes in the plan") {
  add_node();
  process(register_job(make_job(3)));
  report_all_running();
  process(register_job(make_job(2, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(100'000);
  })));
  CHECK(live().size() == 2);
  for (const auto& row : live())
    CHECK(row->alloc->job_version() == 0);
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "an update that finds no room leaves nothing of its own in the plan") {
  add_node();
  process(register_job(make_job(1)));
  report_all_running();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(100'000);
  })));
  CHECK(plans.empty());
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(AttemptHarness, "what was told to stop is lost with its node, if it still ran") {
  const auto node = add_node();
  process(register_job(make_job(3)));
  report_all_running();
  const auto rows = live();
  report(rows.at(2), ClientStatus::COMPLETE);
  process(register_job(make_job(0)));
  REQUIRE(live().empty());
  const auto status_of = [this](const state::AllocRef& row) {
    return state().alloc(row->alloc->id())->alloc->client_status();
  };
  SUBCASE("the node is disconnected: it may still be told") {
    set_status(node, schema::NodeStatus::DISCONNECTED);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(status_of(rows[0]) == ClientStatus::RUNNING);
  }
  SUBCASE("the node is down") {
    set_status(node, schema::NodeStatus::DOWN);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(status_of(rows[0]) == ClientStatus::LOST);
    CHECK(status_of(rows[1]) == ClientStatus::LOST);
    CHECK(status_of(rows[2]) == ClientStatus::COMPLETE);
  }
  SUBCASE("the node is gone") {
    apply([&](schema::Command::Builder command) {
      command.initNodeDeregister().initNodeIds(1).set(0, text(node));
    });
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(status_of(rows[0]) == ClientStatus::LOST);
  }
}

namespace {

/// How the allocation's own node was scored, by the metrics that it carries; -1 without.
double own_score(const state::AllocRef& row, std::string_view name) {
  if (!row->metric) return -1;
  for (const auto node : row->metric->getScoreMetaData()) {
    if (view(node.getNodeId()) != row->alloc->node_id()) continue;
    for (const auto score : node.getScores())
      if (view(score.getKey()) == name) return score.getValue();
  }
  return -1;
}

}  // namespace

TEST_CASE_FIXTURE(AttemptHarness, "each allocation carries the scores of its own placement") {
  SUBCASE("several on one node") {
    add_node();
    process(register_job(make_job(7)));
    std::set<double> scores;
    for (const auto& row : live())
      scores.insert(own_score(row, "binpack"));
    CHECK(scores.size() == 7);
  }
  SUBCASE("on more nodes than anybody looks at one by one") {
    for (int i = 0; i < 50; ++i)
      add_node();
    process(register_job(make_job(50, [](schema::Job::Builder job) {
      job.initConstraints(1)[0].setOperand("distinct_hosts");
    })));
    CHECK(live().size() == 50);
    for (const auto& row : live())
      CHECK(own_score(row, "binpack") > 0);
  }
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "of a large group, later placements show the scores of their own node alone") {
  for (int i = 0; i < 80; ++i)
    add_node();
  process(register_job(make_job(80)));
  std::size_t compared = 0;
  for (const auto& row : live())
    compared += row->metric->getScoreMetaData().size() > 1 ? 1 : 0;
  CHECK(compared == 32);
}

TEST_CASE_FIXTURE(AttemptHarness,
                  "an allocation moves when its node is no longer in the job's datacenters") {
  add_node();
  process(register_job(make_job(1)));
  report_all_running();
  const auto other = add_node([](schema::Node::Builder node) { node.setDatacenter("dc2"); });
  process(register_job(
      make_job(1, [](schema::Job::Builder job) { job.getDatacenters().set(0, "dc2"); })));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->node_id() == other);
}

TEST_CASE_FIXTURE(Harness, "what has ended of a group that is gone is stopped, once") {
  add_node();
  process(register_job(make_job(1)));
  const auto failed = live().at(0);
  report(failed, ClientStatus::FAILED);

  process(register_job(
      make_job(1, [](schema::Job::Builder job) { job.getTaskGroups()[0].setName("another"); })));

  const auto row = state().alloc(failed->alloc->id())->alloc;
  CHECK(row->desired_status() == schema::DesiredStatus::STOP);
  CHECK(row->desired_description() == "alloc not needed due to job update");
  CHECK(row->client_status() == ClientStatus::FAILED);
  report_all_running();
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
}
