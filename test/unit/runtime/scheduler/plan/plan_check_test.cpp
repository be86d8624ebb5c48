// Verification of plans against a newer state than they were made on.
#include "runtime/scheduler/plan/plan_check.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct CheckHarness : Harness {
  /// The first plan of an evaluation, not submitted.
  Plan plan_of(const Object<schema::Evaluation>& eval) {
    auto scheduler = make_scheduler(eval, seed++);
    const auto snapshot = state();
    auto step = scheduler->start({snapshot, now, nullptr});
    REQUIRE(step.plan.has_value());
    return std::move(*step.plan);
  }

  Object<schema::Job> named(const char* id, std::int64_t count, const EditJob& edit = {}) {
    return make_job(count, [&](schema::Job::Builder job) {
      job.setId(id);
      job.setName(id);
      if (edit) edit(job);
    });
  }

  std::string reason(const Plan& plan) {
    const auto verdict = check_plan(plan, state(), "global");
    return verdict.rejected_nodes.empty() ? "" : verdict.rejected_nodes.begin()->second;
  }
};

}  // namespace

TEST_CASE_FIXTURE(CheckHarness, "two plans for the same room: the second is rejected") {
  add_node();
  const auto first = plan_of(register_job(named("one", 5)));
  const auto second = plan_of(register_job(named("two", 5)));
  CHECK(reason(first).empty());
  CHECK(reason(second).empty());
  CHECK(submit(first).is_full());
  CHECK(reason(second) == "cpu");
  const auto result = submit(second);
  CHECK_FALSE(result.is_full());
  CHECK_FALSE(result.made_progress);
  CHECK(live("two").empty());
}

TEST_CASE_FIXTURE(CheckHarness, "a plan is written as long as it is its evaluation's to make") {
  add_node();
  const auto pending = register_job(named("one", 1));
  const auto ended = register_job(named("two", 1));
  process(ended);
  const auto judged = [this](std::string id, std::uint64_t known_index) {
    Plan plan;
    plan.eval_id = std::move(id);
    return check_evaluation(plan, known_index, state());
  };
  const auto newest = state().index();

  CHECK(judged(copy(pending->getId()), newest).has_value());
  CHECK(judged("none", newest).error()
        == Error{Errc::conflict, "the evaluation of the plan is not there any more"});
  CHECK(judged(copy(ended->getId()), newest).error()
        == Error{Errc::conflict, "the evaluation of the plan has ended"});
  CHECK(judged(copy(pending->getId()), 0).error()
        == Error{Errc::conflict,
                 "another plan of the evaluation was written after this one's snapshot"});
}

TEST_CASE_FIXTURE(CheckHarness,
                  "what takes a core over from one that still runs refuses no others") {
  add_node([](schema::Node::Builder node) {
    auto cpu = node.getNodeResources().getCpu();
    cpu.setTotalCpuCores(4);
    cpu.initReservableCpuCores(1).set(0, 3);
  });
  const auto pinned = [this](const char* config) {
    return named("pinned", 1, [config](schema::Job::Builder job) {
      auto task = job.getTaskGroups()[0].getTasks()[0];
      task.setConfig(config);
      task.getResources().setCores(1);
      task.getResources().setCpu(0);
    });
  };
  process(register_job(pinned("{}")));
  process(register_job(pinned(R"({"run_for":"1s"})")));
  REQUIRE(allocs("pinned").size() == 2);
  REQUIRE(live("pinned").size() == 1);
  CHECK(reason(plan_of(register_job(named("other", 1)))).empty());
  // Nobody else gets it.
  auto again = plan_of(register_job(named("other", 2)));
  auto& placed = again.nodes.begin()->second.placements;
  REQUIRE_FALSE(placed.empty());
  Draft<schema::Allocation> row{placed[0].row};
  row->getAllocatedResources().getTasks()[0].getValue().getCpu().initReservedCores(1).set(0, 3);
  placed[0].row = row.freeze();
  CHECK(reason(again) == "cores");
}

TEST_CASE_FIXTURE(CheckHarness, "only the nodes that do not fit are left out") {
  const auto one = add_node();
  const auto plan_with_one = plan_of(register_job(named("one", 5)));
  add_node();
  auto wide = plan_of(register_job(named("two", 10)));
  REQUIRE(wide.nodes.size() == 2);
  CHECK(submit(plan_with_one).is_full());
  const auto result = submit(wide);
  REQUIRE(result.rejected_nodes.size() == 1);
  CHECK(result.rejected_nodes.begin()->first == one);
  CHECK(result.made_progress);
  CHECK_FALSE(result.completion_written);
  for (const auto& row : live("two"))
    CHECK(row->alloc->node_id() != one);
  CHECK_FALSE(live("two").empty());
}

