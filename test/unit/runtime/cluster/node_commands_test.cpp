// What becomes of a node that registers, beats, falls silent or is changed by an operator. The
// order of these is in test/unit/actors/server/node_protocol_test.cpp.
#include "runtime/cluster/node_commands.hpp"

#include "test/support/anybody.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace nomad::cluster;
using schema::ClientStatus;
using schema::NodeStatus;
using schema::SchedulingEligibility;

namespace {

struct NodeHarness : Harness {
  EvalSeed draw() { return {now, &random}; }

  /// Writes what was decided, if it is anything.
  NodeDecision write(const NodeDecision& decision) {
    if (decision.command) {
      const auto outcome = store.apply(++next_index, *decision.command);
      store.publish();
      REQUIRE_FALSE(outcome.error);
    }
    return decision;
  }

  /// A registered node with a secret, as it would register again, changed by `edit`.
  Object<schema::Node> as_registered(const std::string& id, const EditNode& edit = {}) const {
    Draft<schema::Node> draft{state().node(id)};
    if (edit) edit(*draft);
    return draft.freeze();
  }

  std::string add_secret_node() {
    return add_node([](schema::Node::Builder node) { node.setSecretId("secret"); });
  }

  /// A service of one allocation that runs on some node.
  state::AllocRef run_web(const EditJob& edit = {}) {
    process(register_job(make_job(1, edit)));
    report_all_running();
    return live().at(0);
  }

  NodeStatus status(const std::string& node) const { return state().node(node)->getStatus(); }

  static std::string said(const auto& result) {
    return result ? std::string{"done"} : result.error().what;
  }

  static void may_disconnect(schema::Job::Builder job) {
    job.getTaskGroups()[0].getMaxClientDisconnect().setValue(3600 * second);
  }

  Object<schema::Allocation> report_of(const std::string& alloc,
                                       const std::string& node,
                                       ClientStatus client_status = ClientStatus::RUNNING) const {
    Draft<schema::Allocation> draft;
    draft->setId(text(alloc));
    draft->setNodeId(text(node));
    draft->setClientStatus(client_status);
    return draft.freeze();
  }
};

}  // namespace

TEST_CASE_FIXTURE(NodeHarness, "register: ids and secrets are needed, and secrets don't change") {
  const auto id = add_secret_node();
  const auto register_as = [&](const char* name, const char* secret) {
    return said(decide_node_register(state(),
                                     as_registered(id,
                                                   [&](auto node) {
                                                     node.setId(name);
                                                     node.setSecretId(secret);
                                                   }),
                                     draw()));
  };
  CHECK(register_as("", "secret") == "missing node ID for client registration");
  CHECK(register_as("x", "") == "missing node secret ID for client registration");
  CHECK(register_as(id.c_str(), "other") == "node secret ID does not match. Not registering node.");
  CHECK(register_as(id.c_str(), "secret") == "done");
  CHECK(register_as("new", "other") == "done");
}

TEST_CASE_FIXTURE(NodeHarness, "register: a new node initializes, in the pool that it names") {
  Draft<schema::Node> draft;
  draft->setId("new");
  draft->setSecretId("secret");
  draft->setStatus(NodeStatus::READY);
  const auto registered = decide_node_register(state(), draft.freeze(), draw());
  CHECK_FALSE(registered->evaluate_after);
  write(*registered);
  CHECK(status("new") == NodeStatus::INITIALIZING);
  CHECK(view(state().node("new")->getNodePool()) == "default");
  CHECK(state().node("new")->getStatusUpdatedAt() == now / second);
  CHECK(state().node("new")->getComputedClass().size() > 0);

  draft->setNodePool("gpu");
  write(*decide_node_register(state(), draft.freeze(), draw()));
  CHECK(view(state().node("new")->getNodePool()) == "gpu");
}

