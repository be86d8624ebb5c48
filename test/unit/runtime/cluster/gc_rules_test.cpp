// What is forgotten, and when.
#include "runtime/cluster/gc_rules.hpp"

#include <algorithm>
#include <set>

#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using cluster::collect_garbage;
using cluster::GcThresholds;
using schema::ClientStatus;
using schema::DeploymentState;
using schema::EvalStatus;
using schema::NodeStatus;

namespace {

using Removed = std::set<std::string>;

struct Garbage : StateFixture {
  GcThresholds after{.eval = Nanoseconds{100},
                     .batch_eval = Nanoseconds{200},
                     .job = Nanoseconds{400},
                     .deployment = Nanoseconds{300},
                     .node = std::chrono::seconds{5}};

  using Commands = std::vector<Object<schema::Command>>;

  /// What is collected at `time`, as "alloc:id", "eval:id"…
  Removed at(std::int64_t time) const { return names_in(collect_garbage(now(), after, time)); }

  /// What a search finds that looks at `rows` rows a turn, each of which is written before the
  /// next.
  std::vector<Removed> turns_at(std::int64_t time, std::size_t rows) {
    std::vector<Removed> turns;
    for (cluster::GarbageSearch search{after}; !search.is_done();) {
      const auto commands = search.turn(now(), time, rows);
      turns.push_back(names_in(commands));
      for (const auto& command : commands)
        store.apply(++index, *command);
      store.publish();
    }
    return turns;
  }

  static Removed names_in(const Commands& commands) {
    Removed names;
    const auto add = [&names](const char* kind, const auto& ids) {
      for (const auto id : ids)
        names.insert(std::string{kind} + copy(id));
    };
    for (const auto& command : commands) {
      if (command->isAclExpire()) continue;
      if (command->isNodeDeregister()) {
        add("node:", command->getNodeDeregister().getNodeIds());
        continue;
      }
      if (command->isJobsReap()) {
        for (const auto job : command->getJobsReap().getJobs())
          names.insert("job:" + copy(job.getNamespace()) + "/" + copy(job.getId()));
        continue;
      }
      REQUIRE(command->isReap());
      const auto reap = command->getReap();
      add("alloc:", reap.getAllocationIds());
      add("eval:", reap.getEvaluationIds());
      add("deployment:", reap.getDeploymentIds());
    }
    return names;
  }

  void end_eval(const char* id,
                std::int64_t time,
                EvalStatus status = EvalStatus::COMPLETE,
                const char* type = "service") {
    run([&](auto command) {
      auto eval = command.initEvalUpdate().initEvaluations(1)[0];
      fill(eval, EvalSpec{.id = id, .status = status});
      eval.setType(type);
      eval.setModifyTime(time);
    });
  }

  /// A job with an allocation "a" of the evaluation "eval", which ended at 1000; "a" ended at 2000.
  /// "b" of a later evaluation runs.
  void run_once(const JobSpec& job = {}) {
    register_node();
    register_job(job);
    end_eval("eval", 1000, EvalStatus::COMPLETE, job.type.c_str());
    end_eval("other", 1'000'000);
    place({{.id = "a"}});
    place({{.id = "b", .eval = "other"}});
    report("a", ClientStatus::COMPLETE);
    report("b", ClientStatus::RUNNING);
  }

  /// The job "web" with a policy for what fails, and an allocation "a" that failed at 2000 and was
  /// preceded by others at the times `replaced_at`; and an evaluation that keeps the job alive.
  void fail_under(std::int64_t attempts,
                  bool unlimited,
                  const std::vector<std::int64_t>& replaced_at = {},
                  std::int64_t interval = 500) {
    register_node();
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, JobSpec{});
      auto policy = job.getTaskGroups()[0].initReschedulePolicy();
      policy.setAttempts(attempts);
      policy.setUnlimited(unlimited);
      policy.setInterval(interval);
    });
    put_eval({.id = "waits"});
    end_eval("eval", 1000);
    place({{.id = "a"}}, [&](schema::PlanResult::Builder plan) {
      auto events = plan.getPlaced()[0].initRescheduleTracker().initEvents(
          static_cast<unsigned>(replaced_at.size()));
      for (unsigned i = 0; i < events.size(); ++i)
        events[i].setRescheduleTime(replaced_at[i]);
    });
    report("a", ClientStatus::FAILED);
  }

  /// "a" is replaced.
  void replace() {
    place({{.id = "after-a", .eval = "other", .previous = "a"}});
    report("after-a", ClientStatus::RUNNING);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Garbage, "an evaluation goes when it and its allocations have ended long ago") {
  run_once();
  CHECK(at(2099).empty());
  CHECK(at(2100) == Removed{"alloc:a", "eval:eval"});
}

