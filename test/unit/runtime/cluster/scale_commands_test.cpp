// Scaling a group, and telling something of it.
#include "runtime/cluster/scale_commands.hpp"

#include <doctest/doctest.h>

#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;

namespace {

struct Scaling : state::StateFixture {
  Random random{3};
  const cluster::EvalSeed seed{5'000'000'000, &random};

  /// "web" with the group "api" of this count and maybe bounds.
  void put(std::int64_t count, std::optional<std::pair<int, int>> bounds = {}) {
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, state::JobSpec{.groups = {{"api", count}, {"cache", 1}}});
      if (!bounds) return;
      auto scaling = job.getTaskGroups()[0].initScaling();
      scaling.setMin(bounds->first);
      scaling.setMax(bounds->second);
    });
  }

  Result<cluster::Decision> ask(const cluster::ScaleRequest& request) {
    return cluster::decide_scale(now(), nomad::test::anybody(), request, 0, seed);
  }

  std::string scale(std::int64_t count,
                    const std::string& group = "api",
                    const std::string& job = "web") {
    const auto decision = ask({.ns = "default", .job_id = job, .group = group, .count = count});
    if (!decision) return decision.error().what;
    const auto registered = decision->command->getJobScale().getRegistration();
    CHECK(registered.getEnforceIndex());
    CHECK(registered.getJobModifyIndex() == now().job("default", job)->getJobModifyIndex());
    CHECK(registered.getJob().getTaskGroups()[1].getCount() == 1);
    return std::to_string(registered.getJob().getTaskGroups()[0].getCount());
  }
};

}  // namespace

TEST_CASE_FIXTURE(Scaling, "scaling: within the policy's bounds, both of which are allowed") {
  put(2, std::pair{1, 5});
  CHECK(scale(1) == "1");
  CHECK(scale(5) == "5");
  CHECK(scale(0) == "group count was less than scaling policy minimum: 0 < 1");
  CHECK(scale(6) == "group count was greater than scaling policy maximum: 6 > 5");
  put(0, std::pair{0, 0});
  CHECK(scale(0) == "0");
  CHECK(scale(1) == "group count was greater than scaling policy maximum: 1 > 0");
}

TEST_CASE_FIXTURE(Scaling, "scaling: without a policy to any number that is none below zero") {
  put(2);
  CHECK(scale(0) == "0");
  CHECK(scale(1'000) == "1000");
  CHECK(scale(-1) == "scaling action count can't be negative");
}

TEST_CASE_FIXTURE(Scaling,
                  "scaling: needs a job and a group that are there, of a type that has counts") {
  CHECK(scale(1) == "job \"web\" not found");
  put(2);
  CHECK(scale(1, "front") == "task group \"front\" specified for scaling does not exist in job");
  CHECK(scale(1, "") == "missing task group name for scaling action");
  for (const auto* type : {"system", "sysbatch"}) {
    register_job({.id = type, .type = type});
    CHECK(scale(1, "api", type) == std::string{"cannot scale jobs of type \""} + type + "\"");
  }
}

TEST_CASE_FIXTURE(Scaling, "scaling: waits for a deployment of this job to end") {
  put(2);
  deploy("deployment", 2);
  CHECK(scale(1) == "job scaling blocked due to active deployment");
  const auto end = [this](schema::DeploymentState status) {
    run([&](auto command) {
      auto update = command.initDeploymentStatusUpdate().initUpdate();
      update.setDeploymentId("deployment");
      update.setStatus(status);
    });
  };
  end(schema::DeploymentState::UNBLOCKING);
  CHECK(scale(1) == "job scaling blocked due to active deployment");
  end(schema::DeploymentState::SUCCESSFUL);
  CHECK(scale(1) == "1");
}

TEST_CASE_FIXTURE(Scaling,
                  "scaling: the deployment of an earlier job of that name is no hindrance") {
  put(2);
  deploy("deployment", 2);
  deregister("web", true);
  put(2);
  CHECK(scale(1) == "1");
}

TEST_CASE_FIXTURE(Scaling, "scaling: the event says what was, what is to be, and by which eval") {
  put(2);
  const auto decision = ask({.ns = "default",
                             .job_id = "web",
                             .group = "api",
                             .count = 3,
                             .message = "more",
                             .meta = R"({"k":1})"});
  REQUIRE(decision.has_value());
  const auto command = decision->command->getJobScale();
  const auto event = command.getEvent();
  CHECK(view(command.getTaskGroup()) == "api");
  CHECK(event.getTime() == seed.now);
  CHECK(event.getPreviousCount() == 2);
  CHECK(event.getCount().getValue() == 3);
  CHECK(view(event.getEvalId()) == decision->eval_id);
  CHECK(view(event.getMessage()) == "more");
  CHECK(view(event.getMeta()) == R"({"k":1})");
}

TEST_CASE_FIXTURE(Scaling,
                  "scaling: without a count there is only an event, also while deploying") {
  put(2, std::pair{5, 9});
  deploy("deployment", 2);
  const auto decision
      = ask({.ns = "default", .job_id = "web", .group = "api", .message = "no", .error = true});
  REQUIRE(decision.has_value());
  CHECK(decision->eval_id.empty());
  CHECK(decision->job_modify_index == now().job("default", "web")->getModifyIndex());
  const auto command = decision->command->getJobScale();
  CHECK_FALSE(command.hasRegistration());
  CHECK(command.getEvent().getCount().isUnset());
  CHECK(command.getEvent().getEvalId().size() == 0);
  CHECK(command.getEvent().getError());
  CHECK(ask({.ns = "default", .job_id = "web", .group = "api", .count = 6, .error = true})
            .error()
            .what
        == "scaling action should not contain count if error is true");
}

TEST_CASE_FIXTURE(Scaling, "scaling: a stopped job is evaluated like any other") {
  put(2);
  run([](auto command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });
  REQUIRE(now().job("default", "web")->getStop());
  const auto decision = ask({.ns = "default", .job_id = "web", .group = "api", .count = 3});
  REQUIRE(decision.has_value());
  const auto registered = decision->command->getJobScale().getRegistration();
  REQUIRE(registered.hasEvaluation());
  CHECK(registered.getEvaluation().getTriggeredBy() == schema::EvalTrigger::JOB_SCALING);
  CHECK_FALSE(decision->eval_id.empty());
}
