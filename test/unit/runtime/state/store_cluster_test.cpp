// Deployments, nodes, namespaces, node pools, the scheduler's configuration.
#include "fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;
using schema::DeploymentState;
using schema::NodeStatus;
using schema::SchedulingEligibility;

namespace {

schema::DeploymentGroup::Reader group_of(const Object<schema::Deployment>& deployment) {
  return deployment->getTaskGroups()[0].getValue();
}

Outcome report_health(StateFixture& state,
                      std::string_view id,
                      bool healthy,
                      std::int64_t time = 5000) {
  return state.report(id, ClientStatus::RUNNING, [&](auto alloc) {
    alloc.initDeploymentStatus().getHealthy().setValue(healthy);
    alloc.getDeploymentStatus().setTimestamp(time);
  });
}

Outcome promote(StateFixture& state) {
  return state.run([](auto command) {
    auto body = command.initDeploymentPromotion();
    body.setDeploymentId("d");
    body.setAll(true);
    fill(body.initEvaluation(), EvalSpec{.id = "promotion"});
    body.getEvaluation().setModifyTime(7000);
  });
}

Outcome end_deployment(StateFixture& state, DeploymentState end) {
  return state.run([&](auto command) {
    auto update = command.initDeploymentStatusUpdate().initUpdate();
    update.setDeploymentId("d");
    update.setStatus(end);
    update.setStatusDescription("because");
  });
}

Outcome set_status(StateFixture& state, NodeStatus status) {
  return state.run([&](auto command) {
    auto body = command.initNodeStatusUpdate();
    body.setNodeId("node");
    body.setStatus(status);
    body.initEvent().setMessage("status");
  });
}

}  // namespace

TEST_CASE("Store: allocations count in their deployment") {
  StateFixture state;
  state.register_job({}, {});
  state.deploy("d", 2);
  state.place({{.id = "a", .deployment = "d"}, {.id = "b", .deployment = "d"}});
  CHECK(group_of(state.now().deployment("d")).getPlacedAllocs() == 2);
  CHECK(group_of(state.now().deployment("d")).getRequireProgressBy() == 1600);

  report_health(state, "a", true);
  CHECK(group_of(state.now().deployment("d")).getHealthyAllocs() == 1);
  CHECK(group_of(state.now().deployment("d")).getRequireProgressBy() == 5600);
  const Index counted = state.index;
  report_health(state, "a", true, 9000);
  CHECK(state.now().deployment("d")->getModifyIndex() == counted);
  report_health(state, "a", false);
  CHECK(group_of(state.now().deployment("d")).getHealthyAllocs() == 0);
  CHECK(group_of(state.now().deployment("d")).getUnhealthyAllocs() == 1);
  CHECK(state.now().allocs_by_deployment("d").size() == 2);
  CHECK(state.now().latest_deployment("default", "web")->getCreateIndex() == counted - 2);
}

TEST_CASE("Store: a successful deployment makes its version stable, and its state is final") {
  StateFixture state;
  state.register_job({}, {});
  state.deploy("d", 1);
  CHECK_FALSE(end_deployment(state, DeploymentState::SUCCESSFUL).error);
  CHECK(state.now().job("default", "web")->getStable());
  CHECK(state.now().job_version("default", "web", 0)->getStable());

  CHECK(end_deployment(state, DeploymentState::FAILED).error->code == Errc::conflict);
  state.deploy("d", 9);
  CHECK(state.now().deployment("d")->getStatus() == DeploymentState::SUCCESSFUL);
  CHECK(promote(state).error->code == Errc::conflict);
}

