// How a group's allocations are sorted, one at a time: by their node, by whether they failed, by
// when their client gives them up.
#include "runtime/scheduler/reconcile/alloc_sets.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"
#include "test/unit/runtime/scheduler/reconcile/running_alloc.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::DesiredStatus;
using schema::NodeStatus;

namespace {

constexpr std::int64_t absence = 600 * second;  ///< What a tolerant group tolerates.

struct Sorting : Harness {
  Object<schema::Job> plain = make_job(1);
  Object<schema::Job> tolerant = make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getMaxClientDisconnect().setValue(absence);
  });
  /// Nothing comes in the place of its allocations.
  Object<schema::Job> sole = make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].initDisconnect().getReplace().setValue(false);
  });
  Object<schema::Job> sole_for_a_while = make_job(1, [](schema::Job::Builder job) {
    auto block = job.getTaskGroups()[0].initDisconnect();
    block.getLostAfter().setValue(absence);
    block.getReplace().setValue(false);
  });
  TaintedNodes tainted;

  /// An allocation of `job` that runs on the node "n".
  AllocEntry entry(const Object<schema::Job>& job, const EditAlloc& edit = {}) const {
    return running_alloc(job, now, edit);
  }

  static EditAlloc with(ClientStatus client, DesiredStatus desired = DesiredStatus::RUN) {
    return [client, desired](schema::Allocation::Builder alloc) {
      alloc.setClientStatus(client);
      alloc.setDesiredStatus(desired);
    };
  }

  /// Appends to what is known of the client's status, one step a second.
  static void set_states(schema::Allocation::Builder alloc,
                         const std::vector<const char*>& values,
                         std::int64_t since) {
    auto states = alloc.initAllocStates(static_cast<unsigned>(values.size()));
    for (unsigned i = 0; i < states.size(); ++i) {
      states[i].setField("client_status");
      states[i].setValue(values[i]);
      states[i].setTime(since + i * second);
    }
  }

  /// Was away since `since`, and nothing has followed from its return yet.
  EditAlloc away(ClientStatus client,
                 std::int64_t since,
                 DesiredStatus desired = DesiredStatus::RUN) const {
    return [=](schema::Allocation::Builder alloc) {
      with(client, desired)(alloc);
      set_states(alloc, {"unknown"}, since);
    };
  }

  /// The node "n" has this status, or is gone.
  void taint(std::optional<NodeStatus> status) {
    tainted.clear();
    if (!status) {
      tainted.emplace("n", Object<schema::Node>{});
      return;
    }
    Draft<schema::Node> node;
    node->setId("n");
    node->setStatus(*status);
    tainted.emplace("n", node.freeze());
  }

  /// The name of the set that the allocation comes into.
  std::string taint_set(const AllocEntry& one) const {
    const auto sets = filter_by_taint({&one}, tainted, now);
    std::string found;
    const std::pair<const AllocSet&, const char*> named[] = {{sets.untainted, "untainted"},
                                                             {sets.migrate, "migrate"},
                                                             {sets.lost, "lost"},
                                                             {sets.disconnecting, "disconnecting"},
                                                             {sets.reconnecting, "reconnecting"},
                                                             {sets.ignore, "ignore"}};
    for (const auto& [set, name] : named)
      if (!set.empty()) found += name;
    return found;
  }

  std::string taint_set(const Object<schema::Job>& job, const EditAlloc& edit = {}) const {
    return taint_set(entry(job, edit));
  }

  /// Where rescheduling puts the allocation: "now", "later", "untainted", several, or "".
  std::string reschedule_set(const AllocEntry& one, RescheduleInput input) const {
    input.now = now;
    const auto sets = filter_by_reschedule({&one}, input);
    std::string found;
    if (!sets.untainted.empty()) found += "untainted ";
    if (!sets.now.empty()) found += "now ";
    if (!sets.later.empty())
      found += "later in " + std::to_string((sets.later[0].time - now) / second) + " ";
    if (!found.empty()) found.pop_back();
    return found;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Sorting, "sets of allocations: difference, union, membership, order of names") {
  const std::vector<AllocEntry> all{entry(plain, [](auto alloc) { alloc.setName("web.api[10]"); }),
                                    entry(plain, [](auto alloc) { alloc.setName("web.api[9]"); }),
                                    entry(plain, [](auto alloc) { alloc.setName("web.api[9]"); })};
  const AllocSet first{&all[0]};
  const AllocSet rest{&all[1], &all[2]};
  const AllocSet whole{&all[0], &all[1], &all[2]};
  CHECK(difference(whole, first) == rest);
  CHECK(united(rest, first) == whole);
  CHECK(united(whole, first) == whole);
  CHECK(contains(rest, &all[2]));
  CHECK_FALSE(contains(rest, &all[0]));
  CHECK(by_name_index(whole) == AllocSet{&all[1], &all[2], &all[0]});
}

