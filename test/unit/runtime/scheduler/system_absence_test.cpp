// System jobs on nodes that are away, drained or gone, and what repeated conflicts come to.
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::DesiredStatus;
using schema::EvalTrigger;
using schema::NodeStatus;

namespace {

struct SystemAbsence : Harness {
  std::string node;

  Object<schema::Job> everywhere(const char* group_name = "api",
                                 bool tolerant = true,
                                 std::string_view change = {}) {
    return make_job(1, [=](schema::Job::Builder job) {
      job.setType("system");
      if (change == "priority") job.setPriority(60);
      if (change == "config") job.getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"1s"})");
      auto group = job.getTaskGroups()[0];
      group.setName(text(std::string{group_name}));
      group.disownReschedulePolicy();
      if (tolerant) group.getMaxClientDisconnect().setValue(600 * second);
    });
  }

  void run_one(const Object<schema::Job>& job) {
    node = add_node();
    process(register_job(job));
    report_all_running();
    REQUIRE(live().size() == 1);
  }

  void becomes(NodeStatus status) {
    set_status(node, status);
    process(evaluate(EvalTrigger::NODE_UPDATE));
  }

  AllocView only() {
    row = allocs().at(0);
    return *row->alloc;
  }

  std::string last_noted() {
    const auto states = only().alloc_states();
    return states.size() == 0 ? "" : copy(states[states.size() - 1].getValue());
  }

  state::AllocRef row;
};

}  // namespace

TEST_CASE_FIXTURE(SystemAbsence,
                  "system: an allocation is unknown while its client is away, then runs on") {
  run_one(everywhere());
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  becomes(NodeStatus::DISCONNECTED);
  CHECK(only().client_status() == ClientStatus::UNKNOWN);
  CHECK(last_noted() == "unknown");

  set_status(node, NodeStatus::READY);
  report(allocs().at(0), ClientStatus::RUNNING);
  process(evaluate(EvalTrigger::RECONNECT));
  CHECK(allocs().size() == 1);
  CHECK(only().desired_status() == DesiredStatus::RUN);
  CHECK(last_noted() == "running");
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
}

TEST_CASE_FIXTURE(
    SystemAbsence,
    "system: what is still unknown on a node that is back is left until it is known") {
  run_one(everywhere());
  becomes(NodeStatus::DISCONNECTED);
  const auto noted = only().alloc_states().size();
  set_status(node, NodeStatus::READY);
  for (int evaluations = 0; evaluations < 3; ++evaluations) {
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
  }
  CHECK(only().alloc_states().size() == noted);
  report(allocs().at(0), ClientStatus::RUNNING);
  process(evaluate(EvalTrigger::RECONNECT));
  CHECK(last_noted() == "running");
}

TEST_CASE_FIXTURE(SystemAbsence, "system: what is back comes to run what is wanted by then") {
  run_one(everywhere());
  becomes(NodeStatus::DISCONNECTED);
  SUBCASE("in place") {
    process(register_job(everywhere("api", true, "priority")));
  }
  SUBCASE("anew") {
    process(register_job(everywhere("api", true, "config")));
  }
  CHECK(allocs().size() == 1);
  set_status(node, NodeStatus::READY);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());  // nobody knows yet what has become of it
  report(allocs().at(0), ClientStatus::RUNNING);
  process(evaluate(EvalTrigger::RECONNECT));
  REQUIRE(live().size() == 1);
  CHECK(live().at(0)->alloc->job_version() == 1);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
}

TEST_CASE_FIXTURE(SystemAbsence,
                  "system: whose absence is not tolerated is lost once the node is down") {
  run_one(everywhere("api", false));
  becomes(NodeStatus::DISCONNECTED);  // for another job's sake
  CHECK(plans.empty());
  becomes(NodeStatus::DOWN);
  CHECK(only().client_status() == ClientStatus::LOST);
}