TEST_CASE("Store: promotion needs enough healthy canaries, and makes them ordinary") {
  StateFixture state;
  CHECK(promote(state).error->code == Errc::not_found);
  state.register_job({}, {});
  state.deploy("d", 3, 2);
  state.place({{.id = "a", .deployment = "d", .canary = true},
               {.id = "b", .deployment = "d", .canary = true}});
  CHECK(group_of(state.now().deployment("d")).getPlacedCanaries().size() == 2);
  report_health(state, "a", true);
  CHECK(promote(state).error->what
        == "1 error occurred:\n\t* Task group \"api\" has 1/2 healthy allocations\n\n");
  CHECK_FALSE(state.now().eval("promotion"));

  report_health(state, "b", true);
  CHECK_FALSE(promote(state).error);
  CHECK(group_of(state.now().deployment("d")).getPromoted());
  CHECK(group_of(state.now().deployment("d")).getRequireProgressBy() == 7600);
  CHECK(view(state.now().deployment("d")->getStatusDescription()) == "Deployment is running");
  CHECK_FALSE(state.now().alloc("a")->alloc->is_canary());
  CHECK(state.now().alloc("a")->alloc->alloc_modify_index() == state.index);
  CHECK(state.now().eval("promotion"));
}

TEST_CASE("Store: an operator's word on health may fail a deployment and roll back its job") {
  StateFixture state;
  state.register_job({.groups = {{"api", 1}}}, {});
  state.register_job({.groups = {{"api", 2}}});
  state.deploy("d", 1);
  state.place({{.id = "a", .deployment = "d"}, {.id = "stranger"}});
  const auto say = [&](const char* id) {
    return state.run([&](auto command) {
      auto body = command.initDeploymentAllocHealth();
      body.setDeploymentId("d");
      body.initUnhealthyIds(1).set(0, id);
      body.setTimestamp(1);
      body.initUpdate().setDeploymentId("d");
      body.getUpdate().setStatus(DeploymentState::FAILED);
      fill(body.initJob(), JobSpec{.groups = {{"api", 1}}});
      fill(body.initEvaluation(), EvalSpec{.id = "rollback"});
    });
  };
  CHECK(say("nobody").error->what == "unknown alloc \"nobody\"");
  CHECK(say("stranger").error->what == "alloc \"stranger\" is not part of deployment \"d\"");
  CHECK(state.now().job("default", "web")->getVersion() == 1);

  CHECK_FALSE(say("a").error);
  CHECK(state.now().deployment("d")->getStatus() == DeploymentState::FAILED);
  CHECK(group_of(state.now().deployment("d")).getUnhealthyAllocs() == 1);
  CHECK(state.now().job("default", "web")->getVersion() == 2);
  CHECK(state.now().job("default", "web")->getTaskGroups()[0].getCount() == 1);
  CHECK(state.now().eval("rollback"));
}

TEST_CASE("Store: a node's registration does not overrule what servers decided") {
  StateFixture state;
  const Outcome first = state.register_node({.pool = "gpu"});
  CHECK(first.nodes_opened.size() == 1);
  CHECK(state.now().node_pool("gpu"));
  CHECK(view(state.now().node("node")->getEvents()[0].getMessage()) == "Node registered");
  state.run([](auto command) {
    auto body = command.initNodeDrainUpdate();
    body.setNodeId("node");
    body.initDrainStrategy().setDeadline(5);
  });

  CHECK(state.register_node({.status = NodeStatus::INITIALIZING}).nodes_opened.empty());

  const auto node = state.now().node("node");
  CHECK(node->getStatus() == NodeStatus::READY);
  CHECK(node->getDrainStrategy().getDeadline() == 5);
  CHECK(node->getSchedulingEligibility() == SchedulingEligibility::INELIGIBLE);
  CHECK(node->getEvents().size() == 1);
  CHECK(view(node->getNodePool()) == "default");
}