TEST_CASE_FIXTURE(Sorting, "an allocation is older by its version or by its incarnation") {
  Draft<schema::Job> draft{plain};
  draft->setVersion(3);
  draft->setCreateIndex(20);
  const JobSpec job{draft.freeze()};
  const auto older = [&](std::uint64_t version, std::uint64_t created) {
    return is_older(entry(plain,
                          [&](auto alloc) {
                            alloc.setJobVersion(version);
                            alloc.setJobCreateIndex(created);
                          }),
                    job);
  };
  CHECK_FALSE(older(3, 20));
  CHECK(older(2, 20));
  CHECK(older(3, 19));
  CHECK_FALSE(older(4, 21));
}

TEST_CASE_FIXTURE(Sorting, "the newest absence counts, and only the client's status tells it") {
  const auto none = entry(plain);
  CHECK(last_unknown(none) == 0);
  CHECK_FALSE(needs_reconnect(none));
  const auto twice = entry(plain, [](auto alloc) {
    set_states(alloc, {"unknown", "running", "unknown"}, 100 * second);
  });
  CHECK(last_unknown(twice) == 102 * second);
  CHECK(needs_reconnect(twice));
  const auto back = entry(plain, [](auto alloc) {
    set_states(alloc, {"unknown", "running"}, 100 * second);
  });
  CHECK(last_unknown(back) == 100 * second);
  CHECK_FALSE(needs_reconnect(back));
  const auto other = entry(plain, [](auto alloc) {
    set_states(alloc, {"unknown"}, 100 * second);
    alloc.getAllocStates()[0].setField("desired_status");
  });
  CHECK(last_unknown(other) == 0);
  CHECK_FALSE(needs_reconnect(other));
}

TEST_CASE_FIXTURE(Sorting, "an absence is over when all of what is tolerated has passed") {
  const auto expired
      = [this](const AllocEntry& one) { return is_expired(one, disconnect_rules_of(one), now); };
  const auto gone_for = [&](std::int64_t time, ClientStatus status = ClientStatus::UNKNOWN) {
    return expired(entry(tolerant, away(status, now - time)));
  };
  CHECK_FALSE(gone_for(absence - 1));
  CHECK(gone_for(absence));
  CHECK_FALSE(gone_for(absence, ClientStatus::RUNNING));
  CHECK_FALSE(expired(entry(plain, away(ClientStatus::UNKNOWN, now - absence))));
  CHECK_FALSE(expired(entry(tolerant, with(ClientStatus::UNKNOWN))));
}

TEST_CASE_FIXTURE(Sorting, "what nothing may replace is overdue, but never lost") {
  const auto gone = away(ClientStatus::UNKNOWN, now - absence);
  const auto overdue
      = [this](const AllocEntry& one) { return is_overdue(one, disconnect_rules_of(one), now); };
  const auto sole_one = entry(sole_for_a_while, gone);
  CHECK(overdue(sole_one));
  CHECK_FALSE(is_expired(sole_one, disconnect_rules_of(sole_one), now));
  CHECK_FALSE(overdue(entry(sole, gone)));
  CHECK(overdue(entry(tolerant, gone)));
}

