// What becomes of one group's allocations, by rule: whose number is too large, whose version too
// old, whose node is lost, and how a deployment holds that back.
#include "runtime/scheduler/reconcile/group_reconciler.hpp"

#include "test/unit/runtime/scheduler/reconcile/group_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(GroupRun, "failures: a deployment holds those of its own groups only") {
  want(1);
  add("a", 0, 1, failed_before(3600 * second, "d"));
  deploy(DeploymentState::RUNNING);
  CHECK(run() == "ignore 1");

  Draft<schema::Deployment> draft{deployment};
  draft->getTaskGroups()[0].setKey("another");
  deployment = draft.freeze();
  CHECK(run() == "place 1, stop 1");
}

TEST_CASE_FIXTURE(GroupRun, "surplus: the highest names go, then any of those that share one") {
  want(2);
  add("a", 0, 1);
  add("b", 1, 1);
  CHECK(run() == "ignore 2");
  add("c", 3, 1);
  add("d", 2, 1);
  CHECK(run() == "stop 2, ignore 2");
  CHECK(stopped() == "c d");

  entries.clear();
  want(1);
  for (const auto* id : {"a", "b", "c"})
    add(id, 0, 1);
  CHECK(run() == "stop 2, ignore 1");
  want(-1);
  CHECK(run() == "stop 3");
}

TEST_CASE_FIXTURE(GroupRun, "surplus: of those that share a name one stays, the newest version's") {
  want(2);
  add("a", 0, 1);
  add("b", 1, 1);
  add("c", 0, 1);
  CHECK(run() == "stop 1, ignore 2");
  CHECK(stopped() == "c");

  entries.clear();
  add("a", 0, 0);
  add("b", 1, 1);
  add("c", 0, 1);
  CHECK(run() == "stop 1, ignore 2");
  CHECK(stopped() == "a");
}

TEST_CASE_FIXTURE(GroupRun, "surplus: the highest of the names that live go") {
  want(2);
  add("a", 0, 1);
  add("b", 1, 1);
  add("c", 2, 1, failed_before(0));
  run();
  CHECK(stopped() == "b");
}

TEST_CASE_FIXTURE(GroupRun, "surplus: who has ended is not stopped, and frees its name") {
  want(1);
  add("a", 0, 1, [](auto alloc) { alloc.setClientStatus(ClientStatus::COMPLETE); });
  add("b", 1, 1);
  CHECK(run() == "ignore 1");
  CHECK(stopped().empty());
}

TEST_CASE_FIXTURE(GroupRun, "surplus: who has failed is not replaced by more than are wanted") {
  want(0, [](auto group) { group.getReschedulePolicy().setUnlimited(true); });
  add("a", 0, 1, failed_before(3600 * second));
  CHECK(run() == "stop 1");
  CHECK(placed().empty());
  CHECK(stopped() == "a");

  entries.clear();
  want(2, [](auto group) { group.getReschedulePolicy().setUnlimited(true); });
  add("a", 0, 1);
  add("b", 1, 1, failed_before(3600 * second));
  add("c", 2, 1, failed_before(3600 * second));
  run();
  CHECK(placed() == "1");
  CHECK(stopped() == "b c");
}

TEST_CASE_FIXTURE(GroupRun, "surplus: who has ended and is too much gets no newer successor") {
  const auto never_again = [](auto group) { group.getReschedulePolicy().setUnlimited(false); };
  want(0, never_again);
  add("a", 0, 0, failed_before(0));
  CHECK(run() == "stop 1");
  CHECK(result.destructive.empty());

  entries.clear();
  want(1, never_again);
  add("a", 0, 0, failed_before(0));
  add("b", 1, 0, failed_before(0));
  CHECK(run() == "destroy 1, stop 1");
  CHECK(result.destructive.at(0).previous->id() == "a");
  CHECK(stopped() == "b");

  kind_of_update = UpdateKind::ignore;
  CHECK(run() == "ignore 2");
}

