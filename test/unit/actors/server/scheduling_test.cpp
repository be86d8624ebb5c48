// Worker, plan applier and broker together: from a registered job to its allocations.
#include <algorithm>

#include "actors/core/actor_registry.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/deployment_watchers.hpp"
#include "actors/server/periodic_dispatcher.hpp"
#include "scheduling_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;
using plan_applier::PlanApplied;
using plan_applier::SubmitPlan;

TEST_CASE_FIXTURE(SchedulingFixture, "a registered job is placed and its evaluation completes") {
  add_node();
  start_worker();
  const auto before = entries;
  const auto id = register_job(make_job("web", 3));
  CHECK(eval_status(id) == schema::EvalStatus::COMPLETE);
  CHECK(live("web").size() == 3);
  CHECK(entries == before + 2);  // the registration; the plan, which completes the evaluation
}

TEST_CASE_FIXTURE(SchedulingFixture, "many jobs are under way at once and share the room") {
  add_node();
  std::vector<std::string> evals;
  for (int i = 0; i < 12; ++i)
    evals.push_back(register_job(make_job("job-" + std::to_string(i), 1)));
  start_worker();  // 8 of them fit
  std::size_t placed = 0;
  std::size_t blocked = 0;
  for (int i = 0; i < 12; ++i)
    placed += live("job-" + std::to_string(i)).size();
  for (const auto& id : evals) {
    CHECK(eval_status(id) == schema::EvalStatus::COMPLETE);
    blocked += state().eval(id)->getBlockedEval().size() > 0 ? 1 : 0;
  }
  CHECK(placed == 8);
  CHECK(blocked == 4);
  add_node();
  placed = 0;
  for (int i = 0; i < 12; ++i)
    placed += live("job-" + std::to_string(i)).size();
  CHECK(placed == 12);
}

TEST_CASE_FIXTURE(SchedulingFixture, "a lost leader's work is done by the next one") {
  add_node();
  SchedulerWorkerOptions options;
  options.detached = false;
  adopt(spawn_scheduler_worker(system(), store, proposer, broker, applier, options));
  settle();
  const auto id = make_uuid(random);
  Draft<schema::Command> draft;
  auto entry = draft->initJobRegister();
  entry.setJob(*make_job("web", 2));
  fill_eval(entry.initEvaluation(), id, "web");
  proposer.propose(raft::payload_of(draft.freeze()), [](Result<raft::Applied>) {});
  commit_once();
  settle();
  CHECK(refuse() == 1);  // the plan
  tell(broker, Lead{false});
  tell(broker, Lead{true});
  advance(2s);
  commit();
  CHECK(eval_status(id) == schema::EvalStatus::COMPLETE);
  CHECK(live("web").size() == 2);
}

TEST_CASE_FIXTURE(SchedulingFixture,
                  "an evaluation delivered again has nothing to do with before") {
  add_node();
  SchedulerWorkerOptions options;
  options.detached = false;
  const auto worker
      = adopt(spawn_scheduler_worker(system(), store, proposer, broker, applier, options));
  settle();
  const auto id = make_uuid(random);
  Draft<schema::Command> draft;
  auto entry = draft->initJobRegister();
  entry.setJob(*make_job("web", 2));
  fill_eval(entry.initEvaluation(), id, "web");
  proposer.propose(raft::payload_of(draft.freeze()), [](Result<raft::Applied>) {});
  commit_once();
  settle();
  auto lost = log->take();  // the first plan: what comes of it is heard later
  CHECK(lost.size() == 1);
  tell(broker, Lead{false});
  tell(broker, Lead{true});
  advance(300ms);  // the worker asks again, and has the same evaluation twice
  for (auto& proposal : lost)
    proposal.callback(no_leader());
  settle();
  commit();
  CHECK(eval_status(id) == schema::EvalStatus::COMPLETE);
  CHECK(live("web").size() == 2);
  const auto stats = ask<SchedulerWorkerStats>(worker, GetSchedulerWorkerStats{});
  REQUIRE((stats->has_value() && (*stats)->has_value()));
  CHECK((**stats)->started == 2);
  CHECK((**stats)->failed == 1);
}

