// What the watcher of a deployment does next.
#include "runtime/cluster/next_deployment_command.hpp"

#include "runtime/cluster/deployment_commands.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/cluster/deployment_harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::DeploymentState;

namespace {

using EditGroup = std::function<void(schema::TaskGroup::Builder)>;

/// The job's group becomes two of `count` allocations each, "api" and "db".
Harness::EditJob two_groups(std::int64_t count, const EditGroup& api, const EditGroup& db) {
  return [count, api, db](schema::Job::Builder job) {
    Draft<schema::Job> before{job.asReader()};
    const auto model = before.reader().getTaskGroups()[0];
    auto groups = job.initTaskGroups(2);
    for (unsigned i = 0; i < 2; ++i) {
      groups.setWithCaveats(i, model);
      groups[i].setName(i == 0 ? "api" : "db");
      groups[i].setCount(count);
      (i == 0 ? api : db)(groups[i]);
    }
  };
}

void canary(schema::TaskGroup::Builder group, bool auto_promote) {
  auto update = group.getUpdate();
  update.setCanary(1);
  update.setAutoPromote(auto_promote);
}

std::vector<state::AllocRef> of_group(std::vector<state::AllocRef> rows, std::string_view name) {
  std::erase_if(rows, [&](const auto& row) { return row->alloc->task_group() != name; });
  return rows;
}

std::vector<state::AllocRef> of_version(std::vector<state::AllocRef> rows, std::uint64_t version) {
  std::erase_if(rows, [&](const auto& row) { return row->alloc->job_version() != version; });
  return rows;
}

}  // namespace

