// Deployments of several groups: what counts in which, what promotes which, what ends them.
#include <limits>

#include "fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;
using schema::DeploymentState;

namespace {

/// A running deployment "d" of the groups "api" and "db", one canary wanted in each.
struct Deploying : StateFixture {
  Deploying() {
    register_job({.groups = {{"api", 2}, {"db", 2}}}, {});
    redeploy();
  }

  void redeploy(const char* job = "web") {
    run([&](auto command) {
      auto deployment = command.initPlanResults().initPlans(1)[0].initDeployment();
      deployment.setId("d");
      deployment.setNamespace("default");
      deployment.setJobId(job);
      deployment.setStatus(DeploymentState::RUNNING);
      deployment.setStatusDescription("needs promotion");
      auto groups = deployment.initTaskGroups(2);
      for (unsigned i = 0; i < 2; ++i) {
        groups[i].setKey(i == 0 ? "api" : "db");
        groups[i].initValue().setDesiredTotal(2);
        groups[i].getValue().setDesiredCanaries(1);
        groups[i].getValue().setProgressDeadline(i == 0 ? 600 : 0);
      }
    });
  }

  Object<schema::Deployment> deployment() const { return now().deployment("d"); }

  /// Of the group: "placed healthy unhealthy, require progress by".
  std::string counts(unsigned group) const {
    const auto value = deployment()->getTaskGroups()[group].getValue();
    return std::to_string(value.getPlacedAllocs()) + " " + std::to_string(value.getHealthyAllocs())
           + " " + std::to_string(value.getUnhealthyAllocs()) + ", "
           + std::to_string(value.getRequireProgressBy());
  }

  bool is_promoted(unsigned group) const {
    return deployment()->getTaskGroups()[group].getValue().getPromoted();
  }

  void place_canaries() {
    place({{.id = "a", .group = "api", .deployment = "d", .canary = true},
           {.id = "b", .group = "db", .deployment = "d", .canary = true}});
  }

  void say_health(const char* id, bool healthy, std::int64_t time = 5000) {
    report(id, ClientStatus::RUNNING, [&](auto alloc) {
      alloc.initDeploymentStatus().getHealthy().setValue(healthy);
      alloc.getDeploymentStatus().setTimestamp(time);
    });
  }

  std::string promote(const std::vector<std::string>& groups, std::int64_t eval_time = 7000) {
    const auto outcome = run([&](auto command) {
      auto body = command.initDeploymentPromotion();
      body.setDeploymentId("d");
      auto names = body.initGroups(static_cast<unsigned>(groups.size()));
      for (unsigned i = 0; i < names.size(); ++i)
        names.set(i, text(groups[i]));
      body.setAll(groups.empty());
      if (eval_time == 0) return;
      fill(body.initEvaluation(), EvalSpec{.id = "promotion"});
      body.getEvaluation().setModifyTime(eval_time);
    });
    return outcome.error ? outcome.error->what : "done";
  }

  std::string end(DeploymentState state, const char* id = "d") {
    const auto outcome = run([&](auto command) {
      auto update = command.initDeploymentStatusUpdate().initUpdate();
      update.setDeploymentId(id);
      update.setStatus(state);
    });
    return outcome.error ? outcome.error->what : "done";
  }
};

}  // namespace

TEST_CASE_FIXTURE(Deploying, "deployments: each group counts its own") {
  place({{.id = "a", .group = "api", .deployment = "d"},
         {.id = "b", .group = "db", .deployment = "d"},
         {.id = "c", .group = "db", .deployment = "d"},
         {.id = "other", .group = "db", .deployment = "none"},
         {.id = "free", .group = "db"},
         {.id = "odd", .group = "unknown", .deployment = "d"}});
  CHECK(counts(0) == "1 0 0, 1600");
  CHECK(counts(1) == "2 0 0, 0");
  const auto counted = deployment()->getModifyIndex();
  CHECK(counted == index);

  say_health("other", true);
  say_health("free", true);
  CHECK(deployment()->getModifyIndex() == counted);

  say_health("b", true);
  CHECK(counts(1) == "2 1 0, 0");  // without a deadline there is none to move
  CHECK(now().alloc("b")->alloc->deployment_status().getModifyIndex() == index);
  say_health("c", false);
  CHECK(counts(1) == "2 1 1, 0");
  CHECK(counts(0) == "1 0 0, 1600");
}

