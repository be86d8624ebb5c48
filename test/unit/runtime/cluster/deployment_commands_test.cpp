// What operators may do to a deployment.
#include "runtime/cluster/deployment_commands.hpp"

#include "test/support/anybody.hpp"
#include "test/unit/runtime/cluster/deployment_harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::DeploymentState;

namespace {

struct Operator : DeploymentHarness {
  Operator() { add_node(); }

  cluster::EvalSeed draw() { return {now, &random}; }

  /// A job at version 1 whose canary waits for a promotion; version 0 is stable.
  std::string deploy_canary() {
    const auto edit = [](schema::Job::Builder job) {
      auto update = job.getTaskGroups()[0].getUpdate();
      update.setCanary(1);
      update.setAutoRevert(true);
    };
    const auto first = deploy(2, "{\"v\":1}", edit);
    for (const auto& row : live())
      report_health(row, true);
    take(next(first));
    REQUIRE(status(first) == DeploymentState::SUCCESSFUL);
    return deploy(2, "{\"v\":2}", edit);
  }

  state::AllocRef canary() const {
    for (const auto& row : live())
      if (row->alloc->job_version() == 1) return row;
    FAIL("no canary");
    return {};
  }
};

}  // namespace

TEST_CASE_FIXTURE(Operator, "deployments that are unknown or over are refused by name") {
  const auto id = deploy(1, "{}");
  const auto said
      = [](const auto& result) { return result ? std::string{"done"} : result.error().what; };
  CHECK(said(cluster::decide_fail(state(), nomad::test::anybody(), "none", draw()))
        == "deployment not found");

  write(cluster::decide_fail(state(), nomad::test::anybody(), id, draw())->command);
  REQUIRE(status(id) == DeploymentState::FAILED);
  CHECK(said(cluster::decide_fail(state(), nomad::test::anybody(), id, draw()))
        == "can't fail terminal deployment");
  CHECK(said(cluster::decide_pause(state(), nomad::test::anybody(), id, true, draw()))
        == "can't pause terminal deployment");
  CHECK(said(cluster::decide_pause(state(), nomad::test::anybody(), id, false, draw()))
        == "can't resume terminal deployment");
  CHECK(said(cluster::decide_promote(state(), nomad::test::anybody(), id, true, {}, draw()))
        == "can't promote terminal deployment");
  CHECK(said(cluster::decide_alloc_health(state(), nomad::test::anybody(), id, {"a"}, {}, draw()))
        == "can't set health of allocations for a terminal deployment");
  CHECK(said(cluster::decide_alloc_health(state(), nomad::test::anybody(), id, {}, {}, draw()))
        == "must specify at least one healthy/unhealthy allocation ID");
}

TEST_CASE_FIXTURE(Operator, "a deployment is paused without an evaluation, and resumed with one") {
  const auto id = deploy(1, "{}");
  const auto pause = cluster::decide_pause(state(), nomad::test::anybody(), id, true, draw());
  write(pause->command);
  CHECK(status(id) == DeploymentState::PAUSED);
  CHECK(description(id) == "Deployment is paused");
  CHECK(pause->eval_id.empty());
  CHECK_FALSE(pause->command->getDeploymentStatusUpdate().hasEvaluation());

  const auto resume = cluster::decide_pause(state(), nomad::test::anybody(), id, false, draw());
  write(resume->command);
  CHECK(status(id) == DeploymentState::RUNNING);
  CHECK(description(id) == "Deployment is running");
  CHECK(state().eval(resume->eval_id)->getTriggeredBy() == schema::EvalTrigger::DEPLOYMENT_WATCHER);
  CHECK_FALSE(resume->reverted_to);
}

TEST_CASE_FIXTURE(Operator,
                  "what waits for no other region needs no unblocking, which is no mistake") {
  const auto id = deploy(1, "{}");
  const auto running = cluster::decide_unblock(state(), nomad::test::anybody(), id, draw());
  REQUIRE(running);
  CHECK_FALSE(running->command);

  write(cluster::decide_fail(state(), nomad::test::anybody(), id, draw())->command);
  CHECK(cluster::decide_unblock(state(), nomad::test::anybody(), id, draw()).error().what
        == "can't unblock terminal deployment");
}

