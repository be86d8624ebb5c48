// A group whose client is away for a while, and which of two stays when it is back.
#include "test/unit/runtime/scheduler/reconcile/group_harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// An original that is back, and its replacement.
struct ClientReturn : GroupRun {
  ClientReturn() { want(1, tolerates_absence); }

  void add_original(const EditAlloc& edit = {}) {
    add("a", 0, 1, [this, &edit](auto alloc) {
      auto states = alloc.initAllocStates(1);
      states[0].setField("client_status");
      states[0].setValue("unknown");
      states[0].setTime(now - 100 * second);
      alloc.setNextAllocation("b");
      if (edit) edit(alloc);
    });
  }

  void add_replacement(const EditAlloc& edit = {}) {
    add("b", 0, 1, [&edit](auto alloc) {
      alloc.setPreviousAllocation("a");
      if (edit) edit(alloc);
    });
  }

  /// The entry was placed with this score.
  void score(std::size_t entry, std::optional<double> value) {
    Draft<schema::AllocMetric> metric;
    if (value) {
      auto nodes = metric->initScoreMetaData(2);
      nodes[0].setNormScore(*value);
      nodes[1].setNormScore(*value - 1);
    }
    auto row = *entries[entry].row;
    row.metric = metric.freeze();
    entries[entry].row = state::AllocRef::make(std::move(row));
  }
};

struct ClientAway : GroupRun {
  ClientAway() { taint("away", NodeStatus::DISCONNECTED); }

  /// Of a client that has been away for so many seconds; `next` came in the allocation's place.
  EditAlloc is_away(const char* next, std::int64_t seconds = 100) {
    return [=, this](schema::Allocation::Builder alloc) {
      alloc.setNodeId("away");
      alloc.setClientStatus(ClientStatus::UNKNOWN);
      alloc.setNextAllocation(next);
      auto states = alloc.initAllocStates(1);
      states[0].setField("client_status");
      states[0].setValue("unknown");
      states[0].setTime(now - seconds * second);
    };
  }
};

}  // namespace

TEST_CASE_FIXTURE(GroupRun, "absence: the client is given time from when it was first missed") {
  want(1, [](auto group) {
    tolerates_absence(group);
    group.getReschedulePolicy().setUnlimited(false);
  });
  taint("n", NodeStatus::DISCONNECTED);
  add("a", 0, 1);
  run();
  REQUIRE(result.followups.size() == 1);
  CHECK(result.followups[0]->getWaitUntil() == now + 600 * second);
  CHECK(result.followups[0]->getTriggeredBy() == schema::EvalTrigger::MAX_DISCONNECT_TIMEOUT);
  REQUIRE(result.row_updates.size() == 1);
  CHECK(result.row_updates[0].client_status == ClientStatus::UNKNOWN);
  CHECK(result.place.empty());

  entries.clear();
  add("a", 0, 1, [this](auto alloc) {
    auto states = alloc.initAllocStates(1);
    states[0].setField("client_status");
    states[0].setValue("unknown");
    states[0].setTime(now - 100 * second);
  });
  run();
  REQUIRE(result.followups.size() == 1);
  CHECK(result.followups[0]->getWaitUntil() == now + 500 * second);
}

TEST_CASE_FIXTURE(ClientAway,
                  "absence: a new version replaces who is here, not whom it stands in for") {
  want(1, tolerates_absence);
  add("a", 0, 0, is_away("b"));
  add("b", 0, 0, [this](auto alloc) {
    failed_before(3600 * second)(alloc);
    alloc.setDesiredStatus(DesiredStatus::STOP);
    alloc.setNextAllocation("c");
  });
  add("c", 0, 0);
  CHECK(run() == "destroy 1, stop 1, ignore 1");
  CHECK(stopped() == "a");
  CHECK(result.destructive.at(0).previous->id() == "c");

  entries.clear();
  add("a", 0, 0, is_away(""));
  CHECK(run() == "destroy 1");
}

TEST_CASE_FIXTURE(GroupRun, "absence: who is away from now on is no surplus") {
  want(1, tolerates_absence);
  taint("away", NodeStatus::DISCONNECTED);
  add("a", 0, 1);
  add("b", 1, 1, on("away"));
  run();
  CHECK(stopped().empty());
  CHECK(result.row_updates.size() == 1);

  add("c", 2, 1);
  run();
  CHECK(stopped() == "c");
}