TEST_CASE_FIXTURE(GroupRun, "surplus: what has to move anyway goes first, and moves no more") {
  want(2);
  add("a", 0, 1);
  add("b", 1, 1);
  add("c", 2, 1, migrates);
  CHECK(run() == "stop 1, ignore 2");
  CHECK(stopped() == "c");
  CHECK(placed().empty());

  want(3);
  CHECK(run() == "migrate 1, ignore 2");
  CHECK(placed() == "2");
  CHECK(result.stop.at(0).description == alloc_migrating);
}

TEST_CASE_FIXTURE(GroupRun,
                  "surplus: of several that have to move only so many go as are too many") {
  want(2);
  add("a", 0, 1, migrates);
  add("b", 1, 1, migrates);
  add("c", 2, 1, migrates);
  CHECK(run() == "migrate 2, stop 1");
  CHECK(placed() == "0 1");
  CHECK(result.stop.at(0).alloc->id() == "c");
}

TEST_CASE_FIXTURE(GroupRun,
                  "surplus: an allocation whose client is away does not push others out") {
  want(1, tolerates_absence);
  add("a", 0, 1);
  add("b", 0, 1, [](auto alloc) { alloc.setClientStatus(ClientStatus::UNKNOWN); });
  CHECK(run() == "ignore 2");
  CHECK(stopped().empty());
}

TEST_CASE_FIXTURE(GroupRun, "lost ones are replaced only as far as the count goes") {
  want(2);
  taint("n", NodeStatus::DOWN);
  add("a", 0, 1, on("well"));
  add("b", 1, 1);
  add("c", 2, 1);
  CHECK(run() == "place 1, stop 2, ignore 1");
  CHECK(stopped() == "b c");
  REQUIRE(result.place.size() == 1);
  CHECK(result.place[0].lost);
  CHECK(result.place[0].previous->id() == "b");
  CHECK(result.stop.at(0).client_status == ClientStatus::LOST);

  want(4);
  CHECK(run() == "place 3, stop 2, ignore 1");
  CHECK(placed() == "1 2 3");
}

TEST_CASE_FIXTURE(GroupRun, "missing ones get the lowest free names") {
  want(4);
  add("a", 1, 1);
  CHECK(run() == "place 3, ignore 1");
  CHECK(placed() == "0 2 3");
  for (const auto& request : result.place) {
    CHECK(request.previous == nullptr);
    CHECK_FALSE(request.canary);
    CHECK_FALSE(request.downgrade);
  }
}

TEST_CASE_FIXTURE(GroupRun, "without an update strategy all change at once") {
  want(3);
  for (const auto* id : {"a", "b", "c"})
    add(id, id[0] - 'a', 0);
  CHECK(run() == "destroy 3");
  CHECK_FALSE(result.deployment);
  kind_of_update = UpdateKind::in_place;
  CHECK(run() == "in place 3");
  CHECK(result.in_place.size() == 3);
}

TEST_CASE_FIXTURE(GroupRun, "rolling: so many at a time, the lowest names first") {
  want(3, rolling(2));
  add("a", 2, 0);
  add("b", 1, 0);
  add("c", 0, 0);
  CHECK(run() == "destroy 2, ignore 1");
  REQUIRE(result.destructive.size() == 2);
  CHECK(result.destructive[0].previous->id() == "c");
  CHECK(result.destructive[1].previous->id() == "b");
  CHECK(result.destructive[0].stop_previous);
  REQUIRE(result.deployment);
  CHECK(result.deployment->getTaskGroups()[0].getValue().getDesiredTotal() == 3);
}

TEST_CASE_FIXTURE(GroupRun, "rolling: what is placed anew counts among those that change") {
  want(4, rolling(2));
  for (const auto* id : {"a", "b", "c"})
    add(id, id[0] - 'a', 0);
  CHECK(run() == "place 1, destroy 1, ignore 2");
  want(6, rolling(2));
  CHECK(run() == "place 3, ignore 3");
}