TEST_CASE_FIXTURE(Operator, "canaries are promoted, all or by the names of their groups") {
  const auto id = deploy_canary();
  report_health(canary(), true);
  const auto is_promoted
      = [&] { return state().deployment(id)->getTaskGroups()[0].getValue().getPromoted(); };
  SUBCASE("all") {
    const auto promote
        = cluster::decide_promote(state(), nomad::test::anybody(), id, true, {}, draw());
    write(promote->command);
    CHECK(is_promoted());
    CHECK(state().eval(promote->eval_id));
  }
  SUBCASE("by name") {
    write(cluster::decide_promote(state(), nomad::test::anybody(), id, false, {"api"}, draw())
              ->command);
    CHECK(is_promoted());
  }
  SUBCASE("by another name") {
    write(cluster::decide_promote(state(), nomad::test::anybody(), id, false, {"other"}, draw())
              ->command);
    CHECK_FALSE(is_promoted());
  }
}

TEST_CASE_FIXTURE(Operator, "only the group whose allocation is unhealthy decides on a rollback") {
  const auto two = [](schema::Job::Builder job) {
    const Object<schema::Job> one{Draft<schema::Job>{job.asReader()}.freeze()};
    auto groups = job.initTaskGroups(2);
    for (unsigned at = 0; at < 2; ++at) {
      groups.setWithCaveats(at, one->getTaskGroups()[0]);
      groups[at].setName(at == 0 ? "a" : "b");
      groups[at].getUpdate().setAutoRevert(at == 1);
    }
  };
  const auto of_group = [this](const char* name) {
    for (const auto& row : live())
      if (row->alloc->task_group() == name) return std::string{row->alloc->id()};
    return std::string{};
  };
  const auto say_unhealthy = [&](const std::string& deployment, const std::string& alloc) {
    const auto decision = cluster::decide_alloc_health(state(), nomad::test::anybody(), deployment,
                                                       {}, {alloc}, draw());
    REQUIRE(decision);
    write(decision->command);
    return decision->reverted_to;
  };

  // There is nothing to go back to, and it is not spoken of.
  auto id = deploy(1, R"({"v":1})", two);
  CHECK_FALSE(say_unhealthy(id, of_group("b")));
  CHECK(description(id) == "Failed due to unhealthy allocations");

  id = deploy(1, R"({"v":2})", two);
  apply([](schema::Command::Builder command) {
    auto stability = command.initJobStability();
    stability.setNamespace("default");
    stability.setJobId("web");
    stability.setVersion(0);
    stability.setStable(true);
  });
  CHECK_FALSE(say_unhealthy(id, of_group("a")));
  id = deploy(1, R"({"v":3})", two);
  CHECK(say_unhealthy(id, of_group("b")) == 0);
}

TEST_CASE_FIXTURE(Operator, "an operator's word on health counts") {
  const auto id = deploy_canary();
  const auto alloc = std::string{canary()->alloc->id()};
  const auto group = [&] { return state().deployment(id)->getTaskGroups()[0].getValue(); };

  const auto healthy
      = cluster::decide_alloc_health(state(), nomad::test::anybody(), id, {alloc}, {}, draw());
  CHECK_FALSE(healthy->reverted_to);
  write(healthy->command);
  CHECK(group().getHealthyAllocs() == 1);
  CHECK(status(id) == DeploymentState::RUNNING);
  CHECK(state().eval(healthy->eval_id));

  const auto unhealthy
      = cluster::decide_alloc_health(state(), nomad::test::anybody(), id, {}, {alloc}, draw());
  CHECK(unhealthy->reverted_to == 0);
  write(unhealthy->command);
  CHECK(group().getUnhealthyAllocs() == 1);
  CHECK(status(id) == DeploymentState::FAILED);
  CHECK(description(id) == "Failed due to unhealthy allocations - rolling back to job version 0");
  CHECK(state().job("default", "web")->getVersion() == 2);
}
