// Deployments of system jobs: the scheduler, the watcher and what clients report, together.
#include "runtime/cluster/next_deployment_command.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/cluster/deployment_harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::DeploymentState;
using schema::EvalTrigger;
using schema::NodeStatus;

namespace {

struct SystemDeployment : DeploymentHarness {
  using EditUpdate = std::function<void(schema::UpdateStrategy::Builder)>;

  std::vector<std::string> nodes;

  void add_nodes(int count) {
    for (int i = 0; i < count; ++i)
      nodes.push_back(add_node());
  }

  /// A system job of the version `config`; its update block lets one node change at a time, and
  /// goes back from what fails.
  Object<schema::Job> everywhere(const char* config, const EditUpdate& edit = {}) {
    return make_job(1, [&](schema::Job::Builder job) {
      job.setType("system");
      auto group = job.getTaskGroups()[0];
      group.disownReschedulePolicy();
      group.getTasks()[0].setConfig(config);
      auto update = group.initUpdate();
      update.setMaxParallel(1);
      update.setAutoRevert(true);
      update.setProgressDeadline(600 * second);
      if (edit) edit(update);
    });
  }

  /// Registers it; the id of the deployment that is the job's newest then.
  std::string bring_out(const Object<schema::Job>& job) {
    process(register_job(job));
    const auto deployment = state().latest_deployment("default", "web");
    return deployment ? copy(deployment->getId()) : std::string{};
  }

  /// Everything that runs is healthy, and the watcher has looked.
  void all_healthy(const std::string& id) {
    for (const auto& row : live())
      if (!row->alloc->health()) report_health(row, true);
    if (const auto step = next(id); step.command) take(step);
  }

  /// A first version that runs everywhere and is known to work.
  void settle(const EditUpdate& edit = {}) {
    const auto id = bring_out(everywhere("{}", edit));
    all_healthy(id);
    REQUIRE(status(id) == DeploymentState::SUCCESSFUL);
  }

  std::size_t of_version(std::uint64_t version) {
    return static_cast<std::size_t>(std::ranges::count_if(
        live(), [=](const auto& row) { return row->alloc->job_version() == version; }));
  }

  schema::DeploymentGroup::Reader group_of(const std::string& id) {
    held = state().deployment(id);
    return held->getTaskGroups()[0].getValue();
  }

  state::AllocRef one_of(std::uint64_t version) {
    for (const auto& row : live())
      if (row->alloc->job_version() == version) return row;
    return {};
  }

  void promote(const std::string& id) {
    const auto decision = cluster::decide_promote(state(), anybody(), id, true, {}, {now, &random});
    REQUIRE(decision.has_value());
    write(decision->command);
  }

  Object<schema::Deployment> held;
};

}  // namespace

