// Allocations whose client is away for a while: what becomes of them, of what replaces them, and of
// both when the client is back.
#include <algorithm>
#include <limits>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::DesiredStatus;
using schema::EvalTrigger;
using schema::NodeStatus;

namespace {

constexpr std::int64_t tolerated = 600 * second;

struct Disconnection : Harness {
  std::string home, other;
  Object<schema::Job> job;
  state::AllocRef original;

  /// A group that tolerates absences, and is replaced `delay` after one begins.
  Object<schema::Job> tolerant(std::int64_t count, std::int64_t delay = 0) {
    return make_job(count, [&](schema::Job::Builder draft) {
      auto group = draft.getTaskGroups()[0];
      group.getMaxClientDisconnect().setValue(tolerated);
      group.getReschedulePolicy().setDelay(delay);
      group.getReschedulePolicy().setDelayFunction("constant");
    });
  }

  /// One running allocation; then another node joins.
  void run_one(const Object<schema::Job>& wanted) {
    job = wanted;
    home = add_node();
    process(register_job(job));
    report_all_running();
    original = live().at(0);
    other = add_node();
  }

  void disconnect() {
    set_status(home, NodeStatus::DISCONNECTED);
    process(evaluate(EvalTrigger::NODE_UPDATE));
  }

  /// The client is back: it beats, reports `status`, and the servers evaluate what it said.
  void reconnect(ClientStatus status = ClientStatus::RUNNING) {
    set_status(home, NodeStatus::INITIALIZING);
    report(original, status);
    process(evaluate(EvalTrigger::RECONNECT));
    set_status(home, NodeStatus::READY);
    process(evaluate(EvalTrigger::NODE_UPDATE));
  }

  state::AllocRef now_of(const state::AllocRef& row) const {
    return state().alloc(row->alloc->id());
  }

  ClientStatus status_of(const state::AllocRef& row) const {
    return now_of(row)->alloc->client_status();
  }

  std::vector<Object<schema::Evaluation>> waiting(EvalTrigger trigger) const {
    std::vector<Object<schema::Evaluation>> found;
    const auto snapshot = state();
    for (const auto& entry : snapshot.evals_by_job("default", "web"))
      if (entry.value()->getTriggeredBy() == trigger && entry.value()->getWaitUntil() > 0)
        found.push_back(entry.value());
    return found;
  }

  /// What replaced the original; one at most.
  state::AllocRef replacement() const {
    for (const auto& row : allocs())
      if (row->alloc->previous() == original->alloc->id()) return row;
    return {};
  }
};

}  // namespace

TEST_CASE_FIXTURE(Disconnection,
                  "an absence that is tolerated for centuries does not end at once") {
  auto patient = Draft<schema::Job>{tolerant(1)};
  patient->getTaskGroups()[0].getMaxClientDisconnect().setValue(
      std::numeric_limits<std::int64_t>::max());
  run_one(patient.freeze());
  disconnect();
  CHECK(now_of(original)->alloc->client_status() == ClientStatus::UNKNOWN);
  now += 3600 * second;
  process(evaluate(EvalTrigger::MAX_DISCONNECT_TIMEOUT));
  CHECK(now_of(original)->alloc->client_status() == ClientStatus::UNKNOWN);
}

TEST_CASE_FIXTURE(Disconnection, "disconnect: the allocation becomes unknown and is replaced") {
  run_one(tolerant(1));

  disconnect();

  const auto row = now_of(original)->alloc;
  CHECK(row->client_status() == ClientStatus::UNKNOWN);
  CHECK(row->desired_status() == DesiredStatus::RUN);
  CHECK(row->client_description() == "alloc is unknown since its node is disconnected");
  REQUIRE(row->alloc_states().size() == 1);
  CHECK(view(row->alloc_states()[0].getValue()) == "unknown");
  REQUIRE(replacement());
  CHECK(replacement()->alloc->node_id() == other);
  const auto timeouts = waiting(EvalTrigger::MAX_DISCONNECT_TIMEOUT);
  REQUIRE(timeouts.size() == 1);
  CHECK(timeouts[0]->getWaitUntil() == now + tolerated);
  CHECK(view(timeouts[0]->getStatusDescription()) == "created for delayed disconnect timeout");

  // Nothing more comes of it.
  const auto before = allocs().size();
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(allocs().size() == before);
  CHECK(waiting(EvalTrigger::MAX_DISCONNECT_TIMEOUT).size() == 1);
}

