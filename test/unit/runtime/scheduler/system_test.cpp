// The scheduler of system and sysbatch jobs.
#include <set>

#include "runtime/scheduler/dry_run.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

namespace {

struct SystemHarness : Harness {
  Object<schema::Job> system_job(const char* type = "system", const EditJob& edit = {}) {
    return make_job(1, [&](schema::Job::Builder job) {
      job.setType(type);
      job.setName("agent");
      job.getTaskGroups()[0].disownReschedulePolicy();
      if (edit) edit(job);
    });
  }

  std::set<std::string> nodes_in_use() {
    std::set<std::string> nodes;
    for (const auto& row : live())
      nodes.insert(std::string{row->alloc->node_id()});
    return nodes;
  }

  std::string job_status() { return copy(state().job("default", "web")->getStatus()); }

  /// What waits is woken, and made to an end.
  void wake() {
    const auto current = state();
    for (const auto& entry : current.evals_by_job("default", "web", EvalStatus::BLOCKED))
      process(entry.value());
  }
};

}  // namespace

TEST_CASE_FIXTURE(SystemHarness, "one allocation on every node, also on later ones") {
  add_node();
  add_node();
  CHECK(process(register_job(system_job()))->getStatus() == EvalStatus::COMPLETE);
  CHECK(live().size() == 2);
  CHECK(nodes_in_use().size() == 2);
  CHECK(live()[0]->alloc->name() == "agent.api[0]");
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  add_node();
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(nodes_in_use().size() == 3);
}

TEST_CASE_FIXTURE(SystemHarness, "nodes that constraints leave out are no failure") {
  add_node();
  add_node([](schema::Node::Builder node) { node.getAttributes()[1].setValue("windows"); });
  const auto constrain = [](schema::Job::Builder job) {
    auto constraint = job.initConstraints(1)[0];
    constraint.setLTarget("${attr.kernel.name}");
    constraint.setOperand("=");
    constraint.setRTarget("linux");
  };
  const auto eval = process(register_job(system_job("system", constrain)));
  CHECK(live().size() == 1);
  CHECK(eval->getFailedTgAllocs().size() == 0);
  CHECK(eval->getBlockedEval().size() == 0);
}

TEST_CASE_FIXTURE(SystemHarness, "a job that no node wants fails as a whole") {
  add_node([](schema::Node::Builder node) { node.initAttributes(0); });
  const auto eval = process(register_job(system_job()));
  REQUIRE(eval->getFailedTgAllocs().size() == 1);
  const auto metric = eval->getFailedTgAllocs()[0].getValue();
  CHECK(view(metric.getConstraintFiltered()[0].getKey()) == "missing drivers");
  // Of the nodes that there are, only those say something that the job would take.
  CHECK(metric.getNodesInPool() == 0);
  CHECK(metric.getNodesAvailable().size() == 0);
}

TEST_CASE_FIXTURE(SystemHarness, "one blocked evaluation waits for all full nodes") {
  const auto small
      = [](schema::Node::Builder node) { node.getNodeResources().getCpu().setCpuShares(100); };
  const std::set<std::string> full{add_node(small), add_node(small), add_node(small)};
  add_node();
  const auto blocked = [this] {
    std::vector<Object<schema::Evaluation>> found;
    const auto snapshot = state();
    for (const auto& entry : snapshot.evals_by_job("default", "web", EvalStatus::BLOCKED))
      found.push_back(entry.value());
    return found;
  };
  const auto eval = process(register_job(system_job()));
  CHECK(live().size() == 1);
  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(eval->getQueuedAllocations()[0].getValue() == 3);
  CHECK(eval->getBlockedEval().size() == 0);
  REQUIRE(blocked().size() == 1);
  CHECK(full.contains(copy(blocked()[0]->getNodeId())));
  const auto coalesced = [](const Object<schema::Evaluation>& from) {
    return from->getFailedTgAllocs()[0].getValue().getCoalescedFailures();
  };
  CHECK(coalesced(eval) == 2);
  CHECK(coalesced(blocked()[0]) == 0);  // it tells of the node that it names
  // What any of them gives free helps: none of their classes is known to be unfit.
  for (const auto entry : blocked()[0]->getClassEligibility())
    CHECK(entry.getValue());

  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(blocked().size() == 2);  // the tracker cancels the older one of the same node
  CHECK(view(blocked()[0]->getNodeId()) == view(blocked()[1]->getNodeId()));
}