TEST_CASE("Store: a node's status, events and the index of its last missed heartbeat") {
  StateFixture state;
  CHECK(set_status(state, NodeStatus::READY).error->what == "node not found");
  state.register_node({.status = NodeStatus::INITIALIZING});
  CHECK(set_status(state, NodeStatus::READY).nodes_opened.size() == 1);
  CHECK(set_status(state, NodeStatus::DOWN).nodes_opened.empty());
  const Index missed = state.index;
  CHECK(state.now().node("node")->getLastMissedHeartbeatIndex() == missed);
  set_status(state, NodeStatus::INITIALIZING);
  CHECK(state.now().node("node")->getLastMissedHeartbeatIndex() == missed);

  state.register_job({}, {});
  state.place({{}});
  state.report("alloc", ClientStatus::RUNNING);
  CHECK(state.now().node("node")->getLastAllocUpdateIndex() == state.index);
  const Index reported = state.index;
  state.report("alloc", ClientStatus::RUNNING);
  CHECK(state.now().node("node")->getLastAllocUpdateIndex() == state.index);
  CHECK(state.now().index(Table::nodes) == reported);  // nobody waits for that
  set_status(state, NodeStatus::READY);
  CHECK(state.now().node("node")->getLastMissedHeartbeatIndex() == 0);

  for (int i = 0; i < 12; ++i)
    set_status(state, NodeStatus::READY);
  const auto events = state.now().node("node")->getEvents();
  CHECK(events.size() == 10);
  CHECK(events[9].getCreateIndex() == state.index);
  CHECK(events[0].getCreateIndex() == state.index - 9);

  const auto tell = [&state](const char* node_id) {
    return state.run([node_id](auto command) {
      auto body = command.initNodeEventsUpsert();
      body.setNodeId(node_id);
      body.initEvents(1)[0].setMessage("a disk is slow");
    });
  };
  CHECK(tell("unknown").error->what == "node not found");
  tell("node");
  CHECK(view(state.now().node("node")->getEvents()[9].getMessage()) == "a disk is slow");
  CHECK(state.now().index(Table::nodes) == state.index);
}

TEST_CASE("Store: eligibility and drain") {
  StateFixture state;
  state.register_node();
  const auto set = [&](SchedulingEligibility eligibility) {
    return state.run([&](auto command) {
      auto body = command.initNodeEligibilityUpdate();
      body.setNodeId("node");
      body.setEligibility(eligibility);
    });
  };
  const auto drain = [&](bool start, bool mark) {
    return state.run([&](auto command) {
      auto body = command.initNodeDrainUpdate();
      body.setNodeId("node");
      body.setMarkEligible(mark);
      if (start) body.initDrainStrategy();
    });
  };
  CHECK(set(SchedulingEligibility::INELIGIBLE).nodes_opened.empty());
  CHECK(set(SchedulingEligibility::ELIGIBLE).nodes_opened.size() == 1);
  drain(true, false);
  CHECK(set(SchedulingEligibility::ELIGIBLE).error->what
        == "can not set node's scheduling eligibility to eligible while it is draining");
  CHECK(drain(false, false).nodes_opened.empty());
  CHECK_FALSE(state.now().node("node")->hasDrainStrategy());
  CHECK(state.now().node("node")->getSchedulingEligibility() == SchedulingEligibility::INELIGIBLE);
  CHECK(drain(false, true).nodes_opened.size() == 1);

  state.run([](auto command) {
    auto ids = command.initNodeDeregister().initNodeIds(2);
    ids.set(0, "gone");
    ids.set(1, "node");
  });
  CHECK_FALSE(state.now().node("node"));
}

TEST_CASE("Store: which nodes drain is known, and told") {
  StateFixture state;
  state.register_node();
  int told = 0;
  const auto drain = [&](const std::optional<int>& deadline, const std::optional<int>& only = {}) {
    const auto subscription = state.store.watches().subscribe(
        {watch_key(Table::draining_nodes, "node")}, [&told] { ++told; });
    return state.run([&](auto command) {
      auto body = command.initNodeDrainUpdate();
      body.setNodeId("node");
      if (deadline) body.initDrainStrategy().setDeadline(*deadline);
      if (only) body.initOnlyOf().setDeadline(*only);
    });
  };
  const auto status = [&] { return copy(state.now().node("node")->getLastDrain().getStatus()); };
  CHECK(drain({}, 1).error
        == Error{Errc::conflict, "the node does not drain any more, or by another strategy"});
  CHECK(told == 0);
  drain(1);
  CHECK(state.now().draining_nodes() == std::vector<std::string>{"node"});
  CHECK(drain({}, 2).error->code == Errc::conflict);
  CHECK(status() == "draining");
  drain({}, 1);
  CHECK(status() == "complete");
  CHECK(state.now().draining_nodes().empty());
  CHECK(told == 2);

  drain(1);
  state.register_node();
  CHECK(state.now().draining_nodes().size() == 1);
  state.run([](auto command) { command.initNodeDeregister().initNodeIds(1).set(0, "node"); });
  CHECK(state.now().draining_nodes().empty());
}

