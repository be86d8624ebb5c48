// How many nodes of a system job change at a time; whole deployments: test/unit/runtime/cluster.
#include "runtime/scheduler/system_deployment.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Waves : Harness {
  std::vector<AllocEntry> none;

  Object<schema::Job> job_of(std::int64_t canary, std::int64_t parallel) {
    return make_job(1, [=](schema::Job::Builder job) {
      job.setType("system");
      auto update = job.getTaskGroups()[0].initUpdate();
      update.setCanary(canary);
      update.setMaxParallel(parallel);
      update.setAutoRevert(true);
    });
  }

  /// How many are canaries and how many others, of so many that are out of date.
  std::pair<std::size_t, std::size_t> first_wave(const Object<schema::Job>& job,
                                                 std::size_t outdated) {
    const JobSpec spec{job};
    SystemDeployment deployment{&spec, none, {}};
    deployment.begin({{"api", {.destructive = outdated}}}, random);
    const auto wave = deployment.wave("api", {});
    REQUIRE(wave);
    return {wave->canaries, wave->others};
  }
};

using Wave = std::pair<std::size_t, std::size_t>;

}  // namespace

TEST_CASE_FIXTURE(Waves,
                  "system deployment: canaries are a share, rounded up, within max_parallel") {
  CHECK(first_wave(job_of(0, 3), 10) == Wave{0, 3});
  CHECK(first_wave(job_of(1, 3), 10) == Wave{1, 0});
  CHECK(first_wave(job_of(11, 3), 10) == Wave{2, 0});
  CHECK(first_wave(job_of(50, 3), 10) == Wave{3, 0});
  CHECK(first_wave(job_of(50, 9), 10) == Wave{5, 0});
  CHECK(first_wave(job_of(500, 20), 10) == Wave{10, 0});
}

TEST_CASE_FIXTURE(Waves, "system deployment: none begins where nothing is to be brought out") {
  const auto job = job_of(0, 1);
  const JobSpec spec{job};
  SystemDeployment deployment{&spec, none, {}};
  deployment.begin({{"api", {}}}, random);
  CHECK_FALSE(deployment.wave("api", {}));
  CHECK(deployment.deployment_of("api").empty());
  Plan plan;
  deployment.finish({}, 50, plan);
  CHECK(plan.is_no_op());
}

TEST_CASE_FIXTURE(Waves, "system deployment: a group that is nowhere has no part in it") {
  const auto job = job_of(0, 1);
  const JobSpec spec{job};
  SystemDeployment deployment{&spec, none, {}};
  deployment.begin({{"api", {.missing = 3}}}, random);
  CHECK_FALSE(deployment.deployment_of("api").empty());
  Plan plan;
  SUBCASE("on no node") {
    deployment.finish({}, 50, plan);
    CHECK(plan.is_no_op());
  }
  SUBCASE("on two") {
    deployment.finish({.totals = {{"api", 2}}}, 50, plan);
    REQUIRE(plan.deployment);
    CHECK(plan.deployment->getTaskGroups()[0].getValue().getDesiredTotal() == 2);
  }
}