TEST_CASE_FIXTURE(SystemHarness, "stop, down and draining nodes") {
  const auto first = add_node();
  const auto second_node = add_node();
  process(register_job(system_job()));
  report_all_running();
  set_status(first, schema::NodeStatus::DOWN);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(nodes_in_use() == std::set<std::string>{second_node});
  for (const auto& row : allocs())
    if (row->alloc->node_id() == first) CHECK(row->alloc->client_status() == ClientStatus::LOST);
  set_status(first, schema::NodeStatus::READY);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(nodes_in_use().size() == 2);
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });
  process(evaluate(EvalTrigger::JOB_DEREGISTER));
  CHECK(live().empty());
}

TEST_CASE_FIXTURE(SystemHarness, "an ended allocation of a system job is started again") {
  add_node();
  process(register_job(system_job()));
  report(live()[0], ClientStatus::FAILED);
  process(evaluate(EvalTrigger::ALLOC_FAILURE));
  REQUIRE(live().size() == 1);
  CHECK(!live()[0]->alloc->previous().empty());
}

TEST_CASE_FIXTURE(SystemHarness, "an ended allocation of a sysbatch job stays ended") {
  add_node();
  add_node();
  process(register_job(system_job("sysbatch")));
  for (const auto& row : live())
    report(row, ClientStatus::COMPLETE);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  process(register_job(system_job("sysbatch", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setConfig("{\"run_for\":\"1s\"}");
  })));
  CHECK(live().size() == 2);
}

