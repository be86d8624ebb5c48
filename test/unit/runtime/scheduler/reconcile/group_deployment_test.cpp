// What of one group is stopped, replaced and counted while a version is rolled out.
#include "test/unit/runtime/scheduler/reconcile/group_harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// A deployment that has all that it wants, if nothing else is to be done.
void all_healthy(schema::DeploymentGroup::Builder group) {
  group.setDesiredTotal(1);
  group.setHealthyAllocs(9);
}

}  // namespace

TEST_CASE_FIXTURE(GroupRun, "a stopped job: every allocation that runs somewhere is counted") {
  want(3, tolerates_absence);
  Draft<schema::Job> stopped_job{job};
  stopped_job->setStop(true);
  job = stopped_job.freeze();
  taint("down", NodeStatus::DOWN);
  taint("away", NodeStatus::DISCONNECTED);
  add("a", 0, 1);
  add("b", 1, 1, migrates);
  add("c", 2, 1, on("away"));
  add("d", 3, 1, on("down"));
  add("e", 4, 1, [](auto alloc) {
    alloc.setNodeId("away");
    alloc.setClientStatus(ClientStatus::UNKNOWN);
  });
  CHECK(run() == "stop 5");
  CHECK(stopped() == "a b c d e");
}

TEST_CASE_FIXTURE(GroupRun,
                  "a group that the job no longer has: also what has ended is stopped, once") {
  want(0);
  add("a", 0, 1, [](auto alloc) { alloc.setTaskGroup("gone"); });
  add("b", 1, 1, [](auto alloc) {
    alloc.setTaskGroup("gone");
    alloc.setClientStatus(ClientStatus::COMPLETE);
  });
  add("c", 2, 1, [](auto alloc) {
    alloc.setTaskGroup("gone");
    alloc.setClientStatus(ClientStatus::COMPLETE);
    alloc.setDesiredStatus(schema::DesiredStatus::STOP);
  });
  run();
  CHECK(stopped() == "a b");
  CHECK(result.desired_updates.at("gone").stop == 3);
}

TEST_CASE_FIXTURE(GroupRun,
                  "canaries: after the promotion their names decide, not the order of names") {
  want(2, rolling(1, 1));
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 0, 1, in_deployment(true));
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, true));
  CHECK(run() == "destroy 1, stop 1, ignore 1");
  CHECK(stopped() == "a");

  add("e", 0, 0);
  want(3, rolling(1, 1));
  run();
  CHECK(result.stop.size() == 1);  // though two have the canary's name
}

TEST_CASE_FIXTURE(GroupRun, "canaries: the promoted ones of an older deployment stay") {
  want(2, rolling(1, 1));
  add("a", 0, 0);
  add("c", 1, 0, in_deployment(true));
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, true), 0);
  run();
  CHECK(stopped().empty());
}

TEST_CASE_FIXTURE(GroupRun, "canaries: those that are given up count as stopped") {
  want(2, rolling(1, 1));
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 0, 1, in_deployment(false));
  deploy(DeploymentState::FAILED, with_canaries({"c"}, false));
  CHECK(run() == "stop 1, ignore 2");
}

TEST_CASE_FIXTURE(GroupRun,
                  "a new deployment wants what is replaced and what is updated in place") {
  want(2, rolling(1));
  add("a", 0, 0);
  add("b", 1, 0);
  for (const auto kind : {UpdateKind::destructive, UpdateKind::in_place}) {
    kind_of_update = kind;
    run();
    REQUIRE(result.deployment);
    CHECK(result.deployment->getTaskGroups()[0].getValue().getDesiredTotal() == 2);
  }
}

TEST_CASE_FIXTURE(GroupRun,
                  "a version that ran before begins a deployment only to change what is there") {
  want(2, rolling(1));
  add("a", 0, 1);
  CHECK(run() == "place 1, ignore 1");
  CHECK_FALSE(result.deployment);
  add("b", 1, 0);
  for (const auto kind : {UpdateKind::destructive, UpdateKind::in_place}) {
    kind_of_update = kind;
    run();
    CHECK(result.deployment);
  }
}

TEST_CASE_FIXTURE(GroupRun, "what moves does not raise how many are replaced at a time") {
  want(4, rolling(1));
  add("a", 0, 0, migrates);
  add("b", 1, 0, migrates);
  add("c", 2, 0);
  add("d", 3, 0);
  CHECK(run() == "destroy 1, migrate 2, ignore 1");
}