TEST_CASE_FIXTURE(Deploying, "deployments: health is counted once, and from good to bad again") {
  place({{.id = "a", .group = "api", .deployment = "d"},
         {.id = "b", .group = "api", .deployment = "d"}});
  say_health("a", false);
  CHECK(counts(0) == "2 0 1, 1600");
  say_health("a", true);
  CHECK(counts(0) == "2 0 1, 1600");  // who was unhealthy stays so for the deployment
  say_health("b", true, 5000);
  CHECK(counts(0) == "2 1 1, 5600");
  say_health("b", false, 6000);
  CHECK(counts(0) == "2 0 2, 5600");
}

TEST_CASE_FIXTURE(Deploying, "deployments: a deadline beyond all time is never, not at once") {
  place_canaries();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  say_health("a", true, most - 10);
  CHECK(counts(0) == "1 1 0, " + std::to_string(most));
}

TEST_CASE_FIXTURE(Deploying, "deployments: progress only moves a deadline forward") {
  place({{.id = "a", .group = "api", .deployment = "d"}});
  run([this](auto command) {  // a later one
    auto plan = command.initPlanResults().initPlans(1)[0];
    plan.setModifyTime(9000);
    fill(plan.initPlaced(1)[0], AllocSpec{.id = "b", .group = "api", .deployment = "d"});
  });
  CHECK(counts(0) == "2 0 0, 1600");
  say_health("a", true, 5000);
  CHECK(counts(0) == "2 1 0, 5600");
  say_health("b", true, 4000);
  CHECK(counts(0) == "2 2 0, 5600");
}

TEST_CASE_FIXTURE(Deploying, "deployments: an update in place is no placement") {
  place({{.id = "a", .group = "api", .deployment = "d", .canary = true}});
  place({{.id = "a", .group = "api", .deployment = "d", .canary = true}});
  CHECK(counts(0) == "1 0 0, 1600");
  place({{.id = "c", .group = "api", .deployment = "d", .canary = true}});
  const auto canaries = deployment()->getTaskGroups()[0].getValue().getPlacedCanaries();
  REQUIRE(canaries.size() == 2);
  CHECK(view(canaries[0]) == "a");
  CHECK(view(canaries[1]) == "c");
  CHECK(deployment()->getTaskGroups()[1].getValue().getPlacedCanaries().size() == 0);
}

TEST_CASE_FIXTURE(Deploying, "promotion: what every group lacks is said at once") {
  place_canaries();
  CHECK(promote({})
        == "2 errors occurred:\n"
           "\t* Task group \"api\" has 0/1 healthy allocations\n"
           "\t* Task group \"db\" has 0/1 healthy allocations\n\n");
  say_health("a", false);
  CHECK(promote({"api"})
        == "1 error occurred:\n\t* Task group \"api\" has 0/1 healthy allocations\n\n");
  say_health("b", true);
  CHECK(promote({}) == "1 error occurred:\n\t* Task group \"api\" has 0/1 healthy allocations\n\n");
  CHECK_FALSE(is_promoted(1));
}

TEST_CASE_FIXTURE(Deploying, "promotion: only canaries that run count") {
  place_canaries();
  place({{.id = "ordinary", .group = "api", .deployment = "d"}});
  say_health("ordinary", true);
  CHECK(promote({"api"})
        == "1 error occurred:\n\t* Task group \"api\" has 0/1 healthy allocations\n\n");
  say_health("a", true);
  stop("a");
  CHECK(promote({"api"})
        == "1 error occurred:\n\t* Task group \"api\" has 0/1 healthy allocations\n\n");
}

TEST_CASE_FIXTURE(Deploying, "promotion: one group at a time") {
  place_canaries();
  say_health("a", true);
  say_health("b", true);
  CHECK(promote({"db"}) == "done");
  CHECK_FALSE(is_promoted(0));
  CHECK(is_promoted(1));
  CHECK(counts(0) == "1 1 0, 5600");
  CHECK(counts(1) == "1 1 0, 0");  // no deadline begins where there was none
  CHECK(now().alloc("a")->alloc->is_canary());
  CHECK_FALSE(now().alloc("b")->alloc->is_canary());
  CHECK(now().alloc("b")->alloc->deployment_status().getModifyIndex() == index);
  CHECK(now().alloc("b")->alloc->modify_index() == index);
  CHECK(view(deployment()->getStatusDescription()) == "needs promotion");

  CHECK(promote({"api"}) == "done");
  CHECK(is_promoted(0));
  CHECK(counts(0) == "1 1 0, 7600");
  CHECK(view(deployment()->getStatusDescription()) == "Deployment is running");
  CHECK(deployment()->getModifyIndex() == index);
}

