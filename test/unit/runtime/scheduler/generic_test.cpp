// The scheduler of service and batch jobs on a real state store.
#include <algorithm>
#include <ranges>
#include <set>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

TEST_CASE_FIXTURE(Harness, "a new job is placed, and a second evaluation changes nothing") {
  add_node();
  add_node();
  const auto eval = process(register_job(make_job(5)));
  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(plans.size() == 1);
  auto placed = live();
  REQUIRE(placed.size() == 5);
  std::set<std::string> names;
  for (const auto& row : placed) {
    names.insert(std::string{row->alloc->name()});
    CHECK(row->demand.cpu_mhz == 500);
    CHECK(row->demand.memory_mb == 256);
    CHECK(row->demand.disk_mb == 100);
    CHECK(row->metric);
    CHECK(row->alloc->eval_id() == view(eval->getId()));
  }
  CHECK(names
        == std::set<std::string>{"web.api[0]", "web.api[1]", "web.api[2]", "web.api[3]",
                                 "web.api[4]"});
  report_all_running();
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  CHECK(live().size() == 5);
  CHECK(last_updates.at("api").ignore == 5);
}

TEST_CASE_FIXTURE(Harness, "a job that is stopped while it waits for room has nothing queued") {
  const auto waiting = process(register_job(make_job(2)));
  REQUIRE(waiting->getQueuedAllocations().size() == 1);
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });

  const auto stopped = process(evaluate(EvalTrigger::JOB_DEREGISTER));

  REQUIRE(stopped->getQueuedAllocations().size() == 1);
  CHECK(stopped->getQueuedAllocations()[0].getValue() == 0);
}

TEST_CASE_FIXTURE(Harness, "what finds no room waits in a blocked evaluation") {
  add_node();
  const auto eval = process(register_job(make_job(10)));  // 8 fit by cpu
  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(live().size() == 8);
  REQUIRE(eval->getFailedTgAllocs().size() == 1);
  const auto metric = eval->getFailedTgAllocs()[0].getValue();
  CHECK(metric.getNodesExhausted() == 1);
  CHECK(metric.getCoalescedFailures() == 1);
  REQUIRE(metric.getDimensionExhausted().size() == 1);
  CHECK(view(metric.getDimensionExhausted()[0].getKey()) == "cpu");
  CHECK(eval->getQueuedAllocations()[0].getValue() == 2);
  const auto blocked = state().eval(view(eval->getBlockedEval()));
  REQUIRE(blocked);
  CHECK(blocked->getStatus() == EvalStatus::BLOCKED);
  CHECK(blocked->getTriggeredBy() == EvalTrigger::QUEUED_ALLOCS);
  CHECK(blocked->getClassEligibility().size() == 1);
  CHECK(blocked->getClassEligibility()[0].getValue());

  // Still no room: blocked again, with the reasons that it had at first. Then room comes.
  add_node([](schema::Node::Builder node) { node.getNodeResources().getCpu().setCpuShares(100); });
  const auto tried = process(blocked);
  CHECK(tried->getStatus() == EvalStatus::BLOCKED);
  CHECK(tried->getFailedTgAllocs()[0].getValue().getNodesExhausted() == 1);
  add_node();
  CHECK(process(state().eval(view(blocked->getId())))->getStatus() == EvalStatus::COMPLETE);
  CHECK(live().size() == 10);
}

TEST_CASE_FIXTURE(Harness, "scaling down stops the highest names, stopping the job stops all") {
  add_node();
  process(register_job(make_job(5)));
  report_all_running();
  process(register_job(make_job(2)));
  auto left = live();
  REQUIRE(left.size() == 2);
  std::set<std::string> names;
  for (const auto& row : left)
    names.insert(std::string{row->alloc->name()});
  CHECK(names == std::set<std::string>{"web.api[0]", "web.api[1]"});
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });
  process(evaluate(EvalTrigger::JOB_DEREGISTER));
  CHECK(live().empty());
  for (const auto& row : allocs())
    CHECK(row->server_terminal);
}

/// Takes the job "web" out of the state; the id of the evaluation that follows from it.
static std::string purge(Harness& harness, const Object<schema::Job>& job) {
  const auto id = make_uuid(harness.random);
  harness.apply([&](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
    stop.setPurge(true);
    harness.fill_eval(stop.initEvaluation(), *job, id, EvalTrigger::JOB_DEREGISTER);
  });
  return id;
}