TEST_CASE_FIXTURE(GroupRun, "without canaries the newest version replaces what moves") {
  want(1);
  add("a", 0, 1, migrates);
  run();
  REQUIRE(result.place.size() == 1);
  CHECK_FALSE(result.place[0].downgrade);
}

TEST_CASE_FIXTURE(GroupRun, "a paused deployment holds back no replacement of what failed") {
  want(1, rolling(1));
  add("a", 0, 1, [this](auto alloc) {
    failed_before(60 * second, "d")(alloc);
    alloc.initDesiredTransition().getReschedule().setValue(true);
  });
  deploy(DeploymentState::PAUSED);
  CHECK(run() == "place 1, stop 1");
  CHECK(placed() == "0");
  deploy(DeploymentState::FAILED);
  CHECK(run().empty());
}

TEST_CASE_FIXTURE(GroupRun,
                  "a deployment is not done while anything is to be placed, moved or replaced") {
  want(2, rolling(1));
  add("a", 0, 1, in_deployment(true));
  add("b", 1, 1, in_deployment(true));
  deploy(DeploymentState::RUNNING, all_healthy);
  run();
  REQUIRE(new_status() == static_cast<int>(DeploymentState::SUCCESSFUL));
  entries.pop_back();
  SUBCASE("one is replaced, one placed") {
    entries.clear();
    add("b", 1, 0);
  }
  SUBCASE("one is replaced, one moved") {
    entries.clear();
    add("a", 0, 1, migrates);
    add("b", 1, 0);
  }
  SUBCASE("one is placed for one that failed") {
    add("b", 1, 1, [this](auto alloc) {
      failed_before(60 * second, "d")(alloc);
      alloc.initDesiredTransition().getReschedule().setValue(true);
    });
  }
  SUBCASE("one is replaced, one waits for its reschedule time") {
    entries.clear();
    add("a", 0, 1, failed_before(0));
    add("b", 1, 0);
  }
  run();
  CHECK(new_status() == -1);
}

TEST_CASE_FIXTURE(GroupRun, "a group that its deployment does not know does not keep it open") {
  want(1, rolling(1));
  add("a", 0, 1);
  deploy(DeploymentState::RUNNING);
  Draft<schema::Deployment> without{deployment};
  without->initTaskGroups(0);
  deployment = without.freeze();
  run();
  CHECK(new_status() == static_cast<int>(DeploymentState::SUCCESSFUL));
}

TEST_CASE_FIXTURE(GroupRun,
                  "a deployment of several regions waits for its peers when it is done, once") {
  want(1, rolling(1));
  add("a", 0, 1, in_deployment(true));
  const auto status_after = [this](DeploymentState status) {
    deploy(status, all_healthy);
    Draft<schema::Deployment> draft{deployment};
    draft->setIsMultiregion(true);
    deployment = draft.freeze();
    run();
    return new_status();
  };
  CHECK(status_after(DeploymentState::RUNNING) == static_cast<int>(DeploymentState::BLOCKED));
  CHECK(status_after(DeploymentState::BLOCKED) == -1);
  CHECK(status_after(DeploymentState::UNBLOCKING) == -1);
}

TEST_CASE_FIXTURE(GroupRun, "what a deployment has left failed is looked at when it is over") {
  want(2, [](auto group) {
    rolling(1)(group);
    group.getReschedulePolicy().setUnlimited(true);
  });
  add("a", 0, 1, in_deployment(true));
  add("b", 1, 1, [this](auto alloc) {
    failed_before(0, "d")(alloc);
    alloc.initDeploymentStatus().getHealthy().setValue(true);  // it was, before
  });
  deploy(DeploymentState::RUNNING, [](auto group) { group.setHealthyAllocs(2); });
  run();
  CHECK(new_status() == static_cast<int>(DeploymentState::SUCCESSFUL));
  REQUIRE(result.followups.size() == 1);
  CHECK(result.followups[0]->getWaitUntil() == now);
  CHECK(result.followups[0]->getTriggeredBy() == schema::EvalTrigger::ALLOC_FAILURE);

  deploy(DeploymentState::RUNNING, [](auto group) { group.setHealthyAllocs(1); });
  run();
  CHECK(new_status() == -1);
  CHECK(result.followups.empty());
}
