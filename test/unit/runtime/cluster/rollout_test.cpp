// What the watcher of a deployment does next.
#include "runtime/cluster/rollout.hpp"

#include "runtime/cluster/deployment_commands.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using cluster::next_rollout_step;
using schema::ClientStatus;
using schema::DeploymentState;

namespace {

struct RolloutHarness : Harness {
  /// A job of `count` allocations in a deployment; `config` makes versions differ.
  std::string deploy(std::int64_t count, const std::string& config, const EditJob& edit = {}) {
    process(register_job(make_job(count, [&](schema::Job::Builder job) {
      auto group = job.getTaskGroups()[0];
      auto update = group.initUpdate();
      update.setMaxParallel(count);
      update.setProgressDeadline(600 * second);
      group.getTasks()[0].setConfig(text(config));
      if (edit) edit(job);
    })));
    return copy(state().latest_deployment("default", "web")->getId());
  }

  cluster::RolloutStep next(const std::string& id) {
    return next_rollout_step(state(), id, {now, &random});
  }

  /// Writes the step's command.
  void take(const cluster::RolloutStep& step) {
    REQUIRE(step.command);
    const auto outcome = store.apply(++next_index, *step.command);
    store.publish();
    REQUIRE_FALSE(outcome.error);
    for (const auto& eval : outcome.evals)
      if (eval->getStatus() == schema::EvalStatus::PENDING) process(eval);
  }

  void report_health(const state::AllocRef& row, bool healthy) {
    apply([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(row->alloc->getId());
      alloc.setClientStatus(healthy ? ClientStatus::RUNNING : ClientStatus::FAILED);
      alloc.setModifyTime(now);
      auto health = alloc.initDeploymentStatus();
      health.getHealthy().setValue(healthy);
      health.setTimestamp(now);
    });
  }

  schema::DeploymentState status(const std::string& id) {
    return state().deployment(id)->getStatus();
  }

  std::string description(const std::string& id) {
    return copy(state().deployment(id)->getStatusDescription());
  }
};

}  // namespace

TEST_CASE_FIXTURE(RolloutHarness, "health leads to evaluations, and in the end to success") {
  add_node();
  const auto id = deploy(2, "{}");
  auto step = next(id);
  CHECK_FALSE(step.command);
  CHECK(step.look_again == now + 600 * second);
  report_health(live()[0], true);
  step = next(id);
  CHECK(step.reason == "allocations are healthy");
  take(step);
  CHECK_FALSE(next(id).command);  // the scheduler has seen it
  CHECK(status(id) == DeploymentState::RUNNING);
  report_health(live()[1], true);
  take(next(id));
  CHECK(status(id) == DeploymentState::SUCCESSFUL);
  CHECK(next(id).is_over);
  CHECK(state().job("default", "web")->getStable());
}

TEST_CASE_FIXTURE(RolloutHarness, "a deployment without progress fails at its deadline") {
  add_node();
  const auto id = deploy(2, "{}");
  report_health(live()[0], true);
  take(next(id));
  now += 600 * second;
  const auto step = next(id);
  CHECK(step.reason == "no progress in time");
  take(step);
  CHECK(status(id) == DeploymentState::FAILED);
  CHECK(description(id) == "Failed due to progress deadline");
  CHECK(next(id).is_over);
}

TEST_CASE_FIXTURE(RolloutHarness, "a paused deployment has no deadline") {
  add_node();
  const auto id = deploy(1, "{}");
  const auto pause = cluster::decide_pause(state(), id, true, {now, &random});
  REQUIRE(pause.has_value());
  store.apply(++next_index, *pause->command);
  store.publish();
  now += 6000 * second;
  const auto step = next(id);
  CHECK_FALSE(step.command);
  CHECK(step.look_again == 0);
}

TEST_CASE_FIXTURE(RolloutHarness,
                  "an unhealthy allocation is replaced while its policy allows it") {
  add_node();
  const auto id = deploy(1, "{}");
  const auto first = live().at(0);
  report_health(first, false);
  const auto step = next(id);
  CHECK(step.reason == "unhealthy allocations are replaced");
  take(step);
  CHECK_FALSE(next(id).command);
  const auto marked = state().alloc(view(first->alloc->getId()));
  CHECK(marked->alloc->getDesiredTransition().getReschedule().getValue());
  CHECK(marked->alloc->getFollowupEvalId().size() > 0);
  CHECK(status(id) == DeploymentState::RUNNING);
}

TEST_CASE_FIXTURE(RolloutHarness,
                  "without a policy it fails the deployment, and the job goes back") {
  add_node();
  const auto no_policy = [](schema::Job::Builder job) {
    auto group = job.getTaskGroups()[0];
    auto policy = group.initReschedulePolicy();
    policy.setAttempts(0);
    group.getUpdate().setAutoRevert(true);
  };
  const auto good = deploy(1, "{\"v\":1}", no_policy);
  report_health(live()[0], true);
  take(next(good));
  REQUIRE(status(good) == DeploymentState::SUCCESSFUL);

  const auto bad = deploy(1, "{\"v\":2}", no_policy);
  report_health(live()[0], false);
  take(next(bad));
  CHECK(status(bad) == DeploymentState::FAILED);
  CHECK(description(bad) == "Failed due to unhealthy allocations - rolling back to job version 0");
  const auto job = state().job("default", "web");
  CHECK(job->getVersion() == 2);
  CHECK(view(job->getTaskGroups()[0].getTasks()[0].getConfig()) == "{\"v\":1}");
  const auto back = copy(state().latest_deployment("default", "web")->getId());
  CHECK(back != bad);
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->getJobVersion() == 2);
}

TEST_CASE_FIXTURE(RolloutHarness, "a failure without a stable version says so") {
  add_node();
  const auto id = deploy(1, "{}", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getUpdate().setAutoRevert(true);
  });
  const auto failed = cluster::decide_fail(state(), id, {now, &random});
  REQUIRE(failed.has_value());
  CHECK_FALSE(failed->reverted_to);
  const auto outcome = store.apply(++next_index, *failed->command);
  store.publish();
  REQUIRE_FALSE(outcome.error);
  CHECK(description(id) == "Deployment marked as failed - no stable job version to auto revert to");
  CHECK(cluster::decide_fail(state(), id, {now, &random}).has_error());
}

TEST_CASE_FIXTURE(RolloutHarness, "healthy canaries are promoted if their group says so") {
  add_node();
  const auto canaries = [](schema::Job::Builder job) {
    auto update = job.getTaskGroups()[0].getUpdate();
    update.setCanary(1);
    update.setAutoPromote(true);
  };
  const auto first = deploy(2, "{\"v\":1}", canaries);
  for (const auto& row : live())
    report_health(row, true);
  take(next(first));
  const auto second_id = deploy(2, "{\"v\":2}", canaries);
  CHECK(description(second_id) == "Deployment is running pending automatic promotion");
  CHECK_FALSE(next(second_id).command);
  for (const auto& row : live())
    if (row->alloc->getJobVersion() == 1) report_health(row, true);
  const auto step = next(second_id);
  CHECK(step.reason == "its canaries are healthy");
  take(step);
  CHECK(state().deployment(second_id)->getTaskGroups()[0].getValue().getPromoted());
  for (const auto& row : live())
    CHECK(row->alloc->getJobVersion() == 1);
}