TEST_CASE_FIXTURE(Harness, "a purged job's allocations are stopped") {
  add_node();
  const auto job = make_job(2);
  process(register_job(job));
  const auto id = purge(*this, job);
  CHECK_FALSE(state().job("default", "web"));
  CHECK(process(state().eval(id))->getStatus() == EvalStatus::COMPLETE);
  CHECK(live().empty());
}

TEST_CASE_FIXTURE(Harness, "what failed of a purged job takes no place of the next of its name") {
  add_node();
  const auto hopeless = [](schema::Job::Builder job) {
    auto policy = job.getTaskGroups()[0].initReschedulePolicy();
    policy.setAttempts(0);
    policy.setUnlimited(false);
  };
  const auto job = make_job(1, hopeless);
  process(register_job(job));
  report(live().at(0), schema::ClientStatus::FAILED);
  const auto id = purge(*this, job);
  process(state().eval(id));
  process(register_job(make_job(1, hopeless)));
  const auto incarnation = state().job("default", "web")->getCreateIndex();
  std::size_t placed = 0;
  for (const auto& row : allocs())
    placed += row->alloc->job_create_index() == incarnation ? 1 : 0;
  CHECK(placed == 1);
}

TEST_CASE_FIXTURE(Harness, "a job that is purged and back before it is looked at takes over") {
  add_node();
  const auto job = make_job(2);
  process(register_job(job));
  report_all_running();
  std::set<std::string> before;
  for (const auto& row : live())
    before.insert(std::string{row->alloc->id()});
  const auto id = purge(*this, job);
  bool keeps = true;
  SUBCASE("the same job keeps its allocations, as its own") {
    register_job(make_job(2));
  }
  SUBCASE("another one replaces them") {
    keeps = false;
    register_job(make_job(2, [](schema::Job::Builder other) {
      other.getTaskGroups()[0].getTasks()[0].setUser("somebody");
    }));
  }
  CHECK(process(state().eval(id))->getStatus() == EvalStatus::COMPLETE);
  const auto incarnation = state().job("default", "web")->getCreateIndex();
  CHECK(live().size() == 2);
  for (const auto& row : live()) {
    CHECK(row->alloc->job_create_index() == incarnation);
    CHECK(before.contains(std::string{row->alloc->id()}) == keeps);
  }
}

TEST_CASE_FIXTURE(Harness, "a failed allocation is replaced after its delay") {
  add_node();
  process(register_job(make_job(1)));
  const auto first = live().at(0);
  report(first, ClientStatus::FAILED);
  now += 2 * second;
  const auto eval = process(evaluate(EvalTrigger::ALLOC_FAILURE));
  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(allocs().size() == 1);
  const auto marked = state().alloc(first->alloc->id());
  const auto followup = state().eval(marked->alloc->followup_eval_id());
  REQUIRE(followup);
  CHECK(followup->getWaitUntil() == now - 2 * second + 30 * second);
  CHECK(view(followup->getStatusDescription()) == "created for delayed rescheduling");

  now += 28 * second;
  process(followup);
  REQUIRE(live().size() == 1);
  const auto second_alloc = live()[0];
  CHECK(second_alloc->alloc->previous() == first->alloc->id());
  CHECK(second_alloc->alloc->reschedule_events().size() == 1);
  CHECK(second_alloc->alloc->reschedule_events()[0].getDelay() == 30 * second);
  const auto replaced = state().alloc(first->alloc->id());
  CHECK(replaced->alloc->next() == second_alloc->alloc->id());
  CHECK(replaced->server_terminal);

  // The next failure waits twice as long.
  report(second_alloc, ClientStatus::FAILED);
  process(evaluate(EvalTrigger::ALLOC_FAILURE));
  const auto again = state().alloc(second_alloc->alloc->id());
  CHECK(state().eval(again->alloc->followup_eval_id())->getWaitUntil() == now + 60 * second);
}