TEST_CASE_FIXTURE(GroupRun, "rolling: who is not healthy yet takes a place, who never will all") {
  want(4, rolling(2));
  std::optional<bool> health;
  std::string expected = "destroy 1, ignore 3";
  SUBCASE("not judged yet") {}
  SUBCASE("healthy") {
    health = true;
    expected = "destroy 2, ignore 2";
  }
  SUBCASE("unhealthy") {
    health = false;
    expected = "ignore 4";
  }
  add("a", 0, 1, in_deployment(health));
  for (const auto* id : {"b", "c", "d"})
    add(id, id[0] - 'a', 0);
  deploy(DeploymentState::RUNNING);
  CHECK(run() == expected);
}

TEST_CASE_FIXTURE(GroupRun, "rolling: other deployments' allocations take no place") {
  want(4, rolling(2));
  add("a", 0, 1);
  for (const auto* id : {"b", "c", "d"})
    add(id, id[0] - 'a', 0);
  deploy(DeploymentState::RUNNING);
  CHECK(run() == "destroy 2, ignore 2");
}

TEST_CASE_FIXTURE(GroupRun, "rolling: a deployment that is held or failed changes nothing") {
  want(2, rolling(2));
  add("a", 0, 0);
  add("b", 1, 0);
  for (const auto status : {DeploymentState::PAUSED, DeploymentState::PENDING,
                            DeploymentState::INITIALIZING, DeploymentState::FAILED}) {
    deploy(status);
    CHECK(run() == "ignore 2");
    CHECK(result.destructive.empty());
  }
  deploy(DeploymentState::RUNNING);
  CHECK(run() == "destroy 2");
}

TEST_CASE_FIXTURE(GroupRun, "held back: the lost are replaced, the missing are not") {
  want(3, rolling(1));
  taint("n", NodeStatus::DOWN);
  add("a", 0, 1, on("well"));
  add("b", 1, 1);
  deploy(DeploymentState::PAUSED);
  CHECK(run() == "place 1, stop 1, ignore 1");
  CHECK(placed() == "1");
}

TEST_CASE_FIXTURE(GroupRun,
                  "held back: failures are replaced unless they made the deployment fail") {
  want(2, rolling(1));
  add("a", 0, 1, failed_before(60 * second, "d"));
  add("b", 1, 1, failed_before(60 * second, "earlier"));
  deploy(DeploymentState::FAILED);
  CHECK(run() == "place 1, stop 1");
  CHECK(stopped() == "b");
  CHECK(result.place.at(0).reschedule);

  deploy(DeploymentState::PAUSED);  // the watcher decides about its own
  CHECK(run() == "place 1, stop 1, ignore 1");
  CHECK(stopped() == "b");
}

TEST_CASE_FIXTURE(GroupRun, "failed ones are stopped as they are replaced") {
  want(1);
  add("a", 0, 1, failed_before(60 * second));
  CHECK(run() == "place 1, stop 1");
  CHECK(result.stop.at(0).description == alloc_rescheduled);
  CHECK(result.place.at(0).reschedule);
  CHECK(result.place.at(0).previous->id() == "a");
}

TEST_CASE_FIXTURE(GroupRun, "waiting: failures within less than five seconds share an evaluation") {
  want(3);
  add("a", 0, 1, failed_before(5 * second - 1));
  add("b", 1, 1, failed_before(0));
  run();
  REQUIRE(result.followups.size() == 1);
  CHECK(result.followups[0]->getWaitUntil() == now + 25 * second + 1);
  REQUIRE(result.row_updates.size() == 2);
  CHECK(result.row_updates[0].followup_eval_id == result.row_updates[1].followup_eval_id);

  entries.clear();
  add("a", 0, 1, failed_before(5 * second));
  add("b", 1, 1, failed_before(0));
  add("c", 2, 1, failed_before(0));
  run();
  REQUIRE(result.followups.size() == 2);
  CHECK(result.followups[1]->getWaitUntil() == now + 30 * second);
}

TEST_CASE_FIXTURE(GroupRun, "batch: what ended in an older version is not looked at") {
  is_batch = true;
  want(1);
  add("a", 0, 0, [](auto alloc) { alloc.setClientStatus(ClientStatus::COMPLETE); });
  CHECK(run() == "place 1, ignore 1");
  entries.clear();
  add("a", 0, 1, [](auto alloc) { alloc.setClientStatus(ClientStatus::COMPLETE); });
  CHECK(run() == "ignore 1");
}