TEST_CASE_FIXTURE(CheckHarness, "all at once is all or nothing") {
  add_node();
  const auto before = plan_of(register_job(named("one", 5)));
  add_node();
  const auto wide = plan_of(
      register_job(named("two", 10, [](schema::Job::Builder job) { job.setAllAtOnce(true); })));
  submit(before);
  CHECK_FALSE(submit(wide).made_progress);
  CHECK(live("two").empty());
}

TEST_CASE_FIXTURE(CheckHarness, "what happened to the node meanwhile") {
  const auto node = add_node();
  const auto plan = plan_of(register_job(make_job(1)));
  set_status(node, schema::NodeStatus::DOWN);
  CHECK(reason(plan) == "node is not ready for placements");
  set_status(node, schema::NodeStatus::READY);
  CHECK(reason(plan).empty());
  apply([&](schema::Command::Builder command) {
    auto update = command.initNodeEligibilityUpdate();
    update.setNodeId(text(node));
    update.setEligibility(schema::SchedulingEligibility::INELIGIBLE);
  });
  CHECK(reason(plan) == "node is not eligible");
  apply([&](schema::Command::Builder command) {
    command.initNodeDeregister().initNodeIds(1).set(0, text(node));
  });
  CHECK(reason(plan) == "node does not exist");
}