TEST_CASE_FIXTURE(SchedulingFixture, "a plan is verified against those that are being written") {
  add_node();
  const auto first = plan_of(register_job(make_job("one", 5)));
  const auto second = plan_of(register_job(make_job("two", 5)));
  const auto third = plan_of(register_job(make_job("three", 3)));
  const auto first_answer = ask<PlanApplied>(applier, SubmitPlan{first});
  const auto second_answer = ask<PlanApplied>(applier, SubmitPlan{second});
  const auto third_answer = ask<PlanApplied>(applier, SubmitPlan{third});
  CHECK_FALSE(first_answer->has_value());
  CHECK_FALSE(second_answer->has_value());  // it may fit yet, and on this state nothing else does
  CHECK_FALSE(third_answer->has_value());
  commit();
  REQUIRE(first_answer->has_value());
  REQUIRE(second_answer->has_value());
  CHECK((**second_answer)->result.rejected_nodes.size() == 1);
  CHECK((**first_answer)->result.is_full());
  CHECK((**third_answer)->result.is_full());
  CHECK(live("one").size() == 5);
  CHECK(live("two").empty());
  CHECK(live("three").size() == 3);
}

TEST_CASE_FIXTURE(SchedulingFixture,
                  "what was not written leaves no trace in later verifications") {
  add_node();
  const auto first = plan_of(register_job(make_job("one", 5)));
  const auto second = plan_of(register_job(make_job("two", 5)));
  const auto lost = ask<PlanApplied>(applier, SubmitPlan{first});
  refuse();
  REQUIRE(lost->has_value());
  CHECK((*lost)->error().code == Errc::no_leader);
  const auto answer = ask<PlanApplied>(applier, SubmitPlan{second});
  commit();
  REQUIRE(answer->has_value());
  CHECK((**answer)->result.is_full());
}