TEST_CASE_FIXTURE(Sorting, "what nothing may replace is awaited, whatever its node is said to be") {
  const auto recent = now - second;
  for (const auto& job : {sole, sole_for_a_while}) {
    for (const auto status : {NodeStatus::DOWN, NodeStatus::DISCONNECTED}) {
      taint(status);
      CHECK(taint_set(job) == "disconnecting");
      CHECK(taint_set(job, with(ClientStatus::PENDING)) == "lost");
      CHECK(taint_set(job, with(ClientStatus::COMPLETE)) == "untainted");
      CHECK(taint_set(job, away(ClientStatus::UNKNOWN, recent)) == "untainted");
      CHECK(taint_set(job, away(ClientStatus::UNKNOWN, now - absence)) == "untainted");
    }
    tainted.clear();
    CHECK(taint_set(job, away(ClientStatus::UNKNOWN, now - absence)) == "untainted");
    CHECK(taint_set(job, away(ClientStatus::RUNNING, now - absence)) == "reconnecting");
    taint({});  // its node is forgotten: nobody can come back
    CHECK(taint_set(job, away(ClientStatus::UNKNOWN, recent)) == "lost");
    CHECK(taint_set(job) == "lost");
  }
}

TEST_CASE_FIXTURE(Sorting, "reschedule: what nothing may replace has no successor while away") {
  RescheduleInput input;
  input.disconnecting = true;
  CHECK(reschedule_set(entry(tolerant), input) == "untainted later in 30");
  CHECK(reschedule_set(entry(sole), input) == "untainted");
  input = {};
  input.eval_id = "e";
  const auto waits = [this](schema::Allocation::Builder alloc) {
    away(ClientStatus::UNKNOWN, now - 60 * second)(alloc);
    alloc.setFollowupEvalId("e");
  };
  CHECK(reschedule_set(entry(tolerant, waits), input) == "now");
  CHECK(reschedule_set(entry(sole, waits), input) == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "nodes that are well leave allocations where they are") {
  CHECK(taint_set(plain) == "untainted");
  CHECK(taint_set(plain, with(ClientStatus::COMPLETE)) == "untainted");
  CHECK(taint_set(plain,
                  [](auto alloc) { alloc.initDesiredTransition().getMigrate().setValue(true); })
        == "migrate");
  CHECK(taint_set(plain,
                  [](auto alloc) {
                    with(ClientStatus::COMPLETE)(alloc);
                    alloc.initDesiredTransition().getMigrate().setValue(true);
                  })
        == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "a node that is down or gone loses what lives there") {
  for (const auto status : {std::optional{NodeStatus::DOWN}, std::optional<NodeStatus>{}}) {
    taint(status);
    CHECK(taint_set(plain) == "lost");
    CHECK(taint_set(tolerant) == "lost");
    CHECK(taint_set(plain, with(ClientStatus::COMPLETE)) == "untainted");
    CHECK(taint_set(plain, with(ClientStatus::RUNNING, DesiredStatus::STOP)) == "untainted");
  }
  taint(NodeStatus::INITIALIZING);
  CHECK(taint_set(plain) == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "a disconnected node: what its group tolerates decides") {
  taint(NodeStatus::DISCONNECTED);
  CHECK(taint_set(plain) == "lost");
  CHECK(taint_set(plain, with(ClientStatus::PENDING)) == "lost");
  CHECK(taint_set(plain, with(ClientStatus::COMPLETE)) == "untainted");
  CHECK(taint_set(tolerant) == "disconnecting");
  CHECK(taint_set(tolerant, with(ClientStatus::RUNNING, DesiredStatus::STOP)) == "ignore");
  CHECK(taint_set(tolerant, with(ClientStatus::PENDING)) == "lost");
  CHECK(taint_set(tolerant, with(ClientStatus::COMPLETE)) == "untainted");
  CHECK(taint_set(tolerant, away(ClientStatus::UNKNOWN, now - second)) == "untainted");
  CHECK(taint_set(tolerant, away(ClientStatus::UNKNOWN, now - absence)) == "lost");
}

TEST_CASE_FIXTURE(Sorting, "a client that is back: what reconnects, and what comes too late") {
  const auto recent = now - second;
  // Its node is well again, and says so or is not even mentioned.
  for (const bool mentioned : {true, false}) {
    if (mentioned)
      taint(NodeStatus::READY);
    else
      tainted.clear();
    CAPTURE(mentioned);
    CHECK(taint_set(tolerant, away(ClientStatus::RUNNING, recent)) == "reconnecting");
    CHECK(taint_set(tolerant, away(ClientStatus::RUNNING, now - absence)) == "reconnecting");
    CHECK(taint_set(tolerant, away(ClientStatus::FAILED, recent)) == "reconnecting");
    CHECK(taint_set(tolerant, away(ClientStatus::UNKNOWN, now - absence)) == "lost");
    CHECK(taint_set(tolerant, away(ClientStatus::COMPLETE, recent)) == "untainted");
    CHECK(taint_set(plain, away(ClientStatus::RUNNING, recent)) == "untainted");
    CHECK(taint_set(tolerant) == "untainted");
  }
  tainted.clear();
  CHECK(taint_set(tolerant, away(ClientStatus::UNKNOWN, recent)) == "untainted");
  CHECK(taint_set(tolerant, away(ClientStatus::FAILED, recent, DesiredStatus::STOP)) == "ignore");
  CHECK(taint_set(tolerant, away(ClientStatus::RUNNING, recent, DesiredStatus::STOP)) == "ignore");
  taint(NodeStatus::READY);
  CHECK(taint_set(tolerant, away(ClientStatus::UNKNOWN, recent)) == "reconnecting");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: of a service, what failed is replaced at its time") {
  const auto failed_before = [this](std::int64_t time) {
    return entry(plain, [&](auto alloc) {
      alloc.setClientStatus(ClientStatus::FAILED);
      alloc.setModifyTime(now - time);
    });
  };
  CHECK(reschedule_set(failed_before(10 * second), {}) == "untainted later in 20");
  CHECK(reschedule_set(failed_before(29 * second - 1), {}) == "untainted later in 1");
  CHECK(reschedule_set(failed_before(29 * second), {}) == "now");
  CHECK(reschedule_set(entry(plain), {}) == "untainted");
  CHECK(reschedule_set(entry(plain, with(ClientStatus::COMPLETE)), {}).empty());
  CHECK(reschedule_set(entry(plain, with(ClientStatus::LOST)), {}).empty());
  CHECK(reschedule_set(entry(plain, with(ClientStatus::FAILED, DesiredStatus::STOP)), {}).empty());
  CHECK(reschedule_set(entry(plain, with(ClientStatus::FAILED, DesiredStatus::EVICT)), {}).empty());
}

TEST_CASE_FIXTURE(Sorting, "reschedule: what is replaced already is not looked at") {
  const auto replaced = [this](ClientStatus status) {
    return entry(plain, [status](auto alloc) {
      alloc.setClientStatus(status);
      alloc.setNextAllocation("b");
    });
  };
  CHECK(reschedule_set(replaced(ClientStatus::FAILED), {}).empty());
  CHECK(reschedule_set(replaced(ClientStatus::RUNNING), {}) == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: an evaluation waits for each failure already, or is here") {
  const auto failed = entry(plain, [this](auto alloc) {
    alloc.setClientStatus(ClientStatus::FAILED);
    alloc.setModifyTime(now - 10 * second);
    alloc.setFollowupEvalId("later");
  });
  RescheduleInput input;
  CHECK(reschedule_set(failed, input) == "untainted");
  input.eval_id = "another";
  CHECK(reschedule_set(failed, input) == "untainted");
  input.eval_id = "later";
  CHECK(reschedule_set(failed, input) == "now");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: who runs is replaced only when an operator forces it") {
  const auto forced
      = [](auto alloc) { alloc.initDesiredTransition().getForceReschedule().setValue(true); };
  CHECK(reschedule_set(entry(plain, forced), {}) == "now");
  const auto no_policy = make_job(
      1, [](schema::Job::Builder job) { job.getTaskGroups()[0].disownReschedulePolicy(); });
  CHECK(reschedule_set(entry(no_policy, with(ClientStatus::FAILED)), {}) == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: the watcher decides about its deployment's failures") {
  const auto failed = [this](const char* deployment, bool wanted) {
    return entry(plain, [&](auto alloc) {
      alloc.setClientStatus(ClientStatus::FAILED);
      alloc.setModifyTime(now - 60 * second);
      alloc.setDeploymentId(deployment);
      if (wanted) alloc.initDesiredTransition().getReschedule().setValue(true);
    });
  };
  RescheduleInput input;
  CHECK(reschedule_set(failed("", false), input) == "now");
  input.active_deployment = "d";
  CHECK(reschedule_set(failed("d", false), input) == "untainted");
  CHECK(reschedule_set(failed("d", true), input) == "now");
  CHECK(reschedule_set(failed("earlier", false), input) == "now");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: of a batch job, what ended well stays ended") {
  const auto job = make_job(1, [](schema::Job::Builder draft) {
    draft.setType("batch");
    draft.getTaskGroups()[0].getReschedulePolicy().setDelay(0);
  });
  const RescheduleInput batch{.is_batch = true, .eval_id = {}, .active_deployment = {}};
  const auto stopped = [&](schema::TaskRunState state, bool failed) {
    return entry(job, [&](auto alloc) {
      with(ClientStatus::COMPLETE, DesiredStatus::STOP)(alloc);
      auto task = alloc.initTaskStates(1)[0];
      task.setKey("server");
      task.initValue().setState(state);
      task.getValue().setFailed(failed);
    });
  };
  CHECK(reschedule_set(entry(job), batch) == "untainted");
  CHECK(reschedule_set(entry(job, with(ClientStatus::COMPLETE)), batch) == "untainted");
  CHECK(reschedule_set(entry(job, with(ClientStatus::FAILED)), batch) == "now");
  CHECK(reschedule_set(stopped(schema::TaskRunState::DEAD, false), batch) == "untainted");
  CHECK(reschedule_set(stopped(schema::TaskRunState::DEAD, true), batch).empty());
  CHECK(reschedule_set(stopped(schema::TaskRunState::RUNNING, false), batch).empty());
  CHECK(
      reschedule_set(entry(job, with(ClientStatus::COMPLETE, DesiredStatus::STOP)), batch).empty());
  CHECK(
      reschedule_set(entry(job, with(ClientStatus::FAILED, DesiredStatus::EVICT)), batch).empty());
}

TEST_CASE_FIXTURE(Sorting, "reschedule: an absence counts from now, and each is asked about once") {
  const RescheduleInput leaving{.disconnecting = true, .eval_id = {}, .active_deployment = {}};
  CHECK(reschedule_set(entry(tolerant), leaving) == "untainted later in 30");
  const auto waited_for = entry(tolerant, [](auto alloc) { alloc.setFollowupEvalId("old"); });
  CHECK(reschedule_set(waited_for, leaving) == "untainted later in 30");
  CHECK(reschedule_set(entry(tolerant, with(ClientStatus::UNKNOWN)), leaving).empty());
  CHECK(reschedule_set(entry(make_job(1,
                                      [](schema::Job::Builder job) {
                                        job.getTaskGroups()[0].disownReschedulePolicy();
                                      })),
                       leaving)
        == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: the evaluation of an absence replaces what is still away") {
  const auto missing = entry(tolerant, [this](auto alloc) {
    away(ClientStatus::UNKNOWN, now - 10 * second)(alloc);
    alloc.setFollowupEvalId("mine");
  });
  RescheduleInput input;
  input.eval_id = "mine";
  CHECK(reschedule_set(missing, input) == "now");
  input.eval_id = "another";
  CHECK(reschedule_set(missing, input) == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "reschedule: batch work whose client is away waits as services do") {
  const RescheduleInput leaving{
      .is_batch = true, .disconnecting = true, .eval_id = {}, .active_deployment = {}};
  CHECK(reschedule_set(entry(tolerant), leaving) == "untainted later in 30");

  const auto missing = entry(tolerant, [this](auto alloc) {
    away(ClientStatus::UNKNOWN, now - 10 * second)(alloc);
    alloc.setFollowupEvalId("mine");
  });
  RescheduleInput input{.is_batch = true, .eval_id = "mine", .active_deployment = {}};
  CHECK(reschedule_set(missing, input) == "now");
  input.eval_id = "another";
  CHECK(reschedule_set(missing, input) == "untainted");
  CHECK(reschedule_set(entry(tolerant), input) == "untainted");
}

TEST_CASE_FIXTURE(Sorting, "work was cut short if its end depends on a task that was told to end") {
  using Events = std::vector<const char*>;
  const auto job = [this](bool sidecar, bool leader) {
    return make_job(1, [=](schema::Job::Builder draft) {
      auto tasks = draft.getTaskGroups()[0].initTasks(2);
      tasks[0].setName("main");
      tasks[0].setLeader(leader);
      tasks[1].setName("beside");
      if (sidecar) tasks[1].initLifecycle().setSidecar(true);
    });
  };
  const auto is_cut = [this](const Object<schema::Job>& of, const Events& main,
                             const Events& beside, bool moves = true) {
    return was_cut_short(entry(of, [&](schema::Allocation::Builder alloc) {
      alloc.initDesiredTransition().getMigrate().setValue(moves);
      auto states = alloc.initTaskStates(2);
      for (unsigned i = 0; i < 2; ++i) {
        states[i].setKey(i == 0 ? "main" : "beside");
        const auto& types = i == 0 ? main : beside;
        auto events = states[i].initValue().initEvents(static_cast<unsigned>(types.size()));
        for (unsigned j = 0; j < events.size(); ++j)
          events[j].setType(types[j]);
      }
    }));
  };
  const Events done{"Started", "Terminated"};
  const Events done_then_told{"Started", "Terminated", "Killing"};
  const Events told{"Started", "Killing", "Terminated", "Killed"};

  CHECK(is_cut(job(false, false), told, done));
  CHECK_FALSE(is_cut(job(false, false), told, done, false));
  CHECK(is_cut(job(false, false), done, told));
  CHECK_FALSE(is_cut(job(false, false), done_then_told, done));
  CHECK_FALSE(is_cut(job(true, false), done, told));
  CHECK_FALSE(is_cut(job(false, true), done, told));
  CHECK(is_cut(job(false, true), told, done));
  CHECK(is_cut(job(false, false), {"Received", "Killing"}, done));
  CHECK(is_cut(job(false, false), {"Terminated", "Restarting", "Killing"}, done));
}

TEST_CASE_FIXTURE(Sorting, "lost allocations may run on until their client gives them up") {
  const auto patient = [this](std::int64_t patience, std::int64_t kill_timeout) {
    return make_job(1, [=](schema::Job::Builder job) {
      auto group = job.getTaskGroups()[0];
      group.getStopAfterClientDisconnect().setValue(patience);
      group.getTasks()[0].setKillTimeout(kill_timeout);
    });
  };
  const auto until = [this](const AllocEntry& lost) {
    const auto delayed = delayed_by_client_stop({&lost}, now);
    return delayed.empty() ? 0 : (delayed[0].time - now) / second;
  };
  CHECK(until(entry(plain)) == 0);
  CHECK(until(entry(patient(0, 0))) == 0);
  CHECK(until(entry(patient(60 * second, 0))) == 65);
  CHECK(until(entry(patient(60 * second, 20 * second))) == 80);

  const auto lost_before = [this](std::int64_t time, const char* field = "client_status") {
    return [=, this](schema::Allocation::Builder alloc) {
      set_states(alloc, {"unknown", "lost", "lost"}, now - time - second);
      for (auto state : alloc.getAllocStates())
        state.setField(field);
    };
  };
  const auto job = patient(60 * second, 20 * second);
  CHECK(until(entry(job, lost_before(30 * second))) == 50);
  CHECK(until(entry(job, lost_before(79 * second))) == 1);
  CHECK(until(entry(job, lost_before(80 * second))) == 0);
  CHECK(until(entry(job, lost_before(30 * second, "desired_status"))) == 80);
}
