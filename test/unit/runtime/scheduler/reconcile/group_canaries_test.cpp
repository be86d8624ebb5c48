// Canaries of one group, and when its deployment begins and is done.
#include "test/unit/runtime/scheduler/reconcile/group_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(GroupRun, "canaries: placed beside the rest, which waits for their promotion") {
  want(3, rolling(3, 2));
  for (const auto* id : {"a", "b", "c"})
    add(id, id[0] - 'a', 0);
  CHECK(run() == "canary 2, ignore 3");
  CHECK(placed() == "0 1");
  CHECK(result.place.at(0).canary);
  REQUIRE(result.deployment);
  const auto group = result.deployment->getTaskGroups()[0].getValue();
  CHECK(group.getDesiredCanaries() == 2);
  CHECK(group.getDesiredTotal() == 3);
  CHECK(group.getProgressDeadline() == 600 * second);
  CHECK(view(result.deployment->getStatusDescription())
        == "Deployment is running but requires manual promotion");
}

TEST_CASE_FIXTURE(GroupRun, "canaries: only those that lack are placed, and none when held") {
  want(3, rolling(3, 2));
  for (const auto* id : {"a", "b", "c"})
    add(id, id[0] - 'a', 0);
  add("d", 0, 1, in_deployment(std::nullopt));
  const auto one_of_two = [](schema::DeploymentGroup::Builder group) {
    with_canaries({"d"}, false)(group);
    group.setDesiredCanaries(2);
  };
  deploy(DeploymentState::RUNNING, one_of_two);
  CHECK(run() == "canary 1, ignore 4");
  CHECK(placed() == "1");
  deploy(DeploymentState::PAUSED, one_of_two);
  CHECK(run() == "ignore 4");

  add("e", 1, 1, in_deployment(std::nullopt));
  deploy(DeploymentState::RUNNING, with_canaries({"d", "e"}, false));
  CHECK(run() == "ignore 5");
  CHECK(result.place.empty());
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one comes in the place of one whose client is away") {
  want(2, [](auto group) {
    rolling(1, 1)(group);
    tolerates_absence(group);
  });
  taint("away", NodeStatus::DISCONNECTED);
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 0, 1, [](auto alloc) {
    in_deployment(true)(alloc);
    alloc.setNodeId("away");
    alloc.initDeploymentStatus().setCanary(true);
  });
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, false));
  run();
  REQUIRE(result.place.size() == 1);
  CHECK(result.place[0].canary);
  CHECK(result.place[0].previous->id() == "c");
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one whose client is back is there again") {
  want(2, [](auto group) {
    rolling(1, 1)(group);
    tolerates_absence(group);
  });
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 0, 1, [this](auto alloc) {
    in_deployment(true)(alloc);
    alloc.initDeploymentStatus().setCanary(true);
    auto states = alloc.initAllocStates(1);
    states[0].setField("client_status");
    states[0].setValue("unknown");
    states[0].setTime(now - 100 * second);
  });
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, false));
  run();
  CHECK(result.place.empty());
  CHECK(result.row_updates.size() == 1);
}

TEST_CASE_FIXTURE(GroupRun, "canaries: after the promotion those go whose names they have") {
  want(2, rolling(1, 1));
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 1, 1, in_deployment(true));
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, true));
  CHECK(run() == "destroy 1, stop 1, ignore 1");
  CHECK(stopped() == "b");
  REQUIRE(result.destructive.size() == 1);
  CHECK(result.destructive[0].previous->id() == "a");
}

TEST_CASE_FIXTURE(GroupRun,
                  "canaries: after the promotion they stay, whoever has ended meanwhile") {
  want(3, rolling(2, 2));
  add("a", 0, 0, failed_before(0));
  add("b", 1, 0);
  add("c", 2, 0, failed_before(0));
  add("d", 1, 1, in_deployment(true));
  add("e", 0, 1, in_deployment(true));
  deploy(DeploymentState::RUNNING, with_canaries({"d", "e"}, true));
  CHECK(run() == "destroy 1, stop 2, ignore 2");
  CHECK(stopped() == "a b");
  REQUIRE(result.destructive.size() == 1);
  CHECK(result.destructive[0].previous->id() == "c");
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one is awaited while what it is to replace moves") {
  want(1, rolling(1, 1));
  add("a", 0, 0, migrates);
  deploy(DeploymentState::RUNNING, [](auto group) { group.setDesiredCanaries(1); });
  CHECK(run() == "canary 1, migrate 1");
  CHECK(placed() == "0 0");
  CHECK(result.place.at(0).canary);
  CHECK(result.place.at(1).downgrade);

  add("c", 0, 1, in_deployment(std::nullopt));
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, false));
  CHECK(run() == "migrate 1, ignore 1");
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one is awaited while what it is to replace has failed") {
  want(1, [](auto group) {
    rolling(1, 1)(group);
    group.getReschedulePolicy().setUnlimited(true);
  });
  deploy(DeploymentState::RUNNING, [](auto group) { group.setDesiredCanaries(1); });
  SUBCASE("failed") {
    add("a", 0, 0, failed_before(3600 * second));
    CHECK(run() == "place 1, canary 1, stop 1");
  }
  SUBCASE("lost") {
    taint("n", NodeStatus::DOWN);
    add("a", 0, 0);
    CHECK(run() == "place 1, canary 1, stop 1");
  }
  CHECK(placed() == "0 0");
  CHECK(result.place.at(0).canary);
  CHECK(result.place.at(1).downgrade);
}