TEST_CASE_FIXTURE(Harness, "allocations of a dead node are lost and replaced") {
  const auto bad = add_node();
  process(register_job(make_job(3)));
  report_all_running();
  add_node();
  set_status(bad, schema::NodeStatus::DOWN);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  std::size_t lost = 0;
  for (const auto& row : allocs()) {
    if (row->alloc->client_status() != ClientStatus::LOST) continue;
    ++lost;
    CHECK(row->alloc->desired_description() == "alloc is lost since its node is down");
  }
  CHECK(lost == 3);
  CHECK(live().size() == 3);
  for (const auto& row : live())
    CHECK(row->alloc->node_id() != bad);
}

TEST_CASE_FIXTURE(Harness, "an in-place change keeps allocations, another one replaces them") {
  add_node();
  process(register_job(make_job(2)));
  report_all_running();
  const auto before = live();
  process(register_job(make_job(2, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(9 * second);
  })));
  CHECK(last_updates.at("api").in_place_update == 2);
  auto after = live();
  REQUIRE(after.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(after[i]->alloc->id() == before[i]->alloc->id());
    CHECK(after[i]->alloc->job_version() == 1);
    CHECK(after[i]->alloc->client_status() == ClientStatus::RUNNING);
  }
  process(register_job(make_job(2, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"20s"})");
  })));
  CHECK(last_updates.at("api").destructive_update == 2);
  after = live();
  REQUIRE(after.size() == 2);
  for (const auto& row : after) {
    CHECK(row->alloc->job_version() == 2);
    CHECK(!row->alloc->previous().empty());
  }
}

TEST_CASE_FIXTURE(Harness, "an in-place change leaves a task the cores that it was given") {
  add_node([](schema::Node::Builder node) {
    auto cpu = node.getNodeResources().getCpu();
    cpu.setTotalCpuCores(4);
    auto cores = cpu.initReservableCpuCores(4);
    for (unsigned core = 0; core < 4; ++core)
      cores.set(core, static_cast<std::uint16_t>(core));
  });
  const auto version = [this](std::int64_t count, std::int64_t kill_timeout) {
    return make_job(count, [kill_timeout](schema::Job::Builder job) {
      auto task = job.getTaskGroups()[0].getTasks()[0];
      task.getResources().setCores(1);
      task.setKillTimeout(kill_timeout);
    });
  };
  const auto cores = [this] {
    std::map<std::string, std::uint16_t> given;
    for (const auto& row : live())
      given.emplace(
          std::string{row->alloc->id()},
          row->alloc->resources().getTasks()[0].getValue().getCpu().getReservedCores()[0]);
    return given;
  };
  process(register_job(version(3, 5 * second)));
  report_all_running();
  report(live().at(0), ClientStatus::COMPLETE);  // the lowest core is free again
  const auto before = cores();
  REQUIRE(before.size() == 2);

  process(register_job(version(2, 9 * second)));

  CHECK(last_updates.at("api").in_place_update == 2);
  CHECK(cores() == before);
}

namespace {

/// How often the plan writes each allocation, most often.
std::size_t most_writes(const Plan& plan) {
  std::map<std::string, std::size_t> writes;
  std::size_t most = 0;
  for (const auto& [node, changes] : plan.nodes) {
    for (const auto& stop : changes.stops)
      most = std::max(most, ++writes[std::string{stop.alloc->alloc->id()}]);
    for (const auto& placed : changes.placements)
      most = std::max(most, ++writes[std::string{placed.row->id()}]);
  }
  return most;
}

}  // namespace

TEST_CASE_FIXTURE(Harness, "one that waits to be rescheduled and is replaced is just stopped") {
  add_node();
  process(register_job(make_job(1)));
  const auto failed = live().at(0);
  report(failed, ClientStatus::FAILED);

  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"20s"})");
  })));

  REQUIRE(plans.size() == 1);
  CHECK(most_writes(plans[0]) == 1);
  CHECK(state().alloc(failed->alloc->id())->server_terminal);
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(Harness, "one whose client is away takes an update over and becomes unknown") {
  const auto node = add_node();
  const auto version = [this](std::int64_t kill_timeout) {
    return make_job(1, [kill_timeout](schema::Job::Builder job) {
      auto group = job.getTaskGroups()[0];
      group.getMaxClientDisconnect().setValue(600 * second);
      group.getTasks()[0].setKillTimeout(kill_timeout);
    });
  };
  process(register_job(version(5 * second)));
  report_all_running();
  const auto id = std::string{live().at(0)->alloc->id()};
  set_status(node, schema::NodeStatus::DISCONNECTED);

  process(register_job(version(9 * second)));

  REQUIRE_FALSE(plans.empty());
  CHECK(most_writes(plans[0]) == 1);
  CHECK(state().alloc(id)->alloc->job_version() == 1);
  CHECK(state().alloc(id)->alloc->client_status() == ClientStatus::UNKNOWN);
}