TEST_CASE_FIXTURE(SystemHarness, "what an operator stopped of a sysbatch job stays stopped") {
  add_node();
  process(register_job(system_job("sysbatch")));
  report_all_running();
  apply([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(live()[0]->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  process(evaluate(EvalTrigger::ALLOC_STOP));
  REQUIRE(live().empty());
  SUBCASE("before its client says that it has ended") {}
  SUBCASE("and after") {
    report_killed(allocs()[0], {"Started", "Killing", "Terminated", "Killed"});
  }
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  CHECK(allocs().size() == 1);
}

TEST_CASE_FIXTURE(SystemHarness, "what a drain cut short of a sysbatch job begins anew") {
  const auto node = add_node();
  process(register_job(system_job("sysbatch")));
  report_all_running();
  const auto first = live().at(0);
  const auto drain = [&](bool begins) {
    now += 60 * second;
    apply([&](schema::Command::Builder command) {
      auto update = command.initNodeDrainUpdate();
      update.setNodeId(text(node));
      update.setUpdatedAt(now / second);
      update.initEvent().setSubsystem("Drain");
      if (begins) update.initDrainStrategy();
      update.setMarkEligible(!begins);
    });
  };
  drain(true);
  apply([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(first->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  process(evaluate(EvalTrigger::NODE_DRAIN));
  REQUIRE(live().empty());
  CHECK_MESSAGE(job_status() == "pending", "nothing may forget it");
  wake();
  CHECK_MESSAGE(job_status() == "pending", "it has not ended yet");

  SUBCASE("it was ended") {
    SUBCASE("") {}
    SUBCASE("by a client whose clock is behind") {
      now -= 3600 * second;
    }
    report_killed(first, {"Started", "Killing", "Terminated", "Killed"});
    wake();
    CHECK(job_status() == "pending");
    set_status(node, schema::NodeStatus::DOWN);
    wake();
    CHECK_MESSAGE(job_status() == "pending", "a node that is away comes back");
    set_status(node, schema::NodeStatus::READY);
    drain(false);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    REQUIRE(live().size() == 1);
    CHECK(live()[0]->alloc->previous() == first->alloc->id());
    CHECK(job_status() == "running");
    wake();
    report(live()[0], ClientStatus::COMPLETE);
    CHECK(job_status() == "dead");
  }
  SUBCASE("its node is no more") {
    report_killed(first, {"Started", "Killing", "Terminated", "Killed"});
    wake();
    CHECK(job_status() == "pending");
    apply([&](schema::Command::Builder command) {
      command.initNodeDeregister().initNodeIds(1).set(0, text(node));
    });
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(job_status() == "dead");
  }
  SUBCASE("it was done just then") {
    report_killed(first, {"Started", "Terminated", "Killing"});
    wake();
    CHECK(job_status() == "dead");
    drain(false);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
  }
}

TEST_CASE_FIXTURE(SystemHarness, "ended work that finds no room anew is stopped but once") {
  add_node();
  process(register_job(system_job("sysbatch")));
  report(live().at(0), ClientStatus::COMPLETE);
  process(register_job(system_job("sysbatch", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(5000);  // of 4000
  })));
  CHECK(plans.size() == 1);
  CHECK(live().empty());

  process(evaluate(EvalTrigger::NODE_UPDATE));

  CHECK(plans.empty());
}

TEST_CASE_FIXTURE(SystemHarness, "a sysbatch job runs again when its tasks are others") {
  add_node();
  process(register_job(system_job("sysbatch")));
  report(live()[0], ClientStatus::COMPLETE);
  process(
      register_job(system_job("sysbatch", [](schema::Job::Builder job) { job.setPriority(60); })));
  CHECK(live().empty());
  process(register_job(system_job("sysbatch", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setUser("nobody");
  })));
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(SystemHarness, "updates: in place, and rolling when destructive") {
  for (int i = 0; i < 3; ++i)
    add_node();
  process(register_job(system_job()));
  report_all_running();
  process(register_job(system_job("system", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setKillTimeout(second);
  })));
  for (const auto& row : live())
    CHECK(row->alloc->job_version() == 1);
  CHECK(allocs().size() == 3);

  const auto eval = process(register_job(system_job("system", [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setUser("nobody");
    auto update = job.initUpdate();
    update.setStagger(30 * second);
    update.setMaxParallel(1);
  })));
  std::size_t newest = 0;
  for (const auto& row : live())
    newest += row->alloc->job_version() == 2 ? 1 : 0;
  CHECK(newest == 1);
  CHECK(live().size() == 3);
  const auto next = state().eval(view(eval->getNextEval()));
  REQUIRE(next);
  CHECK(next->getTriggeredBy() == EvalTrigger::ROLLING_UPDATE);
  CHECK(next->getWait() == 30 * second);
  CHECK(next->getWaitUntil() == 0);
  process(next);
  newest = 0;
  for (const auto& row : live())
    newest += row->alloc->job_version() == 2 ? 1 : 0;
  CHECK(newest == 2);
}

namespace {

struct PlannedSystem : SystemHarness {
  DesiredUpdates planned(const Object<schema::Job>& job, bool is_changed = true) {
    const auto run = dry_run(state(), job, is_changed, now, 1);
    REQUIRE(run.has_value());
    REQUIRE(run->desired_updates.size() == 1);
    return run->desired_updates[0].second;
  }

  Object<schema::Job> changed(const EditJob& edit) {
    return system_job("system", [&](schema::Job::Builder job) { edit(job); });
  }
};

}  // namespace

TEST_CASE_FIXTURE(PlannedSystem, "a plan counts what is placed, and what stays") {
  add_node();
  add_node();
  CHECK(planned(system_job()).place == 2);
  process(register_job(system_job()));
  report_all_running();
  add_node();
  const auto after = planned(system_job(), false);
  CHECK(after.place == 1);
  CHECK(after.ignore == 2);
}

TEST_CASE_FIXTURE(PlannedSystem,
                  "a plan counts what is replaced once, and what is changed in place") {
  add_node();
  add_node();
  process(register_job(system_job()));
  report_all_running();
  const auto replaced = planned(changed(
      [](schema::Job::Builder job) { job.getTaskGroups()[0].getTasks()[0].setUser("nobody"); }));
  CHECK(replaced.destructive_update == 2);
  CHECK(replaced.place == 0);
  CHECK(replaced.stop == 0);
  const auto in_place = planned(changed([](schema::Job::Builder job) { job.setPriority(60); }));
  CHECK(in_place.in_place_update == 2);
  CHECK(in_place.destructive_update == 0);
}

TEST_CASE_FIXTURE(PlannedSystem, "a rolling plan counts all that it replaces, at once or later") {
  for (int at = 0; at < 3; ++at)
    add_node();
  process(register_job(system_job()));
  report_all_running();
  const auto rolling = [this](std::int64_t stagger, std::int64_t parallel) {
    return planned(changed([&](schema::Job::Builder job) {
      job.getTaskGroups()[0].getTasks()[0].setUser("nobody");
      auto update = job.initUpdate();
      update.setStagger(stagger);
      update.setMaxParallel(static_cast<int>(parallel));
    }));
  };
  CHECK(rolling(second, 1).destructive_update == 3);
  CHECK(rolling(second, 1).ignore == 0);
  CHECK(rolling(1, 2).destructive_update == 3);
  CHECK(rolling(0, 1).destructive_update == 3);
  CHECK(rolling(second, 0).destructive_update == 3);
  CHECK(rolling(second, 3).ignore == 0);
}

TEST_CASE_FIXTURE(PlannedSystem,
                  "a rolling update of no more than fit at once needs no further evaluation") {
  for (int at = 0; at < 2; ++at)
    add_node();
  process(register_job(system_job()));
  report_all_running();
  const auto further = [this](const char* user, int parallel) {
    const auto eval = process(register_job(changed([&](schema::Job::Builder job) {
      job.getTaskGroups()[0].getTasks()[0].setUser(user);
      auto update = job.initUpdate();
      update.setStagger(second);
      update.setMaxParallel(parallel);
    })));
    return copy(eval->getNextEval());
  };
  CHECK(further("one", 2).empty());
  report_all_running();
  CHECK_FALSE(further("two", 1).empty());
}

TEST_CASE_FIXTURE(PlannedSystem,
                  "a plan counts what stops: on nodes that are down or not wanted any more") {
  const auto down = add_node();
  add_node();
  process(register_job(system_job()));
  report_all_running();
  set_status(down, schema::NodeStatus::DOWN);
  CHECK(planned(system_job(), false).stop == 1);
  const auto elsewhere
      = changed([](schema::Job::Builder job) { job.getDatacenters().set(0, "dc9"); });
  CHECK(planned(elsewhere).stop == 2);
}

TEST_CASE_FIXTURE(SystemHarness, "a node that takes nothing new keeps what its job left it") {
  const auto node = add_node();
  process(register_job(system_job()));
  const auto set_eligibility = [&](schema::SchedulingEligibility eligibility) {
    apply([&](schema::Command::Builder command) {
      auto update = command.initNodeEligibilityUpdate();
      update.setNodeId(text(node));
      update.setEligibility(eligibility);
    });
  };
  set_eligibility(schema::SchedulingEligibility::INELIGIBLE);
  process(register_job(system_job(
      "system", [](schema::Job::Builder job) { job.initDatacenters(1).set(0, "elsewhere"); })));
  CHECK(live().size() == 1);
  set_eligibility(schema::SchedulingEligibility::ELIGIBLE);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(live().empty());
}
