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

namespace {

struct CustomFixture : SchedulingFixture {
  std::shared_ptr<JobTypes> types = std::make_shared<JobTypes>();
  std::vector<std::string> asked;  ///< Ids of evaluations.
  std::optional<Error> error;      ///< What the plugin says to all of them.
  bool is_silent = false;
  std::string node;  ///< Where it places.

  CustomFixture() {
    node = add_node();
    SchedulerWorkerOptions options;
    options.job_types = types;
    options.detached = false;
    adopt(spawn_scheduler_worker(system(), store, proposer, broker, applier, options));
  }

  void load_plugin() {
    using Promise = actor::Promise<decider::Decided>;
    const auto decider = adopt(actor::spawn(
        system(),
        [this, open = std::make_shared<std::vector<Promise>>()](
            Decider::pointer self) -> Decider::behavior_type {
          return {
              [this, self, open](const decider::Decide& msg) -> actor::Answer<decider::Decided> {
                asked.push_back(copy(msg.question->getEvalId()));
                if (error) return *error;
                if (is_silent) {
                  open->push_back(self->make_response_promise<decider::Decided>());
                  return open->back();
                }
                Draft<schema::plugin::Decision> draft;
                const auto missing = msg.question->getJob().getTaskGroups()[0].getCount()
                                     - msg.question->getAllocs().size();
                auto placements = draft->initPlacements(static_cast<unsigned>(missing));
                for (auto placement : placements) {
                  placement.setGroup("api");
                  placement.setNodeId(text(node));
                }
                return decider::Decided{draft.freeze()};
              }};
        }));
    REQUIRE(types->enter("custom", {.plugin = "p", .decider = decider}));
  }

  std::string register_custom(std::int64_t count) {
    Draft<schema::Job> job{make_job("own", count)};
    job->setType("custom");
    const auto id = make_uuid(random);
    write([&](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      entry.setJob(job.reader());
      fill_eval(entry.initEvaluation(), id, "own");
      entry.getEvaluation().setType("custom");
    });
    return id;
  }

  std::string description(const std::string& eval) {
    return copy(state().eval(eval)->getStatusDescription());
  }

  /// Until it was refused often enough.
  void refuse_thrice() {
    for (const auto delay : {1s, 20s, 1s}) {
      advance(delay + 10ms);
      commit();
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(CustomFixture, "a plugin decides for jobs of its type, and its plan is written") {
  load_plugin();
  const auto id = register_custom(2);
  CHECK(eval_status(id) == schema::EvalStatus::COMPLETE);
  CHECK(asked == std::vector<std::string>{id});
  CHECK(live("own").size() == 2);
}

TEST_CASE_FIXTURE(CustomFixture,
                  "a plugin that is away: its evaluations fail with the reason, and others go on") {
  load_plugin();
  error = Error{Errc::unavailable, "its process ended"};
  const auto id = register_custom(2);
  CHECK(eval_status(id) == schema::EvalStatus::PENDING);
  CHECK(eval_status(register_job(make_job("web", 1))) == schema::EvalStatus::COMPLETE);
  refuse_thrice();
  CHECK(asked.size() == 3);
  CHECK(eval_status(id) == schema::EvalStatus::FAILED);
  CHECK(description(id) == "evaluation reached delivery limit (3): plugin p: its process ended");

  error.reset();  // it is back, and the follow-up finds it
  advance(400s);
  commit();
  CHECK(live("own").size() == 2);
}

TEST_CASE_FIXTURE(CustomFixture,
                  "a plugin that does not answer, or answers nonsense, costs its job") {
  load_plugin();
  is_silent = true;
  const auto id = register_custom(1);
  for (int tries = 0; tries < 3; ++tries) {
    advance(31s);
    commit();
    advance(21s);
    commit();
  }
  CHECK(eval_status(id) == schema::EvalStatus::FAILED);
  CHECK(description(id).find("plugin p") != std::string::npos);

  is_silent = false;
  node = "elsewhere";
  advance(400s);
  commit();
  refuse_thrice();
  const auto follow_up = copy(state().eval(id)->getNextEval());
  CHECK(description(follow_up).find("it places on a node \"elsewhere\"") != std::string::npos);
}

TEST_CASE_FIXTURE(CustomFixture, "a job of a type that no plugin has says so") {
  const auto id = register_custom(1);
  refuse_thrice();
  CHECK(description(id)
        == "evaluation reached delivery limit (3): no plugin of this server schedules jobs of type "
           "\"custom\"");
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
      if (row->alloc->job_version() != version) continue;
      if (row->alloc->health().has_value()) continue;
      write([&](schema::Command::Builder command) {
        auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
        alloc.setId(text(row->alloc->id()));
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
    CHECK(row->alloc->job_version() == 1);
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
      alloc.setId(text(live("web").at(number)->alloc->id()));
      alloc.setClientStatus(schema::ClientStatus::RUNNING);
      auto health = alloc.initDeploymentStatus();
      health.getHealthy().setValue(false);
      health.setTimestamp(1);
    });
    commit();
  };
  const auto marked = [&] {
    return std::ranges::count_if(live("web"), [](const auto& row) {
      const auto mark = row->alloc->transition().getReschedule();
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
  const auto metrics = telemetry::ServerMetrics::make(registry);
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