TEST_CASE_FIXTURE(Disconnection, "disconnect: the replacement waits for the reschedule delay") {
  run_one(tolerant(1, 30 * second));

  disconnect();

  CHECK_FALSE(replacement());
  const auto followups = waiting(EvalTrigger::ALLOC_FAILURE);
  REQUIRE(followups.size() == 1);
  CHECK(followups[0]->getWaitUntil() == now + 30 * second);
  CHECK(now_of(original)->alloc->followup_eval_id() == view(followups[0]->getId()));
  now += 30 * second;
  process(followups[0]);
  CHECK(replacement());
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
}

TEST_CASE_FIXTURE(Disconnection, "disconnect: one that has not started yet is lost") {
  job = tolerant(1);
  home = add_node();
  process(register_job(job));
  original = live().at(0);
  other = add_node();

  disconnect();

  CHECK(status_of(original) == ClientStatus::LOST);
  CHECK(replacement());
}

TEST_CASE_FIXTURE(Disconnection,
                  "disconnect: a group that does not tolerate it loses its allocation") {
  run_one(make_job(1));
  disconnect();
  CHECK(status_of(original) == ClientStatus::LOST);
  CHECK(now_of(original)->server_terminal);
  CHECK(replacement());
}

TEST_CASE_FIXTURE(Disconnection, "reconnect: the original stays, its replacement is stopped") {
  run_one(tolerant(1));
  disconnect();
  report(replacement(), ClientStatus::RUNNING);
  now += 60 * second;

  reconnect();

  CHECK(status_of(original) == ClientStatus::RUNNING);
  CHECK_FALSE(now_of(original)->server_terminal);
  CHECK(replacement()->server_terminal);
  CHECK(replacement()->alloc->desired_description()
        == "alloc not needed due to disconnected client reconnect");
  CHECK(allocs().size() == 2);
  const auto states = now_of(original)->alloc->alloc_states();
  REQUIRE(states.size() == 2);
  CHECK(view(states[1].getValue()) == "running");

  // Its old timeout changes nothing any more.
  now += tolerated;
  process(waiting(EvalTrigger::MAX_DISCONNECT_TIMEOUT).at(0));
  CHECK(status_of(original) == ClientStatus::RUNNING);
  CHECK(allocs().size() == 2);
}

TEST_CASE_FIXTURE(Disconnection, "reconnect: nothing is placed while the client has not reported") {
  // The replacement finds no room, so an evaluation waits for some.
  job = tolerant(1);
  home = add_node();
  process(register_job(job));
  report_all_running();
  original = live().at(0);
  disconnect();
  REQUIRE_FALSE(replacement());

  // The node beats; an evaluation comes before the client's report.
  set_status(home, NodeStatus::INITIALIZING);
  process(evaluate(EvalTrigger::QUEUED_ALLOCS));
  CHECK(allocs().size() == 1);
  report(original, ClientStatus::RUNNING);
  process(evaluate(EvalTrigger::QUEUED_ALLOCS));
  process(evaluate(EvalTrigger::RECONNECT));
  set_status(home, NodeStatus::READY);
  process(evaluate(EvalTrigger::NODE_UPDATE));

  CHECK(allocs().size() == 1);
  CHECK(status_of(original) == ClientStatus::RUNNING);
  CHECK_FALSE(now_of(original)->server_terminal);
}

TEST_CASE_FIXTURE(Disconnection, "reconnect: what ended well while away frees its place") {
  run_one(tolerant(1));
  disconnect();
  report(replacement(), ClientStatus::RUNNING);
  reconnect(ClientStatus::COMPLETE);
  CHECK_FALSE(replacement()->server_terminal);
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(Disconnection, "reconnect: what failed while away stays replaced") {
  run_one(tolerant(1));
  disconnect();
  report(replacement(), ClientStatus::RUNNING);
  now += 60 * second;

  reconnect(ClientStatus::FAILED);

  CHECK(now_of(original)->server_terminal);
  CHECK(status_of(original) == ClientStatus::FAILED);
  CHECK_FALSE(replacement()->server_terminal);
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(Disconnection, "reconnect: an allocation of an older version gives way") {
  run_one(tolerant(1));
  disconnect();
  Draft<schema::Job> newer{job};
  newer->getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"20s"})");
  process(register_job(newer.freeze()));
  for (const auto& row : live())
    if (row->alloc->client_status() == ClientStatus::PENDING) report(row, ClientStatus::RUNNING);

  reconnect();

  CHECK(now_of(original)->server_terminal);
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->node_id() == other);
  CHECK(live()[0]->alloc->job_version() == 1);
}