TEST_CASE_FIXTURE(ClientReturn, "return: who is too much by then is only told to end") {
  want(0, tolerates_absence);
  add_original();
  run();
  CHECK(stopped() == "a");
  CHECK(result.row_updates.empty());
}

TEST_CASE_FIXTURE(ClientReturn, "return: who was told to end before is not told again") {
  for (const auto status : {NodeStatus::DISCONNECTED, NodeStatus::READY}) {
    for (const auto of_client : {ClientStatus::UNKNOWN, ClientStatus::RUNNING}) {
      if (status == NodeStatus::DISCONNECTED && of_client == ClientStatus::RUNNING) continue;
      ClientReturn fresh;
      fresh.taint("n", status);
      fresh.add_original([of_client](auto alloc) {
        alloc.setClientStatus(of_client);
        alloc.setDesiredStatus(DesiredStatus::STOP);
        migrates(alloc);
      });
      fresh.add_replacement(on("other"));
      CHECK(fresh.run() == "ignore 2");
      CHECK(fresh.result.stop.empty());
    }
  }
}

TEST_CASE_FIXTURE(GroupRun, "absence: who was told to end before it ran is not lost") {
  want(1, tolerates_absence);
  taint("away", NodeStatus::DISCONNECTED);
  add("a", 1, 0, [](auto alloc) {
    alloc.setNodeId("away");
    alloc.setClientStatus(ClientStatus::PENDING);
    alloc.setDesiredStatus(DesiredStatus::STOP);
  });
  CHECK(run() == "place 1, ignore 1");
  CHECK(result.place.at(0).previous == nullptr);
  CHECK(result.stop.empty());
}

TEST_CASE_FIXTURE(ClientAway, "absence: whose time is over has no second successor") {
  want(3, tolerates_absence);
  add("a", 0, 1, is_away("c", 3600));
  add("b", 1, 1, is_away("", 3600));
  add("c", 0, 1);
  add("d", 2, 1);
  run();
  CHECK(stopped() == "a b");
  REQUIRE(result.place.size() == 1);
  CHECK(result.place[0].previous->id() == "b");
}

TEST_CASE_FIXTURE(ClientAway, "absence: who is to move has no second successor") {
  want(3, tolerates_absence);
  add("a", 0, 1, [this](auto alloc) {
    is_away("c")(alloc);
    migrates(alloc);
  });
  add("c", 0, 1);
  add("d", 1, 1);
  CHECK(run() == "place 1, stop 1, ignore 2");
  CHECK(stopped() == "a");
  CHECK(placed() == "2");

  entries.clear();
  add("a", 0, 1, [](auto alloc) {  // whose end got lost with a part of a plan
    migrates(alloc);
    alloc.setNextAllocation("c");
  });
  add("c", 0, 1);
  CHECK(run() == "place 2, stop 1, ignore 1");
  CHECK(placed() == "1 2");
}

TEST_CASE_FIXTURE(ClientAway, "absence: a canary that is to be replaced has no second successor") {
  want(2, [](auto group) {
    rolling(1, 1)(group);
    tolerates_absence(group);
    group.getReschedulePolicy().setUnlimited(true);
  });
  add("a", 0, 0);
  add("b", 1, 0);
  add("c", 0, 1, [this](auto alloc) {
    in_deployment(false)(alloc);
    is_away("d")(alloc);
    alloc.setFollowupEvalId("eval");
    alloc.initDesiredTransition().getReschedule().setValue(true);
    alloc.getDeploymentStatus().setCanary(true);
  });
  add("d", 0, 1, [](auto alloc) {
    in_deployment(std::nullopt)(alloc);
    alloc.initDeploymentStatus().setCanary(true);
  });
  deploy(DeploymentState::RUNNING, [](schema::DeploymentGroup::Builder group) {
    with_canaries({"c", "d"}, false)(group);
    group.setDesiredCanaries(1);
  });
  run();
  CHECK(stopped().empty());
  CHECK(result.place.empty());
}

TEST_CASE_FIXTURE(GroupRun, "absence: an allocation is awaited as its own version says") {
  const auto tolerates = [](std::int64_t time) {
    return [time](auto group) {
      group.getMaxClientDisconnect().setValue(time);
      group.getReschedulePolicy().setUnlimited(false);
    };
  };
  want(1, tolerates(600 * second));
  taint("n", NodeStatus::DISCONNECTED);
  add("a", 0, 0);
  want(1, tolerates(5 * second));
  run();
  REQUIRE(result.followups.size() == 1);
  CHECK(result.followups[0]->getWaitUntil() == now + 600 * second);
}