TEST_CASE_FIXTURE(NodeHarness, "register: jobs are evaluated when a ready node's facts changed") {
  const auto id = add_secret_node();
  const auto matters = [&](const EditNode& edit) {
    return decide_node_register(state(), as_registered(id, edit), draw())->evaluate_after;
  };
  CHECK_FALSE(matters({}));
  CHECK(matters([](auto node) { node.setDatacenter("dc2"); }));
  CHECK(matters([](auto node) { node.setName("another"); }));
  CHECK(matters([](auto node) { node.getAttributes()[1].setValue("plan9"); }));
  CHECK(matters([](auto node) { node.getNodeResources().getCpu().setCpuShares(1); }));
  CHECK(matters([](auto node) { node.initReservedResources().initMemory().setMemoryMb(1); }));
  CHECK(matters([](auto node) { node.initHostVolumes(1)[0].setKey("data"); }));
  const auto unique = [](auto node) { node.initMeta(1)[0].setKey("unique.rack"); };
  CHECK(matters(unique));  // not in the class, but a constraint may name it
  CHECK_FALSE(matters([](auto node) { node.setHttpAddr("10.0.0.1:4646"); }));

  const auto driver = [](bool detected, bool healthy, const char* words) {
    return [=](schema::Node::Builder node) {
      auto entry = node.initDrivers(1)[0];
      entry.setKey("mock_driver");
      entry.initValue().setDetected(detected);
      entry.getValue().setHealthy(healthy);
      entry.getValue().setHealthDescription(words);
    };
  };
  CHECK(matters(driver(true, true, "")));
  CHECK_FALSE(matters(driver(true, false, "")));
  CHECK_FALSE(matters(driver(false, true, "")));

  set_status(id, NodeStatus::DOWN);
  CHECK_FALSE(matters([](auto node) { node.setName("another"); }));
}

TEST_CASE_FIXTURE(NodeHarness, "heartbeat: news of a known node only") {
  CHECK(decide_heartbeat(state(), "none", draw()).error().code == Errc::not_found);
  CHECK_FALSE(awaits_reports(state(), "none"));
  const auto id = add_node();
  CHECK_FALSE(decide_heartbeat(state(), id, draw())->command);
  CHECK_FALSE(awaits_reports(state(), id));
  for (const auto lost : {NodeStatus::DOWN, NodeStatus::DISCONNECTED}) {
    set_status(id, lost);
    CHECK(awaits_reports(state(), id));
    write(*decide_heartbeat(state(), id, draw()));
    CHECK(status(id) == NodeStatus::INITIALIZING);
    const auto events = state().node(id)->getEvents();
    CHECK(view(events[events.size() - 1].getMessage()) == "Node reregistered by heartbeat");
    CHECK(events[events.size() - 1].getTimestamp() == now);

    write(*decide_heartbeat(state(), id, draw()));  // it runs nothing, so it owes nothing
    CHECK(status(id) == NodeStatus::READY);
  }
}

TEST_CASE_FIXTURE(NodeHarness, "heartbeat: a node that was away reports before it is ready") {
  const auto id = add_node();
  const auto row = run_web();
  const auto alloc = std::string{row->alloc->id()};
  SUBCASE("what runs") {}
  SUBCASE("what was given up") {
    apply([&](schema::Command::Builder command) {
      auto stopped = command.initPlanResults().initPlans(1)[0].initStopped(1)[0];
      stopped.setId(text(alloc));
      stopped.setClientStatus(ClientStatus::LOST);
    });
  }
  write(decide_missed_heartbeat(state(), id, draw()));
  REQUIRE(status(id) == NodeStatus::DOWN);
  write(*decide_heartbeat(state(), id, draw()));
  CHECK_FALSE(decide_heartbeat(state(), id, draw())->command);

  write(decide_reports(state(), {{.allocs = {report_of(alloc, id)}}}, draw()));
  const auto back = write(*decide_heartbeat(state(), id, draw()));
  CHECK(status(id) == NodeStatus::READY);
  CHECK(back.eval_ids.size() == 1);
  CHECK(view(state().eval(back.eval_ids.at(0))->getNodeId()) == id);
}

TEST_CASE_FIXTURE(NodeHarness, "heartbeat: what its client had ended is owed by nobody") {
  const auto id = add_node();
  const auto row = run_web();
  report(row, ClientStatus::COMPLETE);
  write(decide_missed_heartbeat(state(), id, draw()));
  write(*decide_heartbeat(state(), id, draw()));
  write(*decide_heartbeat(state(), id, draw()));
  CHECK(status(id) == NodeStatus::READY);
}