TEST_CASE_FIXTURE(Disconnection,
                  "reconnect: what is stopped while its client is away stays stopped") {
  run_one(tolerant(1));
  disconnect();
  Draft<schema::Job> stopped{job};
  stopped->setStop(true);
  process(register_job(stopped.freeze()));
  CHECK(now_of(original)->server_terminal);

  reconnect();

  CHECK(now_of(original)->alloc->desired_status() == DesiredStatus::STOP);
  CHECK(live().empty());
}

TEST_CASE_FIXTURE(Disconnection,
                  "disconnect: who is away for too long is lost, and replaced once") {
  run_one(tolerant(1));
  disconnect();
  report(replacement(), ClientStatus::RUNNING);
  now += tolerated;

  process(waiting(EvalTrigger::MAX_DISCONNECT_TIMEOUT).at(0));

  CHECK(status_of(original) == ClientStatus::LOST);
  CHECK(now_of(original)->server_terminal);
  CHECK(allocs().size() == 2);
  CHECK(live().size() == 1);
  // Back too late: it is told to stop, and nothing is placed.
  reconnect();
  CHECK(now_of(original)->alloc->desired_status() == DesiredStatus::STOP);
  CHECK(live().size() == 1);
  CHECK(allocs().size() == 2);
}

TEST_CASE_FIXTURE(Disconnection,
                  "disconnect: several absences of one allocation are counted anew") {
  run_one(tolerant(1, 3600 * second));
  for (int round = 0; round < 3; ++round) {
    now += tolerated / 2;
    disconnect();
    REQUIRE(status_of(original) == ClientStatus::UNKNOWN);
    now += tolerated / 2;
    reconnect();
    REQUIRE(status_of(original) == ClientStatus::RUNNING);
  }
  CHECK(allocs().size() == 1);
}

TEST_CASE_FIXTURE(Disconnection,
                  "disconnect: a plan that comes too late does not make a node's work unknown") {
  run_one(tolerant(1));
  set_status(home, NodeStatus::DISCONNECTED);
  const auto eval = evaluate(EvalTrigger::NODE_UPDATE);
  auto scheduler = make_scheduler(eval, seed++);
  const auto step = scheduler->start({state(), now, nullptr});
  REQUIRE(step.plan);

  set_status(home, NodeStatus::INITIALIZING);
  report(original, ClientStatus::RUNNING);

  const auto verdict = check_plan(*step.plan, state(), "global");
  REQUIRE(verdict.rejected_nodes.contains(home));
  CHECK(verdict.rejected_nodes.at(home) == "node is not disconnected any more");
}

TEST_CASE_FIXTURE(
    Disconnection,
    "stop_after_client_disconnect: the replacement waits until the old one has ended") {
  run_one(make_job(1, [](schema::Job::Builder draft) {
    auto group = draft.getTaskGroups()[0];
    group.getStopAfterClientDisconnect().setValue(60 * second);
    group.getTasks()[0].setKillTimeout(20 * second);
  }));

  set_status(home, NodeStatus::DOWN);
  process(evaluate(EvalTrigger::NODE_UPDATE));

  CHECK(status_of(original) == ClientStatus::LOST);
  CHECK_FALSE(replacement());
  const auto followups = waiting(EvalTrigger::ALLOC_FAILURE);
  REQUIRE(followups.size() == 1);
  CHECK(followups[0]->getWaitUntil() == now + 80 * second);
  CHECK(view(followups[0]->getStatusDescription()) == "created for delayed rescheduling");
  CHECK(now_of(original)->alloc->followup_eval_id() == view(followups[0]->getId()));

  now += 80 * second;
  process(followups[0]);
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->node_id() == other);
}

TEST_CASE_FIXTURE(Disconnection, "disconnect: allocations of system jobs wait for their own node") {
  home = add_node();
  job = make_job(1, [](schema::Job::Builder draft) {
    draft.setType("system");
    draft.getTaskGroups()[0].getMaxClientDisconnect().setValue(tolerated);
  });
  process(register_job(job));
  report_all_running();
  original = live().at(0);

  disconnect();
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
  reconnect();
  CHECK(status_of(original) == ClientStatus::RUNNING);
  CHECK(allocs().size() == 1);
}