TEST_CASE_FIXTURE(ClientReturn, "absence: who was told to end before has no successor when lost") {
  want(2, tolerates_absence);
  taint("n", NodeStatus::DISCONNECTED);
  now += 3600 * second;
  add("a", 0, 0, [this](auto alloc) {
    auto states = alloc.initAllocStates(1);
    states[0].setField("client_status");
    states[0].setValue("unknown");
    states[0].setTime(now - 3600 * second);
    alloc.setClientStatus(ClientStatus::UNKNOWN);
    alloc.setDesiredStatus(DesiredStatus::STOP);
  });
  add("b", 0, 1, on("other"));
  run();
  CHECK(stopped() == "a");
  CHECK(placed() == "1");
  CHECK(result.place.at(0).previous == nullptr);
}

TEST_CASE_FIXTURE(ClientReturn,
                  "return: of two that run the original stays, unless it is worse placed") {
  add_original();
  add_replacement();
  run();
  CHECK(stopped() == "b");
  CHECK(result.stop.at(0).description == alloc_reconnected);
  REQUIRE(result.row_updates.size() == 1);
  CHECK(result.row_updates[0].append_state == ClientStatus::RUNNING);

  score(0, 0.5);
  score(1, 0.5);
  run();
  CHECK(stopped() == "b");
  score(1, 0.6);
  run();
  CHECK(stopped() == "a");
  score(0, {});
  run();
  CHECK(stopped() == "a");
  score(1, {});
  run();
  CHECK(stopped() == "b");
}

TEST_CASE_FIXTURE(ClientReturn, "return: the successor of a successor goes as that would") {
  want(2, tolerates_absence);
  add_original();
  add_replacement([](auto alloc) {
    alloc.setDesiredStatus(DesiredStatus::STOP);
    alloc.setNextAllocation("c");
  });
  add("c", 0, 1);
  add("d", 1, 1);
  run();
  CHECK(stopped() == "c");
}

TEST_CASE_FIXTURE(ClientReturn, "return: a better place counts only for who runs as well") {
  add_original();
  add_replacement([](auto alloc) { alloc.setClientStatus(ClientStatus::PENDING); });
  score(0, 0.1);
  score(1, 0.9);
  run();
  CHECK(stopped() == "b");
}

TEST_CASE_FIXTURE(ClientReturn, "return: the newer version or incarnation stays") {
  add_original();
  SUBCASE("version") {
    add_replacement([](auto alloc) { alloc.setJobVersion(2); });
  }
  SUBCASE("incarnation") {
    add_replacement([](auto alloc) { alloc.setJobCreateIndex(incarnation + 1); });
  }
  run();
  CHECK(stopped() == "a");
}

TEST_CASE_FIXTURE(ClientReturn,
                  "return: a replacement that failed or is stopped is left as it is") {
  want(2, tolerates_absence);
  add_original();
  SUBCASE("failed") {
    add_replacement([](auto alloc) { alloc.setClientStatus(ClientStatus::FAILED); });
  }
  SUBCASE("stopped") {
    add_replacement([](auto alloc) { alloc.setDesiredStatus(DesiredStatus::STOP); });
  }
  run();
  CHECK(stopped().empty());
}

TEST_CASE_FIXTURE(ClientReturn, "return: what is to go, or failed meanwhile, goes") {
  add_replacement();
  SUBCASE("failed") {
    add_original([](auto alloc) { alloc.setClientStatus(ClientStatus::FAILED); });
    run();
    CHECK(result.stop.at(0).client_status == ClientStatus::FAILED);
    CHECK(result.stop.at(0).description == alloc_rescheduled);
  }
  SUBCASE("to be replaced by hand") {
    add_original(
        [](auto alloc) { alloc.initDesiredTransition().getForceReschedule().setValue(true); });
    run();
  }
  SUBCASE("to be replaced by the watcher") {
    add_original([](auto alloc) { alloc.initDesiredTransition().getReschedule().setValue(true); });
    run();
  }
  SUBCASE("of an older version") {
    add_original([](auto alloc) { alloc.setJobVersion(0); });
    run();
  }
  CHECK(stopped() == "a");
}

namespace {

/// An original that is back, its replacement, and what the group says about such two.
struct ReturnByStrategy : ClientReturn {
  void strategy(const char* name) {
    want(1, [name](auto group) {
      auto block = group.initDisconnect();
      block.getLostAfter().setValue(600 * second);
      block.getReplace().setValue(true);
      block.setReconcile(name);
    });
  }