TEST_CASE_FIXTURE(NodeHarness, "a lease that is over: down, with an evaluation of what ran there") {
  const auto id = add_node();
  run_web();
  const auto missed = write(decide_missed_heartbeat(state(), id, draw()));
  CHECK(status(id) == NodeStatus::DOWN);
  CHECK_FALSE(missed.look_again);
  CHECK(missed.eval_ids.size() == 1);
  CHECK_FALSE(decide_missed_heartbeat(state(), id, draw()).command);
  CHECK_FALSE(decide_missed_heartbeat(state(), "none", draw()).command);
}

TEST_CASE_FIXTURE(NodeHarness,
                  "a lease that is over: disconnected while something may outlive it") {
  const auto id = add_node();
  const auto row = run_web(may_disconnect);
  auto missed = write(decide_missed_heartbeat(state(), id, draw()));
  CHECK(status(id) == NodeStatus::DISCONNECTED);
  CHECK(missed.look_again);
  missed = decide_missed_heartbeat(state(), id, draw());
  CHECK_FALSE(missed.command);
  CHECK(missed.look_again);

  SUBCASE("its time is over") {
    process(evaluate(schema::EvalTrigger::NODE_UPDATE));  // it becomes unknown
    now += 3601 * second;
  }
  SUBCASE("it is stopped") {
    apply([&](schema::Command::Builder command) {
      auto stopped = command.initPlanResults().initPlans(1)[0].initStopped(1)[0];
      stopped.setId(text(row->alloc->id()));
    });
  }
  missed = write(decide_missed_heartbeat(state(), id, draw()));
  CHECK(status(id) == NodeStatus::DOWN);
  CHECK_FALSE(missed.look_again);
}

TEST_CASE_FIXTURE(NodeHarness,
                  "a lease that is over: down when only what nothing may replace outlives it") {
  const auto id = add_node();
  const auto row = run_web([](schema::Job::Builder job) {
    job.getTaskGroups()[0].initDisconnect().getReplace().setValue(false);
  });
  auto missed = write(decide_missed_heartbeat(state(), id, draw()));
  CHECK(status(id) == NodeStatus::DOWN);
  CHECK_FALSE(missed.look_again);
  process(evaluate(schema::EvalTrigger::NODE_UPDATE));
  CHECK(state().alloc(row->alloc->id())->alloc->client_status() == ClientStatus::UNKNOWN);
}

TEST_CASE_FIXTURE(NodeHarness, "a lease that is over: the disconnect block says for how long") {
  const auto id = add_node();
  run_web([](schema::Job::Builder job) {
    auto block = job.getTaskGroups()[0].initDisconnect();
    block.getLostAfter().setValue(3600 * second);
    block.getReplace().setValue(false);
  });
  CHECK(write(decide_missed_heartbeat(state(), id, draw())).look_again);
  CHECK(status(id) == NodeStatus::DISCONNECTED);
  process(evaluate(schema::EvalTrigger::NODE_UPDATE));
  now += 3601 * second;
  CHECK_FALSE(write(decide_missed_heartbeat(state(), id, draw())).look_again);
  CHECK(status(id) == NodeStatus::DOWN);
}

TEST_CASE_FIXTURE(NodeHarness,
                  "eligibility: a change is written once, with an evaluation to gain") {
  const auto id = add_node();
  run_web();
  CHECK(said(decide_eligibility(state(), nomad::test::anybody(), "none", true, draw()))
        == "node not found");
  CHECK_FALSE(decide_eligibility(state(), nomad::test::anybody(), id, true, draw())->command);

  const auto shut = write(*decide_eligibility(state(), nomad::test::anybody(), id, false, draw()));
  CHECK(shut.eval_ids.empty());
  CHECK(state().node(id)->getSchedulingEligibility() == SchedulingEligibility::INELIGIBLE);
  const auto message = [&] {
    const auto events = state().node(id)->getEvents();
    return copy(events[events.size() - 1].getMessage());
  };
  CHECK(message() == "Node marked as ineligible for scheduling");
  CHECK_FALSE(decide_eligibility(state(), nomad::test::anybody(), id, false, draw())->command);

  const auto opened = write(*decide_eligibility(state(), nomad::test::anybody(), id, true, draw()));
  CHECK(opened.eval_ids.size() == 1);
  CHECK(message() == "Node marked as eligible for scheduling");
}