TEST_CASE("a failed allocation that nobody will look back at goes while its job lives") {
  const Removed gone{"alloc:a", "eval:eval"};
  SUBCASE("its group has no policy") {
    Garbage state;
    state.run_once();
    state.report("a", ClientStatus::FAILED);
    CHECK(state.at(2100) == gone);
  }
  SUBCASE("its group places nothing anew") {
    Garbage state;
    state.fail_under(0, false);
    CHECK(state.at(2099).empty());
    CHECK(state.at(2100) == gone);
  }
  SUBCASE("its last try is out of the interval in which tries are counted") {
    Garbage state;
    state.fail_under(2, false, {1100, 1900});
    CHECK(state.at(2400).empty());
    CHECK(state.at(2401) == gone);
  }
}

TEST_CASE("a failed allocation stays as long as its replacement has to know its attempts") {
  SUBCASE("without limit") {
    Garbage state;
    state.fail_under(0, true, {100});
    CHECK(state.at(1'000'000).empty());
    state.replace();
    CHECK(state.at(1'000'000) == Removed{"alloc:a", "eval:eval"});
  }
  SUBCASE("the first try is still to come") {
    Garbage state;
    state.fail_under(2, false);
    CHECK(state.at(1'000'000).empty());
  }
}

TEST_CASE_FIXTURE(Garbage, "an allocation that was lost from sight goes once it is to stop") {
  run_once();
  place({{.id = "c", .eval = "other"}});
  stop("c", ClientStatus::UNKNOWN);
  CHECK(at(2100) == Removed{"alloc:a", "eval:eval"});
  CHECK(at(1'000'100) == Removed{"alloc:a", "alloc:c", "eval:eval"});
}

TEST_CASE_FIXTURE(Garbage, "an allocation that is not over keeps its evaluation") {
  run_once();
  place({{.id = "c"}});
  report("c", ClientStatus::RUNNING);
  replace();
  CHECK(at(2100) == Removed{"alloc:a"});
  stop("c");
  CHECK(at(2100) == Removed{"alloc:a"});  // its client has not ended it yet
  report("c", ClientStatus::COMPLETE);
  CHECK(at(2100) == Removed{"alloc:a", "alloc:c", "eval:eval"});
}

TEST_CASE_FIXTURE(Garbage, "evaluations that wait stay, whatever their age") {
  register_job({.id = "web"});
  end_eval("pending", 0, EvalStatus::PENDING);
  end_eval("blocked", 0, EvalStatus::BLOCKED);
  end_eval("failed", 0, EvalStatus::FAILED);
  end_eval("canceled", 0, EvalStatus::CANCELED);
  CHECK(at(99).empty());
  CHECK(at(100) == Removed{"eval:failed", "eval:canceled"});
}

TEST_CASE_FIXTURE(Garbage, "evaluations of batch jobs are kept for longer") {
  register_job({.id = "web"});
  end_eval("batch", 0, EvalStatus::COMPLETE, "batch");
  end_eval("sysbatch", 0, EvalStatus::COMPLETE, "sysbatch");
  CHECK(at(199).empty());
  CHECK(at(200) == Removed{"eval:batch", "eval:sysbatch"});
}

TEST_CASE_FIXTURE(Garbage, "what a batch job has done is remembered while the job is there") {
  for (const char* type : {"batch", "sysbatch"}) {
    Garbage state;
    state.run_once({.type = type});
    state.replace();
    CHECK(state.at(2200).empty());
  }
}

TEST_CASE_FIXTURE(Garbage, "allocations of a job that is stopped, gone or another one go") {
  SUBCASE("stopped") {
    run_once();
    replace();
    deregister("web", false);
    CHECK(at(2100).contains("alloc:a"));
  }
  SUBCASE("a stopped batch job") {
    run_once({.type = "batch"});
    deregister("web", false);
    CHECK(at(2199).empty());
    CHECK(at(2200).contains("alloc:a"));
  }
  SUBCASE("purged") {
    run_once({.type = "batch"});
    deregister("web", true);
    CHECK(at(2200).contains("alloc:a"));
  }
  SUBCASE("registered anew") {
    run_once({.type = "batch"});
    deregister("web", true);
    register_job({.type = "batch"});
    CHECK(at(2200).contains("alloc:a"));
  }
}