TEST_CASE_FIXTURE(Deploying, "promotion: without an evaluation no deadline moves") {
  place_canaries();
  say_health("a", true);
  say_health("b", true);
  CHECK(promote({}, 0) == "done");
  CHECK(is_promoted(0));
  CHECK(counts(0) == "1 1 0, 5600");
  CHECK_FALSE(now().eval("promotion"));
}

TEST_CASE_FIXTURE(Deploying, "promotion: what is paused is still called so afterwards") {
  place_canaries();
  say_health("a", true);
  say_health("b", true);
  run([](auto command) {
    auto update = command.initDeploymentStatusUpdate().initUpdate();
    update.setDeploymentId("d");
    update.setStatus(DeploymentState::PAUSED);
    update.setStatusDescription("Deployment is paused");
  });
  CHECK(promote({}) == "done");
  CHECK(view(deployment()->getStatusDescription()) == "Deployment is paused");
}

TEST_CASE_FIXTURE(Deploying, "deployments: a plan computes the groups anew, and changes no owner") {
  const auto created = deployment()->getCreateIndex();
  redeploy("another");
  CHECK(view(deployment()->getJobId()) == "web");
  CHECK(deployment()->getCreateIndex() == created);
  CHECK(deployment()->getModifyIndex() == index);
  CHECK_FALSE(now().deployments_by_job("default", "web").empty());
  CHECK(now().deployments_by_job("default", "another").empty());
}

TEST_CASE_FIXTURE(Deploying, "deployments: an end is final, and is named") {
  CHECK(end(DeploymentState::RUNNING, "none")
        == "Deployment ID \"none\" couldn't be updated as it does not exist");
  const std::pair<DeploymentState, const char*> ends[]
      = {{DeploymentState::SUCCESSFUL, "successful"},
         {DeploymentState::FAILED, "failed"},
         {DeploymentState::CANCELLED, "cancelled"}};
  for (const auto& [state, name] : ends) {
    Deploying other;
    CHECK(other.end(state) == "done");
    CHECK(other.end(DeploymentState::RUNNING)
          == std::string{"Deployment \"d\" has terminal status \""} + name + "\"");
    CHECK(other.deployment()->getStatus() == state);
    CHECK(other.now().job("default", "web")->getStable() == (state == DeploymentState::SUCCESSFUL));
  }
}

TEST_CASE_FIXTURE(Deploying, "deployments: those that are reaped are found nowhere") {
  const auto reap = [this](const char* id) {
    run([&](auto command) { command.initReap().initDeploymentIds(1).set(0, id); });
  };
  const auto before = now().index(Table::deployments);
  reap("none");
  CHECK(now().index(Table::deployments) == before);
  reap("d");
  CHECK_FALSE(deployment());
  CHECK(now().deployments_by_create().empty());
  CHECK(now().deployments_by_job("default", "web").empty());
  CHECK(now().index(Table::deployments) == index);
}

TEST_CASE_FIXTURE(Deploying, "deployments: an operator's word on health counts like a client's") {
  place_canaries();
  run([](auto command) {
    auto body = command.initDeploymentAllocHealth();
    body.setDeploymentId("d");
    body.initHealthyIds(1).set(0, "a");
    body.initUnhealthyIds(1).set(0, "b");
    body.setTimestamp(5000);
  });
  CHECK(counts(0) == "1 1 0, 5600");
  CHECK(counts(1) == "1 0 1, 0");
  const auto status = now().alloc("a")->alloc->deployment_status();
  CHECK(status.getHealthy().getValue());
  CHECK(status.getTimestamp() == 5000);
  CHECK(status.getCanary());
  CHECK(now().alloc("a")->alloc->modify_index() == index);
  CHECK(deployment()->getStatus() == DeploymentState::RUNNING);
}

TEST_CASE_FIXTURE(Deploying, "deployments: what comes as a canary after the promotion is none") {
  place_canaries();
  say_health("a", true);
  CHECK(promote({"api"}) == "done");

  place({{.id = "late", .group = "api", .deployment = "d", .canary = true},
         {.id = "more", .group = "db", .deployment = "d", .canary = true}});
  CHECK_FALSE(now().alloc("late")->alloc->is_canary());
  CHECK(now().alloc("more")->alloc->is_canary());
  CHECK(deployment()->getTaskGroups()[0].getValue().getPlacedCanaries().size() == 1);
  CHECK(deployment()->getTaskGroups()[1].getValue().getPlacedCanaries().size() == 2);
}