TEST_CASE_FIXTURE(SystemAbsence,
                  "system: what is unknown is not lost as long as its absence is tolerated") {
  run_one(everywhere());
  becomes(NodeStatus::DISCONNECTED);
  becomes(NodeStatus::DOWN);
  CHECK(plans.empty());
  CHECK(only().client_status() == ClientStatus::UNKNOWN);
  now += 601 * second;
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(only().client_status() == ClientStatus::LOST);
}

TEST_CASE_FIXTURE(SystemAbsence,
                  "system: what failed by itself is replaced, also where absences are tolerated") {
  run_one(everywhere());
  report(live().at(0), ClientStatus::FAILED);
  process(evaluate(EvalTrigger::ALLOC_FAILURE));
  CHECK(live().size() == 1);
  CHECK(allocs().size() == 2);
}

TEST_CASE_FIXTURE(
    SystemAbsence,
    "system: allocations of a group that is gone stop, and are lost with their node") {
  run_one(everywhere("api", false));
  SUBCASE("the node is there") {
    process(register_job(everywhere("other", false)));
    for (const auto& found : allocs())
      if (found->alloc->task_group() == "api") {
        CHECK(found->alloc->desired_status() == DesiredStatus::STOP);
        CHECK(found->alloc->client_status() == ClientStatus::RUNNING);
      }
    CHECK(live().size() == 1);
  }
  SUBCASE("the node is down") {
    set_status(node, NodeStatus::DOWN);
    process(register_job(everywhere("other", false)));
    CHECK(allocs().size() == 1);
    CHECK(only().client_status() == ClientStatus::LOST);
  }
}

TEST_CASE_FIXTURE(SystemAbsence, "system: an allocation that is to migrate is stopped") {
  run_one(everywhere());
  apply([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(only().id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  process(evaluate(EvalTrigger::NODE_DRAIN));
  CHECK(allocs().at(0)->server_terminal);
  CHECK(last_updates.at("api").migrate == 1);
}

TEST_CASE_FIXTURE(SystemAbsence, "system: after five conflicts in a row the evaluation fails") {
  add_node();
  auto scheduler = make_scheduler(register_job(everywhere()), seed++);
  const auto snapshot = state();
  auto step = scheduler->start({snapshot, now, nullptr});
  const auto refuse = [&](bool made_progress) {
    PlanResult result;
    result.rejected_nodes.emplace("node", "for the test");
    result.made_progress = made_progress;
    step = scheduler->resume({snapshot, now, nullptr}, result);
  };
  refuse(false);
  REQUIRE(step.plan);
  refuse(true);  // they count anew
  int conflicts = 0;
  while (step.plan) {
    REQUIRE(++conflicts < 10);
    refuse(false);
  }
  CHECK(conflicts == 5);
  REQUIRE(step.evaluations.size() == 1);
  CHECK(view(step.evaluations[0]->getStatusDescription()) == "maximum attempts reached (5)");
}

TEST_CASE_FIXTURE(SystemAbsence, "system: a group of which nothing is placed waits as a whole") {
  add_node(
      [](schema::Node::Builder small) { small.getNodeResources().getCpu().setCpuShares(100); });
  const auto eval = process(register_job(everywhere()));
  CHECK(live().empty());
  CHECK(eval->getQueuedAllocations()[0].getValue() == 1);
}

TEST_CASE_FIXTURE(SystemAbsence,
                  "system: what nothing may replace is awaited on a node that is down") {
  Draft<schema::Job> sole{everywhere("api", false)};
  sole->getTaskGroups()[0].initDisconnect().getReplace().setValue(false);
  run_one(sole.freeze());
  becomes(NodeStatus::DOWN);
  CHECK(only().client_status() == ClientStatus::UNKNOWN);
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());

  set_status(node, NodeStatus::INITIALIZING);
  report(allocs().at(0), ClientStatus::RUNNING);
  becomes(NodeStatus::READY);
  CHECK(only().client_status() == ClientStatus::RUNNING);
  CHECK(last_noted() == "running");
  CHECK(allocs().size() == 1);
}