TEST_CASE("an allocation that was to stop goes when it has, unless it did a batch job's work") {
  for (const bool batch : {false, true}) {
    Garbage state;
    state.register_node();
    state.register_job({.type = batch ? "batch" : "service"});
    state.end_eval("other", 1'000'000);
    state.place({{.id = "b", .eval = "other"}, {.id = "c", .eval = "other"}});
    state.report("b", ClientStatus::RUNNING);
    state.stop("c");
    CHECK(state.at(1'000'200).empty());
    state.report("c", ClientStatus::COMPLETE);
    CHECK(state.at(1'000'200) == (batch ? Removed{} : Removed{"alloc:c"}));
    if (!batch) continue;
    state.register_job({.type = "batch"});  // another version: the work is to be done anew
    CHECK(state.at(1'000'200) == Removed{"alloc:c"});
  }
}

TEST_CASE_FIXTURE(Garbage, "allocations whose evaluation is gone are collected by themselves") {
  register_node();
  register_job({});
  place({{.id = "a", .eval = "gone"}, {.id = "c", .eval = "gone"}});
  report("c", ClientStatus::RUNNING);
  report("a", ClientStatus::FAILED);
  CHECK(at(2099).empty());
  CHECK(at(2100) == Removed{"alloc:a"});
}

TEST_CASE_FIXTURE(Garbage, "a deployment goes when it has ended and nothing of it runs") {
  register_node();
  register_job({});
  deploy("d", 1);
  place({{.id = "a", .eval = "gone", .deployment = "d"}});
  const auto end = [this](DeploymentState status) {
    run([&](auto command) {
      auto update = command.initDeploymentStatusUpdate().initUpdate();
      update.setDeploymentId("d");
      update.setStatus(status);
    });
  };
  end(DeploymentState::PAUSED);
  stop("a", ClientStatus::LOST);
  const std::string gone = "deployment:d";
  CHECK_FALSE(at(1'000'000).contains(gone));
  end(DeploymentState::SUCCESSFUL);
  CHECK_FALSE(at(1299).contains(gone));
  CHECK(at(1300).contains(gone));

  place({{.id = "b", .eval = "gone", .deployment = "d"}});
  CHECK_FALSE(at(1'000'000).contains(gone));
}

TEST_CASE_FIXTURE(Garbage, "a deployment's age counts from its end and not from its beginning") {
  register_node();
  register_job({});
  deploy("d", 1);
  run([](auto command) {
    auto update = command.initDeploymentStatusUpdate();
    update.initUpdate().setDeploymentId("d");
    update.getUpdate().setStatus(DeploymentState::FAILED);
    auto eval = update.initEvaluation();
    nomad::state::fill(eval, EvalSpec{.id = "its-failure"});
    eval.setDeploymentId("d");
    eval.setModifyTime(5000);
  });
  CHECK_FALSE(at(5299).contains("deployment:d"));
  CHECK(at(5300).contains("deployment:d"));
}

TEST_CASE_FIXTURE(Garbage, "a dead job goes with the last of its evaluations and allocations") {
  run_once();
  replace();
  deregister("web", false);
  report("b", ClientStatus::COMPLETE);
  CHECK_FALSE(at(1'000'100).contains("job:default/web"));
  report("after-a", ClientStatus::COMPLETE);
  CHECK(at(1'000'099) == Removed{"alloc:a", "eval:eval"});
  CHECK(at(1'000'100) == Removed{"alloc:a", "alloc:b", "alloc:after-a", "eval:eval", "eval:other"});
  CHECK_FALSE(at(1'000'399).contains("job:default/web"));
  CHECK(at(1'000'400).contains("job:default/web"));

  after.job = Nanoseconds{2'000'000};
  CHECK_FALSE(at(2'999'999).contains("job:default/web"));
  CHECK(at(3'000'000).contains("job:default/web"));
}

TEST_CASE_FIXTURE(Garbage, "a finished batch job goes with all of it by the threshold of jobs") {
  after.batch_eval = Nanoseconds{10'000'000};
  register_node();
  register_job({.type = "batch"});
  end_eval("eval", 1000, EvalStatus::COMPLETE, "batch");
  place({{.id = "a"}});
  report("a", ClientStatus::COMPLETE);
  CHECK(at(2399).empty());
  CHECK(at(2400) == Removed{"alloc:a", "eval:eval", "job:default/web"});
}