namespace {

void add_update(schema::Job::Builder job, std::int64_t parallel, std::int64_t canary = 0) {
  auto update = job.getTaskGroups()[0].initUpdate();
  update.setMaxParallel(parallel);
  update.setCanary(canary);
  update.setHealthCheck("task_states");
  update.setProgressDeadline(600 * second);
}

}  // namespace

TEST_CASE_FIXTURE(Harness, "an evaluation names the job's newest deployment, also an ended one") {
  add_node();
  const auto first
      = process(register_job(make_job(1, [](schema::Job::Builder job) { add_update(job, 1); })));
  const auto deployment = state().latest_deployment("default", "web");
  REQUIRE(deployment);
  CHECK(view(first->getDeploymentId()) == view(deployment->getId()));
  CHECK(first->getSnapshotIndex() >= first->getCreateIndex());
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  REQUIRE(state().latest_deployment("default", "web")->getStatus()
          == schema::DeploymentState::SUCCESSFUL);

  const auto later = process(evaluate(EvalTrigger::JOB_REGISTER));

  CHECK(view(later->getDeploymentId()) == view(deployment->getId()));
}

TEST_CASE_FIXTURE(Harness, "a rolling update goes on as allocations become healthy") {
  add_node();
  const auto with_update = [](std::int64_t run_for) {
    return [run_for](schema::Job::Builder job) {
      add_update(job, 1);
      job.getTaskGroups()[0].getTasks()[0].setConfig(
          text("{\"run_for\":" + std::to_string(run_for) + "}"));
    };
  };
  process(register_job(make_job(3, with_update(1))));
  auto deployment = state().latest_deployment("default", "web");
  REQUIRE(deployment);
  CHECK(deployment->getStatus() == schema::DeploymentState::RUNNING);
  CHECK(deployment->getTaskGroups()[0].getValue().getDesiredTotal() == 3);
  CHECK(deployment->getTaskGroups()[0].getValue().getPlacedAllocs() == 3);
  for (const auto& row : live())
    CHECK(row->alloc->deployment_id() == view(deployment->getId()));
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  deployment = state().latest_deployment("default", "web");
  CHECK(deployment->getStatus() == schema::DeploymentState::SUCCESSFUL);

  process(register_job(make_job(3, with_update(2))));
  for (int replaced = 1; replaced <= 3; ++replaced) {
    std::size_t newer = 0;
    for (const auto& row : live())
      newer += row->alloc->job_version() == 1 ? 1 : 0;
    CHECK(newer == static_cast<std::size_t>(replaced));
    process(evaluate(EvalTrigger::NODE_UPDATE));  // nothing is healthy yet: nothing moves
    CHECK(plans.empty());
    for (const auto& row : live())
      if (row->alloc->job_version() == 1) report(row, ClientStatus::RUNNING, true);
    process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  }
  CHECK(state().latest_deployment("default", "web")->getStatus()
        == schema::DeploymentState::SUCCESSFUL);
  CHECK(live().size() == 3);
}

TEST_CASE_FIXTURE(Harness, "a newer version cancels the deployment of the older one") {
  add_node();
  const auto job = [this](const char* config) {
    return make_job(1, [config](schema::Job::Builder job) {
      add_update(job, 1);
      job.getTaskGroups()[0].getTasks()[0].setConfig(config);
    });
  };
  process(register_job(job("{}")));
  const auto first = copy(state().latest_deployment("default", "web")->getId());
  process(register_job(job("{\"a\":1}")));
  CHECK(state().deployment(first)->getStatus() == schema::DeploymentState::CANCELLED);
  CHECK(view(state().latest_deployment("default", "web")->getId()) != first);
}