TEST_CASE_FIXTURE(SystemDeployment, "system deployment: the first one is on all nodes at once") {
  add_nodes(3);
  const auto id = bring_out(everywhere("{}"));
  CHECK(live().size() == 3);
  for (const auto& row : live())
    CHECK(row->alloc->deployment_id() == id);
  CHECK(status(id) == DeploymentState::RUNNING);
  CHECK(description(id) == "Deployment is running");
  CHECK(group_of(id).getDesiredTotal() == 3);
  CHECK(group_of(id).getPlacedAllocs() == 3);

  report_health(live()[0], true);
  take(next(id));
  CHECK(status(id) == DeploymentState::RUNNING);
  all_healthy(id);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
  CHECK(description(id) == "Deployment completed successfully");
  CHECK(state().job("default", "web")->getStable());
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: without a block that asks for one there is none") {
  add_nodes(1);
  Draft<schema::Job> job{everywhere("{}")};
  SUBCASE("none at all") {
    job->getTaskGroups()[0].disownUpdate();
  }
  SUBCASE("all at once") {
    job->getTaskGroups()[0].getUpdate().setMaxParallel(0);
  }
  SUBCASE("one that asks for nothing that Nomad 1.6 has not for such jobs") {
    job->getTaskGroups()[0].getUpdate().setAutoRevert(false);
  }
  SUBCASE("of a job that runs once") {
    job->setType("sysbatch");
  }
  CHECK(bring_out(job.freeze()).empty());
  CHECK(live().size() == 1);
  CHECK(live()[0]->alloc->deployment_id().empty());
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: the next nodes change when those before are well") {
  add_nodes(4);
  settle();
  const auto two = [](auto update) { update.setMaxParallel(2); };
  const auto id = bring_out(everywhere(R"({"v":1})", two));
  CHECK(of_version(1) == 2);
  CHECK(live().size() == 4);
  CHECK(group_of(id).getDesiredTotal() == 4);
  CHECK(plans.at(0).evaluations.empty());  // nothing waits for a time to pass

  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(of_version(1) == 2);
  report_health(one_of(1), true);
  take(next(id));
  CHECK(of_version(1) == 3);
  all_healthy(id);
  CHECK(of_version(1) == 4);
  CHECK(status(id) == DeploymentState::RUNNING);
  all_healthy(id);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: canaries are a share of the nodes, and are awaited") {
  add_nodes(5);
  settle();
  const auto fifth = [](auto update) {
    update.setCanary(30);
    update.setMaxParallel(3);
  };
  const auto id = bring_out(everywhere(R"({"v":1})", fifth));
  CHECK(description(id) == "Deployment is running but requires manual promotion");
  CHECK(group_of(id).getDesiredCanaries() == 2);
  CHECK(group_of(id).getPlacedCanaries().size() == 2);
  CHECK(of_version(1) == 2);
  CHECK(one_of(1)->alloc->is_canary());
  CHECK(last_updates.at("api").canary == 2);
  CHECK(last_updates.at("api").destructive_update == 0);
  CHECK(live().size() == 5);

  all_healthy(id);
  CHECK(of_version(1) == 2);
  promote(id);
  CHECK(of_version(1) == 5);
  CHECK_FALSE(one_of(1)->alloc->is_canary());
  all_healthy(id);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: there are no more canaries than may change at once") {
  add_nodes(4);
  settle();
  const auto id = bring_out(everywhere(R"({"v":1})", [](auto update) { update.setCanary(100); }));
  CHECK(group_of(id).getDesiredCanaries() == 1);
  CHECK(of_version(1) == 1);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: canaries that are well promote themselves if they may") {
  add_nodes(3);
  settle();
  const auto id = bring_out(everywhere(R"({"v":1})", [](auto update) {
    update.setCanary(10);
    update.setAutoPromote(true);
    update.setMaxParallel(3);
  }));
  CHECK(description(id) == "Deployment is running pending automatic promotion");
  CHECK(of_version(1) == 1);
  all_healthy(id);
  CHECK(of_version(1) == 3);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: a canary whose node is gone has a successor") {
  add_nodes(3);
  settle();
  const auto id = bring_out(everywhere(R"({"v":1})", [](auto update) { update.setCanary(1); }));
  set_status(std::string{one_of(1)->alloc->node_id()}, NodeStatus::DOWN);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(of_version(1) == 1);
  CHECK(of_version(0) == 1);
  all_healthy(id);
  promote(id);
  all_healthy(id);
  CHECK(of_version(1) == 2);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
}