TEST_CASE_FIXTURE(Garbage, "a finished batch job keeps what it did until it goes itself") {
  after.job = Nanoseconds{1'000'000'000};
  register_node();
  register_job({.type = "batch"});
  end_eval("eval", 1000, EvalStatus::COMPLETE, "batch");
  place({{.id = "a"}});
  report("a", ClientStatus::COMPLETE);
  REQUIRE(job_status("web") == "dead");
  CHECK(at(1'000'000).empty());
  deregister("web", false);
  CHECK(at(1'000'000) == Removed{"alloc:a", "eval:eval"});
}

TEST_CASE_FIXTURE(Garbage, "a service that died without being stopped is there to be looked at") {
  register_node();
  register_job({});
  end_eval("eval", 1000);
  place({{.id = "a"}});
  report("a", ClientStatus::FAILED);
  REQUIRE(job_status("web") == "dead");
  CHECK_FALSE(at(1'000'000).contains("job:default/web"));
}

TEST_CASE_FIXTURE(Garbage, "a job that was registered again while it was collected stays") {
  register_job({.type = "batch"});
  end_eval("eval", 1000, EvalStatus::COMPLETE, "batch");
  const auto commands = collect_garbage(now(), GcThresholds::none(), 1000);
  register_job({.type = "batch"}, EvalSpec{.id = "again"});
  for (const auto& command : commands)
    store.apply(++index, *command);
  store.publish();
  CHECK(now().job("default", "web"));
  CHECK(now().eval("again"));
  CHECK_FALSE(now().eval("eval"));
}

TEST_CASE_FIXTURE(Garbage, "a job stays as long as one of its versions has a tag") {
  const auto tag = [this](bool has_tag) {
    run([has_tag](auto command) {
      auto body = command.initJobVersionTagging();
      body.setNamespace("default");
      body.setJobId("web");
      if (has_tag) body.initTag().setName("golden");
    });
  };
  register_job({.type = "batch"});
  end_eval("eval", 1000, EvalStatus::COMPLETE, "batch");
  const auto commands = collect_garbage(now(), GcThresholds::none(), 1000);
  tag(true);
  CHECK_FALSE(at(1'000'000).contains("job:default/web"));
  // It was named after it had been chosen.
  for (const auto& command : commands)
    store.apply(++index, *command);
  store.publish();
  CHECK(now().job("default", "web"));
  tag(false);
  CHECK(at(1'000'000).contains("job:default/web"));
}

TEST_CASE_FIXTURE(Garbage, "jobs are looked for by themselves, and everything else without them") {
  register_job({.type = "batch"});
  end_eval("eval", 1000, EvalStatus::COMPLETE, "batch");
  const auto none = GcThresholds::none();
  const auto jobs = collect_garbage(now(), none, 1000, {.jobs = true, .others = false});
  CHECK(jobs.size() == 2);  // and what is left of them
  const auto others = collect_garbage(now(), none, 1000, {.jobs = false, .others = true});
  REQUIRE(others.size() == 1);
  CHECK(others[0]->getReap().getEvaluationIds().size() == 1);
}

TEST_CASE_FIXTURE(Garbage, "a job that lives stays, and a parent until it is stopped") {
  register_job({.id = "alive"});
  register_job({.id = "parent", .periodic = true});
  CHECK(at(1'000'000).empty());
  deregister("parent", false);
  CHECK(at(399).empty());
  CHECK(at(400) == Removed{"job:default/parent"});
}

TEST_CASE_FIXTURE(Garbage, "a node goes when it has been down for long and holds nothing") {
  constexpr std::int64_t second = 1'000'000'000;
  const auto set = [this](const char* id, NodeStatus status) {
    run([&](auto command) {
      auto update = command.initNodeStatusUpdate();
      update.setNodeId(id);
      update.setStatus(status);
      update.setUpdatedAt(100);
    });
  };
  for (const char* id : {"node", "ready", "away"})
    register_node({.id = id});
  register_job({});
  place({{.id = "a", .eval = "gone"}});
  set("node", NodeStatus::DOWN);
  set("away", NodeStatus::DISCONNECTED);
  set("ready", NodeStatus::READY);
  CHECK(at(1000 * second).empty());
  stop("a", ClientStatus::LOST);
  after.eval = after.deployment = after.job = std::chrono::hours{1};
  CHECK(at(105 * second - 1).empty());
  CHECK(at(105 * second) == Removed{"node:node"});
}

TEST_CASE_FIXTURE(Garbage, "without thresholds everything that has ended goes") {
  run_once();
  deregister("web", true);
  report("b", ClientStatus::COMPLETE);
  run([](auto command) {
    auto update = command.initNodeStatusUpdate();
    update.setNodeId("node");
    update.setStatus(NodeStatus::DOWN);
    update.setUpdatedAt(0);
  });
  after = GcThresholds::none();
  CHECK(at(2000) == Removed{"alloc:a", "eval:eval", "node:node"});
}

TEST_CASE_FIXTURE(Garbage, "one entry of the log removes no more than a bounded number") {
  constexpr auto most = static_cast<unsigned>(cluster::most_reaped_ids);
  run([](auto command) {
    auto evals = command.initEvalUpdate().initEvaluations(most + 1);
    for (unsigned i = 0; i < evals.size(); ++i) {
      const auto id = "eval-" + std::to_string(i);
      nomad::state::fill(evals[i], EvalSpec{.id = id, .status = EvalStatus::COMPLETE});
    }
  });
  const auto commands = collect_garbage(now(), GcThresholds::none(), 1);
  REQUIRE(commands.size() == 2);
  CHECK(commands[0]->getReap().getEvaluationIds().size() == most);
  CHECK(commands[1]->getReap().getEvaluationIds().size() == 1);
  CHECK(at(100).size() == most + 1);
}

TEST_CASE_FIXTURE(Garbage, "a search in turns finds what one does that is made at once") {
  run_once();
  deregister("web", true);
  register_job({.id = "old", .type = "batch"});
  end_eval("eval-of-old", 1000, EvalStatus::COMPLETE, "batch");
  register_job({.id = "parent", .periodic = true});
  deregister("parent", false);
  after = GcThresholds::none();
  const auto all = at(2000);
  REQUIRE(all.size() > 3);

  Removed found;
  const auto turns = turns_at(2000, 1);
  for (const auto& turn : turns)
    found.insert(turn.begin(), turn.end());
  CHECK(found == all);
  CHECK(turns.size() > all.size());
  CHECK(at(2000).empty());
}

TEST_CASE_FIXTURE(Garbage, "a turn looks at no more rows than it may, and sees the newest state") {
  after = GcThresholds::none();
  for (const char* id : {"eval-1", "eval-2", "eval-3", "eval-4"})
    end_eval(id, 1000);
  cluster::GarbageSearch search{after, {.jobs = false, .others = true}};
  CHECK(names_in(search.turn(now(), 2000, 2)) == Removed{"eval:eval-1", "eval:eval-2"});
  end_eval("eval-0", 1000);  // behind it already
  end_eval("eval-5", 1000);
  CHECK(names_in(search.turn(now(), 2000, 2)) == Removed{"eval:eval-3", "eval:eval-4"});
  CHECK_FALSE(search.is_done());
  CHECK(names_in(search.turn(now(), 2000, 2)) == Removed{"eval:eval-5"});
  CHECK(search.is_done());
}

TEST_CASE_FIXTURE(Garbage, "gc: expired tokens go after a while, one-time tokens at once") {
  after.acl_token = Nanoseconds{50};
  run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
  const auto put = [this](std::string_view accessor, std::int64_t expires) {
    run([&](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      auto token = upsert.initToken();
      token.setAccessorId(text(accessor));
      token.setSecretHash(
          {reinterpret_cast<const unsigned char*>(accessor.data()), accessor.size()});
      token.setKeyId("k");
      token.setExpirationTime(expires);
    });
  };
  for (int i = 0; i < 300; ++i)  // more than one entry takes
    put("old" + std::to_string(i), 100);
  put("later", 1000);
  put("never", 0);
  run([](auto command) {
    auto token = command.initAclOneTimeTokenUpsert();
    token.setAccessorId("never");
    token.setExpiresAt(90);
  });
  const auto left = [this] { return store.snapshot().rows<kind::AclTokens>().size(); };

  turns_at(120, 1000);
  CHECK(left() == 302);
  CHECK(store.snapshot().rows<kind::AclOneTimeTokens>().empty());
  cluster::GarbageSearch search{after};
  const auto first = search.turn(now(), 151, 100);
  CHECK(first.size() == 1);  // it looks at 100 of them
  CHECK_FALSE(search.is_done());
  turns_at(151, 100);
  CHECK(left() == 2);
  CHECK(collect_garbage(now(), after, 151).empty());
}