TEST_CASE_FIXTURE(Harness, "canaries are placed beside the old version until promoted") {
  add_node();
  const auto job = [this](const char* config) {
    return make_job(3, [config](schema::Job::Builder job) {
      add_update(job, 3, 1);
      job.getTaskGroups()[0].getTasks()[0].setConfig(config);
    });
  };
  process(register_job(job("{}")));
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  process(register_job(job("{\"a\":1}")));
  CHECK(live().size() == 4);
  CHECK(last_updates.at("api").canary == 1);
  const auto deployment = state().latest_deployment("default", "web");
  CHECK(deployment->getTaskGroups()[0].getValue().getDesiredCanaries() == 1);
  CHECK(view(deployment->getStatusDescription())
        == "Deployment is running but requires manual promotion");
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  for (const auto& row : live())
    if (row->alloc->job_version() == 1) report(row, ClientStatus::RUNNING, true);
  apply([&](schema::Command::Builder command) {
    auto promotion = command.initDeploymentPromotion();
    promotion.setDeploymentId(deployment->getId());
    promotion.setAll(true);
  });
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  auto rows = live();
  CHECK(rows.size() == 3);
  for (const auto& row : rows)
    CHECK(row->alloc->job_version() == 1);
}

TEST_CASE_FIXTURE(Harness, "a finished batch allocation is not run again, a failed one once") {
  add_node();
  const auto batch = [](schema::Job::Builder job) {
    job.setType("batch");
    auto policy = job.getTaskGroups()[0].initReschedulePolicy();
    policy.setAttempts(1);
    policy.setInterval(24 * 3600 * second);
    policy.setDelay(second);
    policy.setDelayFunction("constant");
  };
  process(register_job(make_job(2, batch)));
  const auto placed = live();
  REQUIRE(placed.size() == 2);
  report(placed[0], ClientStatus::COMPLETE);
  report(placed[1], ClientStatus::FAILED);
  process(evaluate(EvalTrigger::ALLOC_FAILURE));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->previous() == placed[1]->alloc->id());
  report(live()[0], ClientStatus::FAILED);
  process(evaluate(EvalTrigger::ALLOC_FAILURE));
  CHECK(live().empty());
  CHECK(allocs().size() == 3);
}

TEST_CASE_FIXTURE(Harness, "batch work that a drain cut short begins anew where there is room") {
  const auto node = add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.setType("batch");
    auto policy = job.getTaskGroups()[0].initReschedulePolicy();
    policy.setAttempts(1);
    policy.setInterval(24 * 3600 * second);
    policy.setDelay(second);
    policy.setDelayFunction("constant");
  })));
  report_all_running();
  const auto first = live().at(0);
  apply([&](schema::Command::Builder command) {
    auto drain = command.initNodeDrainUpdate();
    drain.setNodeId(text(node));
    drain.initDrainStrategy();
  });
  apply([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(first->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  const auto eval = process(evaluate(EvalTrigger::NODE_DRAIN));
  CHECK(live().empty());
  REQUIRE(eval->getBlockedEval().size() > 0);

  SUBCASE("it was ended") {
    report_killed(first, {"Started", "Killing", "Terminated", "Killed"});
    const auto blocked = process(state().eval(view(eval->getBlockedEval())));
    CHECK(blocked->getStatus() == EvalStatus::BLOCKED);
    CHECK(view(state().job("default", "web")->getStatus()) == "pending");
    add_node();
    process(blocked);
    REQUIRE(live().size() == 1);
    CHECK(live()[0]->alloc->reschedule_events().size() == 0);
    report(live()[0], ClientStatus::COMPLETE);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
  }
  SUBCASE("it was done just then") {
    report_killed(first, {"Started", "Terminated", "Killing"});
    add_node();
    process(state().eval(view(eval->getBlockedEval())));
    CHECK(plans.empty());
  }
}

TEST_CASE_FIXTURE(Harness, "alloc stop moves the allocation") {
  add_node();
  process(register_job(make_job(1)));
  report_all_running();
  const auto first = live().at(0);
  apply([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(first->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  process(evaluate(EvalTrigger::ALLOC_STOP));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->previous() == first->alloc->id());
  const auto old = state().alloc(first->alloc->id());
  CHECK(old->alloc->desired_description() == "alloc is being migrated");
}