  /// Its task began so many seconds ago, for the last time after `restarts`; 0: it has not.
  EditAlloc runs_for(std::int64_t seconds, std::uint64_t restarts = 0) const {
    return [=, this](schema::Allocation::Builder alloc) {
      auto entry = alloc.initTaskStates(1)[0];
      entry.setKey("server");
      if (seconds == 0) return;
      entry.initValue().setRestarts(restarts);
      entry.getValue().setStartedAt(now - (restarts == 0 ? seconds : 3600) * second);
      entry.getValue().setLastRestart(restarts == 0 ? 0 : now - seconds * second);
    };
  }

  /// Who is stopped of two that began so long ago.
  std::string stopped_of(const EditAlloc& original, const EditAlloc& replacement) {
    entries.clear();
    add_original(original);
    add_replacement(replacement);
    run();
    return stopped();
  }
};

}  // namespace

TEST_CASE_FIXTURE(ReturnByStrategy, "return: the block's best score is what a group without has") {
  strategy("best_score");
  add_original();
  add_replacement();
  score(0, 0.5);
  score(1, 0.6);
  run();
  CHECK(stopped() == "a");
  score(0, 0.6);
  run();
  CHECK(stopped() == "b");
}

TEST_CASE_FIXTURE(ReturnByStrategy, "return: keep_original and keep_replacement look at no score") {
  strategy("keep_original");
  add_original();
  add_replacement();
  score(0, 0.1);
  score(1, 0.9);
  run();
  CHECK(stopped() == "b");
  CHECK(result.stop.at(0).description == alloc_reconnected);

  strategy("keep_replacement");
  score(0, 0.9);
  score(1, 0.1);
  run();
  CHECK(stopped() == "a");
  CHECK(result.stop.at(0).description == alloc_not_needed);
}

TEST_CASE_FIXTURE(ReturnByStrategy, "return: a newer version stays, whatever the strategy") {
  for (const auto* name : {"best_score", "longest_running", "keep_original", "keep_replacement"}) {
    strategy(name);
    CAPTURE(name);
    CHECK(stopped_of(runs_for(100),
                     [this](auto alloc) {
                       runs_for(10)(alloc);
                       alloc.setJobVersion(2);
                     })
          == "a");
  }
}

TEST_CASE_FIXTURE(ReturnByStrategy, "return: longest_running looks at the last start of the task") {
  strategy("longest_running");
  CHECK(stopped_of(runs_for(100), runs_for(10)) == "b");
  CHECK(stopped_of(runs_for(10), runs_for(100)) == "a");
  CHECK(stopped_of(runs_for(10), runs_for(10)) == "a");
  CHECK(stopped_of(runs_for(10, 1), runs_for(100)) == "a");
  CHECK(stopped_of(runs_for(100), runs_for(10, 1)) == "b");
  CHECK(stopped_of(runs_for(10), runs_for(0)) == "b");
  CHECK(stopped_of(runs_for(0), runs_for(10)) == "a");
}

TEST_CASE_FIXTURE(ReturnByStrategy, "return: of two that never began the better placed one stays") {
  strategy("longest_running");
  add_original(runs_for(0));
  add_replacement(runs_for(0));
  score(0, 0.5);
  score(1, 0.6);
  run();
  CHECK(stopped() == "a");
  score(0, 0.7);
  run();
  CHECK(stopped() == "b");
}

TEST_CASE_FIXTURE(ReturnByStrategy,
                  "return: longest_running is of the leader, or the oldest task") {
  const auto group_of = [this](bool has_leader) {
    want(1, [has_leader](auto group) {
      group.initDisconnect().setReconcile("longest_running");
      group.getDisconnect().getLostAfter().setValue(600 * second);
      group.getDisconnect().getReplace().setValue(true);
      auto tasks = group.initTasks(2);
      tasks[0].setName("side");
      tasks[1].setName("main");
      tasks[1].setLeader(has_leader);
    });
  };
  const auto began = [this](std::int64_t side, std::int64_t main) {
    return [=, this](schema::Allocation::Builder alloc) {
      auto states = alloc.initTaskStates(2);
      states[0].setKey("main");
      states[0].initValue().setStartedAt(now - main * second);
      states[1].setKey("side");
      states[1].initValue().setStartedAt(now - side * second);
    };
  };
  group_of(false);
  CHECK(stopped_of(began(100, 10), began(50, 60)) == "b");
  group_of(true);
  CHECK(stopped_of(began(100, 10), began(50, 60)) == "a");
}