TEST_CASE_FIXTURE(SchedulingFixture,
                  "a deployment goes on by itself as its allocations get healthy") {
  add_node();
  start_worker();
  auto watcher = adopt(spawn_deployment_watchers(system(), store, proposer, {}));
  tell(watcher, Lead{true});
  const auto job = [](const char* config) {
    Draft<schema::Job> draft{make_job("web", 3)};
    auto group = draft->getTaskGroups()[0];
    auto update = group.initUpdate();
    update.setMaxParallel(1);
    update.setProgressDeadline(600'000'000'000);
    group.getTasks()[0].setConfig(config);
    return draft.freeze();
  };
  const auto report_healthy = [&](std::uint64_t version) {
    for (const auto& row : live("web")) {
      if (row->alloc->getJobVersion() != version) continue;
      if (row->alloc->getDeploymentStatus().getHealthy().isValue()) continue;
      write([&](schema::Command::Builder command) {
        auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
        alloc.setId(row->alloc->getId());
        alloc.setClientStatus(schema::ClientStatus::RUNNING);
        auto health = alloc.initDeploymentStatus();
        health.getHealthy().setValue(true);
        health.setTimestamp(1);
      });
    }
    advance(1s);
    commit();
  };
  register_job(job("{}"));
  report_healthy(0);
  advance(1s);
  commit();
  CHECK(state().latest_deployment("default", "web")->getStatus()
        == schema::DeploymentState::SUCCESSFUL);
  register_job(job("{\"v\":2}"));
  for (int step = 0; step < 4; ++step)
    report_healthy(1);
  CHECK(state().latest_deployment("default", "web")->getStatus()
        == schema::DeploymentState::SUCCESSFUL);
  REQUIRE(live("web").size() == 3);
  for (const auto& row : live("web"))
    CHECK(row->alloc->getJobVersion() == 1);
}

TEST_CASE_FIXTURE(SchedulingFixture,
                  "unhealthy allocations of a deployment are replaced a second later") {
  add_node();
  start_worker();
  auto watcher = adopt(spawn_deployment_watchers(system(), store, proposer, {}));
  tell(watcher, Lead{true});
  Draft<schema::Job> draft{make_job("web", 2)};
  auto group = draft->getTaskGroups()[0];
  auto update = group.initUpdate();
  update.setMaxParallel(1);
  update.setProgressDeadline(600'000'000'000);
  auto policy = group.initReschedulePolicy();
  policy.setUnlimited(true);
  policy.setDelay(30'000'000'000);
  register_job(draft.freeze());
  const auto report_unhealthy = [&](std::size_t number) {
    write([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(live("web").at(number)->alloc->getId());
      alloc.setClientStatus(schema::ClientStatus::RUNNING);
      auto health = alloc.initDeploymentStatus();
      health.getHealthy().setValue(false);
      health.setTimestamp(1);
    });
    commit();
  };
  const auto marked = [&] {
    return std::ranges::count_if(live("web"), [](const auto& row) {
      const auto mark = row->alloc->getDesiredTransition().getReschedule();
      return mark.isValue() && mark.getValue();
    });
  };

  report_unhealthy(0);
  advance(500ms);
  report_unhealthy(1);
  commit();
  CHECK(marked() == 0);  // more may follow, or the deployment may end
  advance(1s);
  commit();
  CHECK(marked() == 2);
}

TEST_CASE_FIXTURE(SchedulingFixture,
                  "each active deployment has a watcher of its own, for as long as it is active") {
  const auto deploy = [&](const char* id, schema::DeploymentState status) {
    write([&](schema::Command::Builder command) {
      auto deployment = command.initPlanResults().initPlans(1)[0].initDeployment();
      deployment.setId(id);
      deployment.setNamespace("default");
      deployment.setJobId(id);
      deployment.setStatus(status);
    });
  };
  const auto fail = [&](const char* id) {
    write([&](schema::Command::Builder command) {
      auto update = command.initDeploymentStatusUpdate().initUpdate();
      update.setDeploymentId(id);
      update.setStatus(schema::DeploymentState::FAILED);
    });
  };
  const auto watching = [&] {
    advance(1s);
    commit();
    return std::ranges::count_if(actor::list_actors(system()), [](const auto& each) {
      return each.name == "deployment_watcher";
    });
  };
  deploy("ended", schema::DeploymentState::SUCCESSFUL);
  deploy("one", schema::DeploymentState::RUNNING);
  auto watchers = adopt(spawn_deployment_watchers(system(), store, proposer, {}));
  CHECK(watching() == 0);
  tell(watchers, Lead{true});
  CHECK(watching() == 1);

  deploy("two", schema::DeploymentState::PAUSED);
  CHECK(watching() == 2);
  fail("one");
  CHECK(watching() == 1);

  tell(watchers, Lead{false});
  CHECK(watching() == 0);
  tell(watchers, Lead{true});
  CHECK(watching() == 1);
}

TEST_CASE_FIXTURE(SchedulingFixture, "a periodic job is launched at its times") {
  auto time = std::make_shared<std::int64_t>(1'700'049'600'000'000'000);  // 12:00:00
  PeriodicDispatcherOptions options;
  options.wall_clock = [time] { return *time; };
  auto dispatcher = adopt(spawn_periodic_dispatcher(system(), store, proposer, options));
  tell(dispatcher, Lead{true});
  const auto pass = [&](std::chrono::seconds step) {
    for (auto left = step; left > 0s; left -= 1s) {
      *time += 1'000'000'000;
      advance(1s);
      commit();
    }
  };
  Draft<schema::Job> draft{make_job("minutely", 1)};
  draft->setType("batch");
  auto periodic = draft->initPeriodic();
  periodic.setEnabled(true);
  periodic.setSpec("* * * * *");
  write(
      [&](schema::Command::Builder command) { command.initJobRegister().setJob(draft.reader()); });
  pass(59s);
  CHECK_FALSE(state().job("default", "minutely/periodic-1700049660"));
  pass(2s);
  CHECK(state().job("default", "minutely/periodic-1700049660"));
  pass(60s);
  CHECK(state().job("default", "minutely/periodic-1700049720"));
  tell(dispatcher, Lead{false});
  pass(120s);
  CHECK_FALSE(state().job("default", "minutely/periodic-1700049780"));
  tell(dispatcher, Lead{true});  // one launch was missed, or two: one is made up for
  commit();
  std::size_t children = 0;
  const auto snapshot = state();
  for (const auto& entry : snapshot.jobs("default", "minutely/periodic-")) {
    CHECK(view(entry.value()->getParentId()) == "minutely");
    ++children;
  }
  CHECK(children == 3);
}

TEST_CASE_FIXTURE(SchedulingFixture,
                  "what workers and the applier do is measured by Nomad's names") {
  const auto registry = std::make_shared<telemetry::Registry>(telemetry::Options{});
  const auto metrics = telemetry::Meter::make(registry);
  const auto measured_applier
      = adopt(spawn_plan_applier(system(), store, proposer, 7, {.metrics = metrics}));
  SchedulerWorkerOptions options;
  options.metrics = metrics;
  options.detached = false;
  adopt(spawn_scheduler_worker(system(), store, proposer, broker, measured_applier, options));
  add_node();
  register_job(make_job("web", 20));  // 8 of them fit
  add_node();                         // and 8 more
  REQUIRE(live("web").size() == 16);

  const auto text = registry->prometheus(1);
  for (const auto* name :
       {"worker_dequeue_eval", "worker_wait_for_index", "worker_invoke_scheduler_service",
        "worker_submit_plan", "worker_create_eval", "worker_reblock_eval", "worker_send_ack",
        "eval_dequeue", "eval_create", "eval_reblock", "eval_ack", "plan_wait_for_index",
        "plan_evaluate", "plan_apply", "plan_submit"}) {
    CAPTURE(name);
    CHECK(text.find("nomad_nomad_" + std::string{name} + "_count") != std::string::npos);
  }
}