TEST_CASE_FIXTURE(CheckHarness, "stops and in-place updates pass on an ineligible node") {
  const auto node = add_node();
  process(register_job(make_job(2)));
  apply([&](schema::Command::Builder command) {
    auto update = command.initNodeEligibilityUpdate();
    update.setNodeId(text(node));
    update.setEligibility(schema::SchedulingEligibility::INELIGIBLE);
  });
  const auto in_place = plan_of(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(second);
  })));
  CHECK(submit(in_place).is_full());
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(CheckHarness, "a row that was changed meanwhile is not overwritten") {
  add_node();
  process(register_job(make_job(1)));
  const auto in_place = plan_of(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(second);
  })));
  apply([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(live()[0]->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  CHECK(reason(in_place) == "alloc to update was changed meanwhile");
}

TEST_CASE_FIXTURE(CheckHarness, "a port that was given out meanwhile") {
  add_node();
  const auto fixed = [](schema::Job::Builder job) {
    auto port = job.getTaskGroups()[0].initNetworks(1)[0].initReservedPorts(1)[0];
    port.setLabel("http");
    port.setValue(8080);
  };
  const auto first = plan_of(register_job(named("one", 1, fixed)));
  const auto second = plan_of(register_job(named("two", 1, fixed)));
  CHECK(submit(first).is_full());
  CHECK(reason(second) == "reserved port collision: port 8080 already in use");
}

TEST_CASE_FIXTURE(CheckHarness, "a port that is shared is no collision, then or later") {
  add_node();
  const auto fixed = [](bool is_shared, std::int64_t kill_timeout = 0) {
    return [=](schema::Job::Builder job) {
      auto group = job.getTaskGroups()[0];
      auto port = group.initNetworks(1)[0].initReservedPorts(1)[0];
      port.setLabel("http");
      port.setValue(8080);
      port.setIgnoreCollision(is_shared);
      if (kill_timeout > 0) group.getTasks()[0].setKillTimeout(kill_timeout);
    };
  };
  const auto first = plan_of(register_job(named("one", 1, fixed(false))));
  const auto refused = plan_of(register_job(named("three", 1, fixed(false))));
  CHECK(submit(first).is_full());
  auto in_place = plan_of(register_job(named("one", 1, fixed(false, second))));
  const auto shared = plan_of(register_job(named("two", 2, fixed(true))));
  CHECK(submit(shared).is_full());
  CHECK(reason(refused) == "reserved port collision: port 8080 already in use");
  const auto rows = live("two");
  REQUIRE(rows.size() == 2);
  const auto networks = rows[0]->alloc->resources().getShared().getNetworks();
  CHECK(networks[0].getReservedPorts()[0].getIgnoreCollision());

  // Who was there first keeps it, whatever else the plan brings.
  const auto other = plan_of(register_job(named("four", 1)));
  const auto& placed = other.nodes.begin()->second.placements.at(0);
  in_place.nodes.begin()->second.placements.push_back(placed);
  CHECK(reason(in_place).empty());
}

TEST_CASE_FIXTURE(CheckHarness, "a partial commit is retried until nothing conflicts") {
  add_node();
  const auto big = plan_of(register_job(named("one", 6)));
  const auto eval = register_job(named("two", 4));
  auto scheduler = make_scheduler(eval, seed++);
  auto snapshot = state();
  auto step = scheduler->start({snapshot, now, nullptr});
  REQUIRE(step.plan);
  submit(big);  // 2 of 8 places are left
  auto result = submit(*step.plan);
  CHECK_FALSE(result.made_progress);
  snapshot = state();
  step = scheduler->resume({snapshot, now, nullptr}, result);
  REQUIRE(step.plan);
  CHECK(step.plan->placement_count() == 2);
  result = submit(*step.plan);
  CHECK(result.is_full());
  snapshot = state();
  step = scheduler->resume({snapshot, now, nullptr}, result);
  CHECK_FALSE(step.plan);
  CHECK(live("two").size() == 2);
  const auto done = state().eval(view(eval->getId()));
  CHECK(done->getStatus() == schema::EvalStatus::COMPLETE);
  CHECK(done->getBlockedEval().size() > 0);
  CHECK(state().eval(view(done->getBlockedEval())));
}

TEST_CASE_FIXTURE(CheckHarness, "after too many conflicts the evaluation fails and blocks") {
  add_node();
  const auto eval = register_job(make_job(1));
  auto scheduler = make_scheduler(eval, seed++);
  const auto snapshot = state();
  auto step = scheduler->start({snapshot, now, nullptr});
  int attempts = 0;
  while (step.plan) {
    REQUIRE(++attempts < 10);
    PlanResult refused;
    refused.rejected_nodes.emplace("node", "for the test");
    step = scheduler->resume({snapshot, now, nullptr}, refused);
  }
  CHECK(attempts == 5);
  REQUIRE(step.evaluations.size() == 2);
  CHECK(step.evaluations[0]->getTriggeredBy() == schema::EvalTrigger::MAX_PLAN_ATTEMPTS);
  CHECK(step.evaluations[0]->getStatus() == schema::EvalStatus::BLOCKED);
  CHECK(step.evaluations[1]->getStatus() == schema::EvalStatus::FAILED);
  CHECK(view(step.evaluations[1]->getStatusDescription()) == "maximum attempts reached (5)");
  CHECK(view(step.evaluations[1]->getBlockedEval()) == view(step.evaluations[0]->getId()));
}

TEST_CASE_FIXTURE(CheckHarness, "reservations keep a second plan off the same room") {
  add_node();
  const auto first = plan_of(register_job(named("one", 5)));
  Reservations reservations;
  reservations.add(std::make_shared<const Plan>(first));
  auto scheduler = make_scheduler(register_job(named("two", 5)), seed++);
  const auto snapshot = state();
  const auto step = scheduler->start({snapshot, now, &reservations});
  REQUIRE(step.plan);
  CHECK(step.lacks_room);
  CHECK(step.plan->placement_count() == 3);
  CHECK(submit(first).is_full());
  CHECK(submit(*step.plan).is_full());
}

TEST_CASE_FIXTURE(CheckHarness,
                  "ports: neither beyond what ports are, nor one twice in an allocation") {
  add_node();
  const auto plan = plan_of(register_job(named("one", 1)));
  const auto with_ports = [&](std::initializer_list<std::int32_t> values) {
    auto changed = plan;
    auto& placed = changed.nodes.begin()->second.placements.at(0);
    Draft<schema::Allocation> row{placed.row};
    auto ports
        = row->getAllocatedResources().getShared().initPorts(static_cast<unsigned>(values.size()));
    unsigned at = 0;
    for (const auto value : values) {
      ports[at].setHostIp("10.0.0.1");
      ports[at++].setValue(value);
    }
    placed.row = row.freeze();
    return reason(changed);
  };
  CHECK(with_ports({8080, 8081}).empty());
  CHECK(with_ports({0}).empty());
  CHECK(with_ports({65'535}).empty());
  CHECK(with_ports({-1}) == "reserved port collision: port -1 already in use");
  CHECK(with_ports({65'536}) == "reserved port collision: port 65536 already in use");
  CHECK(with_ports({8080, 8080}) == "reserved port collision: port 8080 already in use");
}

TEST_CASE_FIXTURE(CheckHarness, "a plan that is not written makes no index, and no completion") {
  add_node();
  const auto first = plan_of(register_job(named("one", 5)));
  const auto other = plan_of(register_job(named("two", 5)));
  const auto written = submit(first);
  CHECK(written.made_progress);
  CHECK(written.alloc_index == next_index);
  CHECK(written.refresh_index == 0);
  const VerifiedPlan rejected{&other, check_plan(other, state(), "global")};
  const auto result = make_plan_result(rejected, 99);
  CHECK(result.alloc_index == 0);
  CHECK(result.refresh_index == 99);
  CHECK_FALSE(result.completion_written);
}

TEST_CASE_FIXTURE(CheckHarness, "a row that was collected meanwhile can't be updated") {
  add_node();
  process(register_job(make_job(1)));
  auto in_place = plan_of(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(second);
  })));
  const auto row = live().at(0);
  in_place.snapshot_index = row->alloc->alloc_modify_index();
  CHECK(reason(in_place).empty());  // it saw this very change
  apply([&](schema::Command::Builder command) {
    command.initReap().initAllocationIds(1).set(0, text(row->alloc->id()));
  });
  CHECK(reason(in_place) == "alloc to update is not there any more");
}

TEST_CASE_FIXTURE(CheckHarness, "what a plan stops makes room for what it places") {
  add_node();
  process(register_job(make_job(8)));  // the node is full
  const auto replacing = plan_of(register_job(make_job(
      8, [](schema::Job::Builder job) { job.getTaskGroups()[0].getTasks()[0].setConfig("{}"); })));
  CHECK(replacing.placement_count() == 8);
  CHECK(reason(replacing).empty());
}

TEST_CASE_FIXTURE(CheckHarness, "a change of deployments is written though every node is refused") {
  add_node();
  const auto first = plan_of(register_job(named("one", 5)));
  auto other = plan_of(register_job(named("two", 5)));
  submit(first);
  CHECK(check_plan(other, state(), "global").accepts_nothing);
  other.deployment_changes.push_back({"d", schema::DeploymentState::CANCELLED, ""});
  CHECK_FALSE(check_plan(other, state(), "global").accepts_nothing);
  other.all_at_once = true;
  CHECK(check_plan(other, state(), "global").accepts_nothing);
}

TEST_CASE_FIXTURE(CheckHarness,
                  "preempted allocations count as gone, once, and end with the plan") {
  const auto node = add_node();
  process(register_job(named("low", 1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(1000);
  })));
  process(register_job(named("other", 5)));
  auto plan = plan_of(register_job(named("high", 1)));
  const auto place
      = [&](std::int64_t cpu) { plan.nodes.at(node).placements.at(0).demand.cpu_mhz = cpu; };
  const auto low = live("low").at(0);
  place(1500);
  CHECK(reason(plan) == "cpu");
  plan.nodes.at(node).preemptions.push_back(
      {low, schema::DesiredStatus::EVICT, {}, {}, {}, "winner"});
  CHECK(reason(plan).empty());
  place(1501);
  CHECK(reason(plan) == "cpu");
  plan.nodes.at(node).preemptions.push_back(plan.nodes.at(node).preemptions.at(0));
  plan.nodes.at(node).stops.push_back({low, schema::DesiredStatus::STOP, {}, {}, {}, {}});
  CHECK(reason(plan) == "cpu");
  plan.nodes.at(node).preemptions.pop_back();
  plan.nodes.at(node).stops.pop_back();
  place(500);
  SUBCASE("it ends") {
    CHECK(submit(plan).is_full());
    CHECK(allocs("low").at(0)->alloc->desired_status() == schema::DesiredStatus::EVICT);
  }
  SUBCASE("it has ended meanwhile, and stays as it is") {
    report(low, schema::ClientStatus::COMPLETE);
    CHECK(submit(plan).is_full());
    CHECK(allocs("low").at(0)->alloc->desired_status() == schema::DesiredStatus::RUN);
  }
}

TEST_CASE_FIXTURE(CheckHarness, "two plans for the same bandwidth: the second is rejected") {
  add_node([](schema::Node::Builder node) {
    auto network = node.getNodeResources().initNetworks(1)[0];
    network.setDevice("eth0");
    network.setIp("10.0.0.1");
    network.setMBits(1000);
  });
  const auto asking = [this](const char* id, int mbits) {
    return named(id, 1, [mbits](schema::Job::Builder job) {
      job.getTaskGroups()[0].getTasks()[0].getResources().initNetworks(1)[0].setMBits(mbits);
    });
  };
  const auto first = plan_of(register_job(asking("one", 600)));
  const auto second = plan_of(register_job(asking("two", 600)));
  const auto third = plan_of(register_job(asking("three", 400)));
  CHECK(submit(first).is_full());
  CHECK(reason(second) == "bandwidth exceeded");
  CHECK(reason(third).empty());
}

TEST_CASE_FIXTURE(CheckHarness,
                  "what an earlier part of the plan has told to end is out of the way") {
  add_node();
  process(register_job(named("one", 5)));
  const auto plan = plan_of(register_job(named("one", 5, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"1s"})");
  })));
  REQUIRE(plan.nodes.size() == 1);
  auto second = plan;
  auto& changes = second.nodes.begin()->second;
  REQUIRE(changes.stops.size() == 5);
  for (auto& stop : changes.stops)
    changes.ended_before.push_back(stop.alloc);
  auto first = plan;
  first.nodes.begin()->second.placements.clear();
  first.completion = {};
  submit(first);
  changes.stops.clear();
  CHECK(reason(second).empty());
  changes.ended_before.clear();
  CHECK(reason(second) == "cpu");
}