TEST_CASE_FIXTURE(NodeHarness, "eligibility: not while the node drains") {
  const auto id = add_node();
  apply([&](schema::Command::Builder command) {
    auto drain = command.initNodeDrainUpdate();
    drain.setNodeId(text(id));
    drain.initDrainStrategy();
  });
  CHECK(said(decide_eligibility(state(), nomad::test::anybody(), id, true, draw()))
        == "can not set node's scheduling eligibility to eligible while it is draining");
  CHECK(said(decide_eligibility(state(), nomad::test::anybody(), id, false, draw())) == "done");
}

TEST_CASE_FIXTURE(NodeHarness, "evaluate and purge: with an evaluation of what runs there") {
  const auto id = add_node();
  CHECK(said(decide_node_evaluate(state(), nomad::test::anybody(), "none", draw()))
        == "node not found");
  CHECK(said(decide_node_purge(state(), nomad::test::anybody(), "none", draw()))
        == "node not found");
  CHECK_FALSE(decide_node_evaluate(state(), nomad::test::anybody(), id, draw())->command);
  run_web();
  const auto evaluated = write(*decide_node_evaluate(state(), nomad::test::anybody(), id, draw()));
  REQUIRE(evaluated.eval_ids.size() == 1);
  CHECK(view(state().eval(evaluated.eval_ids[0])->getJobId()) == "web");

  const auto purged = write(*decide_node_purge(state(), nomad::test::anybody(), id, draw()));
  CHECK(purged.eval_ids.size() == 1);
  CHECK_FALSE(state().node(id));
}

TEST_CASE_FIXTURE(NodeHarness, "changes of a node: what came to it meanwhile is evaluated, too") {
  const auto id = add_node();
  const auto jobs_of = [this](const NodeDecision& decision) {
    std::set<std::string> jobs;
    for (const auto& eval : decision.eval_ids)
      jobs.insert(copy(state().eval(eval)->getJobId()));
    return jobs;
  };
  const auto run_as = [this](const char* job) {
    process(register_job(make_job(1, [job](schema::Job::Builder draft) { draft.setId(job); })));
  };
  using Jobs = std::set<std::string>;
  const auto changed_beside = [&](const NodeDecision& decided) {
    run_as("late");  // written between the decision and its entry
    write(decided);
    return jobs_of(write(decide_latecomers(state(), decided, draw())));
  };
  run_as("early");

  SUBCASE("it falls silent") {
    const auto decided = decide_missed_heartbeat(state(), id, draw());
    CHECK(changed_beside(decided) == Jobs{"late"});
    CHECK(jobs_of(decided) == Jobs{"early"});
  }
  SUBCASE("it is purged") {
    CHECK(changed_beside(*decide_node_purge(state(), nomad::test::anybody(), id, draw()))
          == Jobs{"late"});
  }
  SUBCASE("it takes nothing new") {
    CHECK(changed_beside(*decide_eligibility(state(), nomad::test::anybody(), id, false, draw()))
          == Jobs{});
  }
  SUBCASE("it takes new ones, and a system job is registered") {
    write(*decide_eligibility(state(), nomad::test::anybody(), id, false, draw()));
    const auto decided = decide_eligibility(state(), nomad::test::anybody(), id, true, draw());
    process(register_job(make_job(1, [](schema::Job::Builder job) {
      job.setId("agents");
      job.setType("system");
    })));
    write(*decided);
    CHECK(jobs_of(write(decide_latecomers(state(), *decided, draw()))) == Jobs{"agents"});
  }
}

TEST_CASE_FIXTURE(NodeHarness, "nodes that are down: an evaluation that nobody made is made") {
  const auto id = add_node();
  run_web();
  CHECK_FALSE(decide_forgotten(state(), draw()).command);
  set_status(id, NodeStatus::DOWN);
  const auto made = write(decide_forgotten(state(), draw()));
  REQUIRE(made.eval_ids.size() == 1);
  CHECK(view(state().eval(made.eval_ids[0])->getJobId()) == "web");
  CHECK_FALSE(decide_forgotten(state(), draw()).command);  // it is pending
  process(state().eval(made.eval_ids[0]));
  CHECK_FALSE(decide_forgotten(state(), draw()).command);
}