TEST_CASE_FIXTURE(GroupRun, "canaries: those of a deployment before the last end, too") {
  want(2, rolling(1, 1));
  add("a", 0, 1, in_deployment(true));
  add("b", 1, 1, in_deployment(true));
  add("c", 0, 0, [](auto alloc) {
    alloc.setDeploymentId("earlier");
    alloc.initDeploymentStatus().setCanary(true);
  });
  deploy(DeploymentState::RUNNING);
  CHECK(run() == "stop 1, ignore 2");
  CHECK(stopped() == "c");
}

TEST_CASE_FIXTURE(GroupRun,
                  "canaries: what is lost of the old version comes back as the old version") {
  want(2, rolling(1, 1));
  taint("n", NodeStatus::DOWN);
  add("a", 0, 0);
  add("b", 1, 0, on("well"));
  add("c", 0, 1, on("well"));
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, false));
  CHECK(run() == "place 1, stop 1, ignore 2");
  REQUIRE(result.place.size() == 1);
  CHECK(result.place[0].downgrade);
  CHECK(result.place[0].min_job_version == 0);
}

TEST_CASE_FIXTURE(GroupRun, "canaries: those of a failed or an older deployment are stopped") {
  want(2, rolling(1, 1));
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 0, 1, in_deployment(false));
  deploy(DeploymentState::FAILED, with_canaries({"c"}, false));
  run();
  CHECK(stopped() == "c");
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, false), 0);
  run();
  CHECK(stopped() == "c");
  CHECK(result.deployment_changes.at(0).description == "Cancelled due to newer version of job");
  deploy(DeploymentState::FAILED, with_canaries({"c"}, true));
  run();
  CHECK(stopped() != "c");
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one that is stopped already is not stopped again") {
  want(1, rolling(1, 1));
  add("a", 0, 0);
  add("c", 0, 1, [](auto alloc) { alloc.setDesiredStatus(DesiredStatus::STOP); });
  deploy(DeploymentState::FAILED, with_canaries({"c"}, false));
  run();
  CHECK(stopped().empty());
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one that was replaced is told that it is not needed, once") {
  want(1, rolling(1, 1));
  add("a", 0, 0);
  std::string_view reason = alloc_rescheduled;
  SUBCASE("first") {}
  SUBCASE("again") {
    reason = alloc_not_needed;
  }
  add("c", 0, 1, [reason](auto alloc) {
    alloc.setDesiredStatus(DesiredStatus::STOP);
    alloc.setDesiredDescription(text(reason));
    alloc.setClientStatus(ClientStatus::FAILED);
  });
  deploy(DeploymentState::FAILED, with_canaries({"c"}, false));
  run();
  CHECK(stopped() == (reason == alloc_rescheduled ? "c" : ""));
}

TEST_CASE_FIXTURE(GroupRun, "canaries: one on a node that is lost is given up at once") {
  want(1, rolling(1, 1));
  taint("n", NodeStatus::DOWN);
  add("a", 0, 0, on("well"));
  add("c", 0, 1);
  deploy(DeploymentState::RUNNING, with_canaries({"c"}, false));
  CHECK(run() == "canary 1, ignore 1");
  CHECK(stopped() == "c");
}

TEST_CASE_FIXTURE(GroupRun, "a deployment begins with a version's first change, not later") {
  want(1, rolling(1));
  CHECK(run() == "place 1");
  CHECK(result.deployment);
  add("a", 0, 1);
  CHECK(run() == "ignore 1");
  CHECK_FALSE(result.deployment);
  entries.clear();
  add("a", 0, 1, [](auto alloc) { alloc.setJobCreateIndex(incarnation - 1); });
  want(2, rolling(1));
  CHECK(run() == "place 1, ignore 1");
  CHECK(result.deployment);  // it was another job of that name
  want(0, rolling(1));
  entries.clear();
  run();
  CHECK_FALSE(result.deployment);
  want(1, rolling(0));
  run();
  CHECK_FALSE(result.deployment);
}

TEST_CASE_FIXTURE(GroupRun, "a deployment is done when all that it wants is healthy and promoted") {
  want(2, rolling(1));
  add("a", 0, 1, in_deployment(true));
  add("b", 1, 1, in_deployment(true));
  const auto healthy = [](std::int64_t count, bool canary, bool promoted) -> EditState {
    return [=](schema::DeploymentGroup::Builder group) {
      group.setHealthyAllocs(count);
      group.setDesiredCanaries(canary ? 1 : 0);
      group.setPromoted(promoted);
    };
  };
  deploy(DeploymentState::RUNNING, healthy(1, false, false));
  run();
  CHECK(new_status() == -1);
  deploy(DeploymentState::RUNNING, healthy(2, true, false));
  run();
  CHECK(new_status() == -1);
  deploy(DeploymentState::RUNNING, healthy(2, true, true));
  run();
  CHECK(new_status() == static_cast<int>(DeploymentState::SUCCESSFUL));
  deploy(DeploymentState::RUNNING, healthy(2, false, false));
  run();
  CHECK(new_status() == static_cast<int>(DeploymentState::SUCCESSFUL));
  deploy(DeploymentState::FAILED, healthy(2, false, false));
  run();
  CHECK(new_status() == -1);

  deploy(DeploymentState::RUNNING, healthy(2, false, false));
  add("c", 2, 1, failed_before(0));
  want(3, rolling(1));
  run();
  CHECK(new_status() == -1);  // one waits for its reschedule time
}