TEST_CASE("Store: namespaces and node pools that are used or built in stay") {
  StateFixture state;
  CHECK(state.now().get_namespace("default"));
  CHECK(state.now().node_pool("all"));
  const auto delete_namespace = [&](const char* name) {
    return state.run([&](auto command) { command.setNamespaceDelete(name); });
  };
  const auto delete_pool = [&](const char* name) {
    return state.run([&](auto command) { command.setNodePoolDelete(name); });
  };
  state.run([](auto command) { command.initNamespaceUpsert().setName("prod"); });
  state.run([](auto command) { command.initNodePoolUpsert().setName("gpu"); });
  state.register_job({.id = "db", .ns = "prod", .pool = "gpu"});

  CHECK(delete_namespace("default").error->what == "default namespace can not be deleted");
  CHECK(delete_namespace("none").error->what == "namespace not found");
  CHECK(delete_namespace("prod").error->what
        == "namespace \"prod\" contains at least one non-terminal job \"db\". All jobs must be terminal "
           "in namespace before it can be deleted");
  CHECK(delete_pool("all").error->what == "deleting node pool \"all\" is not allowed");
  CHECK(delete_pool("gpu").error->what == "node pool \"gpu\" has non-terminal jobs");
  CHECK(state.run([](auto command) { command.initNodePoolUpsert().setName("default"); }).error);
  state.run([](auto command) {
    auto body = command.initJobDeregister();
    body.setNamespace("prod");
    body.setJobId("db");
    body.setPurge(true);
  });
  CHECK_FALSE(delete_namespace("prod").error);
  state.register_node({.pool = "gpu"});
  CHECK(delete_pool("gpu").error->what == "node pool \"gpu\" has nodes");
}

TEST_CASE("Store: the scheduler's configuration is set by check-and-set") {
  StateFixture state;
  CHECK(view(state.now().scheduler_configuration()->getSchedulerAlgorithm()) == "binpack");
  CHECK(state.now().scheduler_configuration()->getPreemptionConfig().getSystemSchedulerEnabled());
  const auto set = [&](Index check) {
    return state.run([&](auto command) {
      auto body = command.initSchedulerConfiguration();
      body.setSchedulerAlgorithm("spread");
      body.setModifyIndex(check);
    });
  };
  CHECK(set(3).error->code == Errc::conflict);
  CHECK_FALSE(set(0).error);
  const Index first = state.index;
  CHECK_FALSE(set(first).error);
  CHECK(set(first).error->code == Errc::conflict);
  CHECK(state.now().scheduler_configuration()->getCreateIndex() == first);
}

TEST_CASE_FIXTURE(StateFixture,
                  "Store: autopilot's settings are replaced, on condition if that is asked") {
  const auto put = [this](bool check, Index known) {
    return run([&](auto command) {
      auto body = command.initAutopilotUpdate();
      body.setCheck(check);
      body.initConfiguration().setModifyIndex(known);
    });
  };
  CHECK(put(true, 1).error == Error{Errc::conflict, "autopilot configuration has ModifyIndex 0"});
  CHECK_FALSE(put(true, 0).error);
  const auto first = index;
  CHECK(put(true, 0).error);
  CHECK_FALSE(put(true, first).error);
  CHECK_FALSE(put(false, 0).error);
}