TEST_CASE_FIXTURE(SystemDeployment, "system deployment: one that fails goes back, if it is to") {
  add_nodes(3);
  settle();
  const auto id = bring_out(everywhere(R"({"v":1})"));
  const auto failed = one_of(1);
  report_health(failed, false);
  process(evaluate(EvalTrigger::NODE_UPDATE));  // nothing comes in its place before it is judged
  CHECK(live().size() == 2);
  take(next(id));
  CHECK(status(id) == DeploymentState::FAILED);
  CHECK(description(id) == "Failed due to unhealthy allocations - rolling back to job version 0");
  CHECK(of_version(2) == 3);  // two of them have not changed but in the version's number
  CHECK(one_of(2));
  const auto back = copy(state().latest_deployment("default", "web")->getId());
  CHECK(back != id);
  all_healthy(back);
  CHECK(status(back) == DeploymentState::SUCCESSFUL);
  CHECK(of_version(2) == 3);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: one that failed or is paused changes no more nodes") {
  add_nodes(3);
  settle();
  const auto id = bring_out(everywhere(R"({"v":1})", [](auto update) {
    update.setCanary(1);
    update.setAutoRevert(false);
  }));
  SUBCASE("failed") {
    now += 600 * second;
    take(next(id));
    CHECK(status(id) == DeploymentState::FAILED);
    all_healthy(id);
  }
  SUBCASE("paused") {
    pause(id, true);
    all_healthy(id);
  }
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(of_version(1) == 1);
  CHECK(of_version(0) == 2);

  const auto node = add_node();  // is a node without the job, which it is to have
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(live().size() == 4);
  CHECK(of_version(1) == 2);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: a newer version, or the job's end, cancels it") {
  add_nodes(2);
  settle();
  const auto id = bring_out(everywhere(R"({"v":1})"));
  SUBCASE("a newer version") {
    const auto newer = bring_out(everywhere(R"({"v":2})"));
    CHECK(newer != id);
    CHECK(description(id) == "Cancelled due to newer version of job");
    CHECK(of_version(2) == 1);
  }
  SUBCASE("the job's end") {
    Draft<schema::Job> stopped{everywhere(R"({"v":1})")};
    stopped->setStop(true);
    bring_out(stopped.freeze());
    CHECK(description(id) == "Cancelled because job is stopped");
    CHECK(live().empty());
  }
  CHECK(status(id) == DeploymentState::CANCELLED);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: what is changed in place has its health counted anew") {
  add_nodes(2);
  settle();
  Draft<schema::Job> job{everywhere("{}")};
  job->getTaskGroups()[0].getTasks()[0].setKillTimeout(second);
  const auto id = bring_out(job.freeze());
  CHECK(of_version(1) == 2);
  CHECK(allocs().size() == 2);
  CHECK(group_of(id).getDesiredTotal() == 2);
  CHECK(group_of(id).getPlacedAllocs() == 2);
  CHECK(live()[0]->alloc->deployment_id() == id);
  CHECK_FALSE(live()[0]->alloc->health());
  all_healthy(id);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: where the new version has no room the old one stays") {
  add_nodes(2);
  settle();
  Draft<schema::Job> job{everywhere("{}", [](auto update) { update.setMaxParallel(2); })};
  job->getTaskGroups()[0].getTasks()[0].getResources().setCpu(3900);
  process(register_job(make_job(1, [](schema::Job::Builder other) {
    other.setId("other");
    other.setName("other");
  })));
  bring_out(job.freeze());
  CHECK(live().size() == 2);
  CHECK(of_version(1) == 1);
  CHECK(of_version(0) == 1);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: a node that comes back after its end changes without one") {
  add_nodes(3);
  settle();
  const auto away = std::string{live()[0]->alloc->node_id()};
  apply([&](schema::Command::Builder command) {
    auto update = command.initNodeEligibilityUpdate();
    update.setNodeId(text(away));
    update.setEligibility(schema::SchedulingEligibility::INELIGIBLE);
  });
  const auto id = bring_out(everywhere(R"({"v":1})"));
  all_healthy(id);
  all_healthy(id);
  REQUIRE(status(id) == DeploymentState::SUCCESSFUL);
  CHECK(of_version(1) == 2);

  apply([&](schema::Command::Builder command) {
    auto update = command.initNodeEligibilityUpdate();
    update.setNodeId(text(away));
    update.setEligibility(schema::SchedulingEligibility::ELIGIBLE);
  });
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(of_version(1) == 3);
  CHECK(state().latest_deployment("default", "web")->getId() == id.c_str());
}

TEST_CASE_FIXTURE(
    SystemDeployment,
    "system deployment: a node where the job is not wanted any more loses it after the canaries") {
  add_nodes(3);
  settle();
  Draft<schema::Job> job{everywhere(R"({"v":1})", [](auto update) {
    update.setCanary(1);
    update.setMaxParallel(3);
  })};
  auto constraint = job->initConstraints(1)[0];
  constraint.setLTarget("${node.unique.id}");
  constraint.setOperand("!=");
  const auto unwanted = std::string{live()[0]->alloc->node_id()};
  constraint.setRTarget(text(unwanted));
  const auto id = bring_out(job.freeze());
  CHECK(of_version(1) == 1);
  CHECK(of_version(0) == 2);
  all_healthy(id);
  promote(id);
  CHECK(of_version(1) == 2);
  CHECK(live().size() == 2);
  all_healthy(id);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
}

TEST_CASE_FIXTURE(SystemDeployment,
                  "system deployment: it is done when the last node loses what it does not want") {
  add_nodes(2);
  settle();
  Draft<schema::Job> job{everywhere(R"({"v":1})")};
  auto constraint = job->initConstraints(1)[0];
  constraint.setLTarget("${node.unique.id}");
  constraint.setOperand("!=");
  const auto rows = live();
  const auto last = std::max(rows[0]->alloc->node_id(), rows[1]->alloc->node_id());
  constraint.setRTarget(text(std::string{last}));
  const auto id = bring_out(job.freeze());
  CHECK(of_version(1) == 1);
  all_healthy(id);
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
  CHECK(live().size() == 1);
  const auto ended = allocs();
  CHECK(std::ranges::any_of(ended, [](const auto& row) {
    return row->alloc->desired_description() == "alloc not needed due to job update";
  }));
}