TEST_CASE_FIXTURE(DeploymentHarness, "health leads to evaluations, and in the end to success") {
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

TEST_CASE_FIXTURE(DeploymentHarness, "a deployment without progress fails at its deadline") {
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

TEST_CASE_FIXTURE(DeploymentHarness, "a paused deployment keeps its progress deadline") {
  add_node();
  const auto id = deploy(2, "{}");
  const auto due = next(id).look_again;
  REQUIRE(due == now + 600 * second);
  pause(id, true);
  CHECK(next(id).look_again == due);
  CHECK_FALSE(next(id).command);

  SUBCASE("and after it went on, too") {
    now += 300 * second;
    pause(id, false);
    CHECK(next(id).look_again == due);
  }
  SUBCASE("and has a later one when an allocation is healthy meanwhile") {
    now += 300 * second;
    report_health(live()[0], true);
    CHECK(next(id).look_again == now + 600 * second);
  }
  SUBCASE("and fails when that is over") {
    now = due;
    const auto step = next(id);
    CHECK(step.reason == "no progress in time");
    take(step);
    CHECK(status(id) == DeploymentState::FAILED);
    CHECK(description(id) == "Failed due to progress deadline");
  }
}

TEST_CASE_FIXTURE(DeploymentHarness,
                  "an unhealthy allocation is replaced while its policy allows it") {
  add_node();
  const auto id = deploy(1, "{}");
  const auto first = live().at(0);
  report_health(first, false);
  const auto step = next(id);
  CHECK(step.reason == "unhealthy allocations are replaced");
  take(step);
  CHECK_FALSE(next(id).command);
  const auto marked = state().alloc(first->alloc->id());
  CHECK(marked->alloc->transition().getReschedule().getValue());
  CHECK(!marked->alloc->followup_eval_id().empty());
  CHECK(status(id) == DeploymentState::RUNNING);
}

TEST_CASE_FIXTURE(DeploymentHarness,
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
  CHECK(live()[0]->alloc->job_version() == 2);
}

TEST_CASE_FIXTURE(DeploymentHarness, "a failure without a stable version says so") {
  add_node();
  const auto id = deploy(1, "{}", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getUpdate().setAutoRevert(true);
  });
  const auto failed = cluster::decide_fail(state(), nomad::test::anybody(), id, {now, &random});
  REQUIRE(failed.has_value());
  CHECK_FALSE(failed->reverted_to);
  const auto outcome = store.apply(++next_index, *failed->command);
  store.publish();
  REQUIRE_FALSE(outcome.error);
  CHECK(description(id) == "Deployment marked as failed - no stable job version to auto revert to");
  CHECK(cluster::decide_fail(state(), nomad::test::anybody(), id, {now, &random}).has_error());
}

TEST_CASE_FIXTURE(DeploymentHarness, "healthy canaries are promoted if their group says so") {
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
    if (row->alloc->job_version() == 1) report_health(row, true);
  const auto step = next(second_id);
  CHECK(step.reason == "its canaries are healthy");
  take(step);
  CHECK(state().deployment(second_id)->getTaskGroups()[0].getValue().getPromoted());
  for (const auto& row : live())
    CHECK(row->alloc->job_version() == 1);
}

TEST_CASE_FIXTURE(DeploymentHarness,
                  "healthy canaries of a paused deployment wait until it goes on") {
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
  const auto id = deploy(2, "{\"v\":2}", canaries);
  pause(id, true);
  for (const auto& row : live())
    if (row->alloc->job_version() == 1) report_health(row, true);
  CHECK(next(id).reason != "its canaries are healthy");

  pause(id, false);
  CHECK(next(id).reason == "its canaries are healthy");
}

TEST_CASE_FIXTURE(DeploymentHarness, "the deadline is that of the first group that is not done") {
  add_node();
  bool api_first = true;
  SUBCASE("the first of the list") {}
  SUBCASE("the last of the list") {
    api_first = false;
  }
  const auto begin = now;
  const auto due_in = [](std::int64_t seconds) -> EditGroup {
    return [seconds](auto group) { group.getUpdate().setProgressDeadline(seconds * second); };
  };
  const auto id = deploy(
      1, "{}", two_groups(1, due_in(api_first ? 300 : 900), due_in(api_first ? 900 : 300)));
  CHECK(next(id).look_again == begin + 300 * second);

  report_health(of_group(live(), api_first ? "api" : "db").at(0), true);
  CHECK(next(id).look_again == begin + 900 * second);

  report_health(of_group(live(), api_first ? "db" : "api").at(0), true);
  CHECK(next(id).look_again == 0);
}

TEST_CASE_FIXTURE(DeploymentHarness, "a deployment that waits for others has no deadline") {
  add_node();
  const auto id = deploy(1, "{}");
  apply([&](schema::Command::Builder command) {
    auto update = command.initDeploymentStatusUpdate().initUpdate();
    update.setDeploymentId(text(id));
    update.setStatus(DeploymentState::PENDING);
  });
  now += 6000 * second;
  CHECK_FALSE(next(id).command);
  CHECK(next(id).look_again == 0);
}

TEST_CASE_FIXTURE(DeploymentHarness, "healthy canaries that wait for a promotion are no failure") {
  add_node();
  const auto waiting = [](schema::Job::Builder job) { canary(job.getTaskGroups()[0], false); };
  const auto first = deploy(2, "{\"v\":1}", waiting);
  for (const auto& row : live())
    report_health(row, true);
  take(next(first));
  REQUIRE(status(first) == DeploymentState::SUCCESSFUL);
  const auto id = deploy(2, "{\"v\":2}", waiting);

  SUBCASE("healthy") {
    report_health(of_version(live(), 1).at(0), true);
    CHECK(next(id).reason == "allocations are healthy");
    take(next(id));
    now += 600 * second;
    CHECK_FALSE(next(id).command);
    CHECK(next(id).look_again == 0);
    now += 1;
    CHECK_FALSE(next(id).command);
  }
  SUBCASE("not yet") {
    now += 600 * second;
    take(next(id));
    CHECK(description(id) == "Failed due to progress deadline");
  }
}

TEST_CASE_FIXTURE(DeploymentHarness, "without progress the job goes back if its group says so") {
  add_node();
  const auto back
      = [](schema::Job::Builder job) { job.getTaskGroups()[0].getUpdate().setAutoRevert(true); };
  const auto good = deploy(1, "{\"v\":1}", back);
  report_health(live().at(0), true);
  take(next(good));
  const auto bad = deploy(1, "{\"v\":2}", back);
  now += 600 * second;
  take(next(bad));
  CHECK(description(bad) == "Failed due to progress deadline - rolling back to job version 0");
  const auto again = copy(state().latest_deployment("default", "web")->getId());
  REQUIRE(again != bad);

  // The version that it went back to is stable as well; there is nothing better when it fails.
  now += 600 * second;
  take(next(again));
  CHECK(description(again)
        == "Failed due to progress deadline - not rolling back to stable job version 2 as current "
           "job has same specification");
  CHECK(state().job("default", "web")->getVersion() == 2);
}

TEST_CASE_FIXTURE(DeploymentHarness, "a group that is done does not fail with one that is late") {
  add_node();
  const auto reverts = [](auto group) { group.getUpdate().setAutoRevert(true); };
  const auto stays = [](auto) {};
  const auto good = deploy(1, "{\"v\":1}", two_groups(1, reverts, stays));
  for (const auto& row : live())
    report_health(row, true);
  take(next(good));
  REQUIRE(status(good) == DeploymentState::SUCCESSFUL);

  const auto id = deploy(1, "{\"v\":2}", two_groups(1, reverts, stays));
  report_health(of_group(of_version(live(), 1), "api").at(0), true);
  take(next(id));
  now += 600 * second;
  take(next(id));
  CHECK(description(id) == "Failed due to progress deadline");
}

TEST_CASE_FIXTURE(DeploymentHarness, "nothing is promoted before all that has to be is healthy") {
  add_node();
  const auto ask = [](auto group) { canary(group, false); };
  const auto by_itself = [](auto group) { canary(group, true); };
  const auto plain = [](auto) {};
  bool promotes = true;
  EditGroup db = by_itself;
  SUBCASE("two groups with canaries") {}
  SUBCASE("one without canaries") {
    db = plain;
  }
  SUBCASE("one that asks") {
    db = ask;
    promotes = false;
  }
  const auto first = deploy(2, "{\"v\":1}", two_groups(2, by_itself, db));
  for (const auto& row : live())
    report_health(row, true);
  take(next(first));
  REQUIRE(status(first) == DeploymentState::SUCCESSFUL);

  const auto id = deploy(2, "{\"v\":2}", two_groups(2, by_itself, db));
  const auto fresh = of_version(live(), 1);
  for (const auto& row : of_group(fresh, "db"))
    report_health(row, true);
  CHECK(next(id).reason == "allocations are healthy");
  report_health(of_group(fresh, "api").at(0), true);
  CHECK((next(id).reason == "its canaries are healthy") == promotes);
}

TEST_CASE_FIXTURE(DeploymentHarness, "health that comes with its evaluation is no news") {
  add_node();
  const auto id = deploy(2, "{}");
  const auto healthy
      = cluster::decide_alloc_health(state(), nomad::test::anybody(), id,
                                     {std::string{live().at(0)->alloc->id()}}, {}, {now, &random});
  REQUIRE(healthy.has_value());
  store.apply(++next_index, *healthy->command);
  store.publish();
  CHECK_FALSE(next(id).command);
}

TEST_CASE_FIXTURE(DeploymentHarness, "without a deadline, an unhealthy allocation fails at once") {
  add_node();
  const auto id = deploy(1, "{}", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getUpdate().setProgressDeadline(0);
  });
  CHECK(next(id).look_again == 0);
  report_health(live().at(0), false);
  take(next(id));
  CHECK(status(id) == DeploymentState::FAILED);
  CHECK(description(id) == "Failed due to unhealthy allocations");
}

TEST_CASE_FIXTURE(DeploymentHarness, "a deployment of a purged job ends without an evaluation") {
  add_node();
  const auto id = deploy(1, "{}");
  const auto deployment = state().deployment(id);
  CHECK(cluster::deployment_eval(state(), deployment, {now, &random})->getDeploymentId()
        == text(id));
  CHECK(cluster::deployment_eval(state(), deployment, {now, &random})->getJobModifyIndex() == 0);
  apply([&](schema::Command::Builder command) {
    auto body = command.initJobDeregister();
    body.setNamespace("default");
    body.setJobId("web");
    body.setPurge(true);
  });
  CHECK_FALSE(cluster::deployment_eval(state(), deployment, {now, &random}));
  CHECK(
      cluster::fail_deployment(state(), deployment, "Gone", true, {now, &random}).eval_id.empty());
}