TEST_CASE_FIXTURE(Harness,
                  "finished work of a batch job whose clients may go away is not repeated") {
  add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.setType("batch");
    job.getTaskGroups()[0].getMaxClientDisconnect().setValue(600 * second);
  })));
  report(live().at(0), ClientStatus::COMPLETE);

  process(evaluate(EvalTrigger::NODE_UPDATE));

  CHECK(plans.empty());
  CHECK(allocs().size() == 1);
}

namespace {

/// A group whose allocations nothing may replace while their client is away.
struct SoleAllocation : Disconnection {
  Object<schema::Job> sole(std::int64_t lost_after = 0) {
    return make_job(1, [lost_after](schema::Job::Builder draft) {
      auto block = draft.getTaskGroups()[0].initDisconnect();
      block.getLostAfter().setValue(lost_after);
      block.getReplace().setValue(false);
    });
  }

  void becomes(NodeStatus status) {
    set_status(home, status);
    process(evaluate(EvalTrigger::NODE_UPDATE));
  }
};

}  // namespace

TEST_CASE_FIXTURE(SoleAllocation,
                  "no replacement: it is unknown on a node that is down, until it is back") {
  run_one(sole());
  becomes(NodeStatus::DOWN);
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
  CHECK_FALSE(now_of(original)->server_terminal);
  CHECK_FALSE(replacement());
  CHECK(waiting(EvalTrigger::MAX_DISCONNECT_TIMEOUT).empty());
  CHECK(waiting(EvalTrigger::ALLOC_FAILURE).empty());
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());

  now += 100'000 * second;
  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  reconnect();
  CHECK(status_of(original) == ClientStatus::RUNNING);
  CHECK(allocs().size() == 1);
  becomes(NodeStatus::DOWN);
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
}

TEST_CASE_FIXTURE(SoleAllocation, "no replacement: prevent_reschedule_on_lost says so, too") {
  run_one(make_job(1, [](schema::Job::Builder draft) {
    draft.getTaskGroups()[0].setPreventRescheduleOnLost(true);
  }));
  becomes(NodeStatus::DOWN);
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
  CHECK_FALSE(replacement());
}

TEST_CASE_FIXTURE(SoleAllocation, "no replacement: none comes when the time to wait is over") {
  run_one(sole(tolerated));
  disconnect();
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
  CHECK(waiting(EvalTrigger::MAX_DISCONNECT_TIMEOUT).empty());
  now += tolerated;
  becomes(NodeStatus::DOWN);
  CHECK(status_of(original) == ClientStatus::UNKNOWN);
  CHECK_FALSE(replacement());
  reconnect();
  CHECK(status_of(original) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(SoleAllocation, "no replacement: somebody stops it, and another comes") {
  run_one(sole());
  becomes(NodeStatus::DOWN);
  apply([this](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(original->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  process(evaluate(EvalTrigger::ALLOC_STOP));
  CHECK(now_of(original)->server_terminal);
  REQUIRE(replacement());
  CHECK(replacement()->alloc->node_id() == other);
}

TEST_CASE_FIXTURE(SoleAllocation, "no replacement: what had not begun is lost and replaced") {
  job = sole();
  home = add_node();
  process(register_job(job));
  original = live().at(0);
  other = add_node();
  becomes(NodeStatus::DOWN);
  CHECK(status_of(original) == ClientStatus::LOST);
  CHECK(replacement());
}

TEST_CASE_FIXTURE(SoleAllocation, "no replacement: what failed while it was away is replaced") {
  run_one(sole());
  becomes(NodeStatus::DOWN);
  reconnect(ClientStatus::FAILED);
  CHECK(now_of(original)->server_terminal);
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(
    Disconnection,
    "a plan makes nothing unknown on a node that is down unless it is awaited for ever") {
  run_one(tolerant(1));
  set_status(home, NodeStatus::DISCONNECTED);
  auto scheduler = make_scheduler(evaluate(EvalTrigger::NODE_UPDATE), seed++);
  const auto step = scheduler->start({state(), now, nullptr});
  REQUIRE(step.plan);
  set_status(home, NodeStatus::DOWN);
  CHECK(check_plan(*step.plan, state(), "global").rejected_nodes.contains(home));
}