TEST_CASE_FIXTURE(NodeHarness, "node events: the newest, each once") {
  const auto id = add_node();
  const auto before = state().node(id)->getEvents().size();
  const auto event = [](const std::string& message, std::int64_t when) {
    Draft<schema::NodeEvent> made;
    made->setSubsystem("Driver");
    made->setMessage(text(message));
    made->setTimestamp(when);
    return made.freeze();
  };
  CHECK(said(decide_node_events(state(), "none", {event("broke", 1)}, now)) == "node not found");
  CHECK_FALSE(decide_node_events(state(), id, {}, now)->command);

  write(*decide_node_events(state(), id, {event("broke", 1), event("mended", 0)}, now));
  auto events = state().node(id)->getEvents();
  REQUIRE(events.size() == before + 2);
  CHECK(view(events[before].getMessage()) == "broke");
  CHECK(events[before].getTimestamp() == 1);
  CHECK(events[before].getCreateIndex() == state().node(id)->getModifyIndex());
  CHECK(events[before + 1].getTimestamp() == now);
  CHECK_FALSE(decide_node_events(state(), id, {event("broke", 1)}, now)->command);

  std::vector<Object<schema::NodeEvent>> many;
  for (int i = 0; i < 1000; ++i)
    many.push_back(event("number " + std::to_string(i), 2));
  const auto decided = decide_node_events(state(), id, many, now);
  CHECK(decided->command->getNodeEventsUpsert().getEvents().size() == 10);
  write(*decided);
  events = state().node(id)->getEvents();
  CHECK(events.size() == 10);
  CHECK(view(events[9].getMessage()) == "number 999");
}

TEST_CASE_FIXTURE(NodeHarness, "reports: of a known node that is not given up, by itself") {
  const auto id = add_node();
  const auto check = [&](const std::string& node, std::string_view claimed) {
    return said(check_reporter(state(), {report_of("a", node)}, claimed));
  };
  CHECK(said(check_reporter(state(), {}, "")) == "must update at least one allocation");
  CHECK(check("", "") == "missing node ID");
  CHECK(check("none", "") == "node none not found");
  CHECK(check(id, "") == "done");
  CHECK(check(id, id) == "done");
  CHECK(check(id, "other") == "node other may not update allocs of node " + id);
  set_status(id, NodeStatus::INITIALIZING);
  CHECK(check(id, id) == "done");
  set_status(id, NodeStatus::DOWN);
  CHECK(check(id, id) == "node " + id + " is not allowed to update allocs while in status down");
  set_status(id, NodeStatus::DISCONNECTED);
  CHECK(check(id, id)
        == "node " + id + " is not allowed to update allocs while in status disconnected");
}

TEST_CASE_FIXTURE(NodeHarness,
                  "reports: the newest of an allocation counts, another node's don't") {
  const auto id = add_node();
  const auto alloc = std::string{run_web()->alloc->id()};
  CHECK_FALSE(is_foreign(state(), *report_of(alloc, id), id));
  CHECK(is_foreign(state(), *report_of(alloc, id), "other"));
  CHECK_FALSE(is_foreign(state(), *report_of("none", id), "other"));

  const auto decision = decide_reports(state(),
                                       {{.allocs = {report_of(alloc, id), report_of("b", id)}},
                                        {.allocs = {report_of(alloc, id, ClientStatus::FAILED)}}},
                                       draw());
  const auto allocs = decision.command->getAllocClientUpdate().getAllocations();
  REQUIRE(allocs.size() == 2);
  CHECK(view(allocs[0].getId()) == alloc);
  CHECK(allocs[0].getClientStatus() == ClientStatus::FAILED);
  CHECK(view(allocs[1].getId()) == "b");
  CHECK(decision.eval_ids.size() == 1);
}

TEST_CASE_FIXTURE(NodeHarness, "reports: of two with numbers the higher counts") {
  const auto id = add_node();
  const auto numbered = [&](std::uint64_t number, ClientStatus status) {
    return NodeReport{number, {report_of("a", id, status)}};
  };
  const auto decision = decide_reports(
      state(), {numbered(2, ClientStatus::COMPLETE), numbered(1, ClientStatus::RUNNING)}, draw());
  const auto allocs = decision.command->getAllocClientUpdate().getAllocations();
  REQUIRE(allocs.size() == 1);
  CHECK(allocs[0].getClientStatus() == ClientStatus::COMPLETE);
  CHECK(allocs[0].getReportNumber() == 2);
}
