// Jobs: registration, versions, statuses, summaries, removal.
#include "fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;
using schema::EvalStatus;

namespace {

Outcome enforce(StateFixture& state, Index wanted) {
  return state.run([&](auto command) {
    auto body = command.initJobRegister();
    fill(body.initJob(), JobSpec{});
    body.setEnforceIndex(true);
    body.setJobModifyIndex(wanted);
  });
}

std::string versions(const StateFixture& state) {
  std::string joined;
  for (const auto& job : state.now().job_versions("default", "web"))
    joined += std::to_string(job->getVersion()) + (job->getStable() ? "s" : "")
              + (job->hasVersionTag() ? "t " : " ");
  return joined;
}

/// Names a version of "web", or without a name takes its name away.
Outcome tag(StateFixture& state, std::uint64_t version, const char* name) {
  return state.run([&](auto command) {
    auto body = command.initJobVersionTagging();
    body.setNamespace("default");
    body.setJobId("web");
    body.setVersion(version);
    if (name == nullptr) return;
    auto tag = body.initTag();
    tag.setName(name);
    tag.setTaggedTime(7);
  });
}

}  // namespace

TEST_CASE("Store: a job and its evaluation are registered in one step") {
  StateFixture state;

  const Outcome outcome = state.register_job({}, {});

  CHECK_FALSE(outcome.error);
  CHECK(outcome.job_modify_index == state.index);
  REQUIRE(outcome.evals.size() == 1);
  CHECK(outcome.evals[0]->getJobModifyIndex() == state.index);
  const auto job = state.now().job("default", "web");
  CHECK(job->getCreateIndex() == state.index);
  CHECK(job->getModifyIndex() == state.index);
  CHECK(job->getVersion() == 0);
  CHECK(view(job->getNodePool()) == "default");
  CHECK(state.job_status("web") == "pending");
  CHECK(state.summary("web") == "0 0 0 0 0 0 0");
  CHECK(state.now().index(Table::jobs) == state.index);
  CHECK(state.now().index(Table::job_summaries) == state.index);
  CHECK(state.now().index(Table::nodes) == 0);
}

TEST_CASE("Store: registering again makes a version and keeps the create index") {
  StateFixture state;
  state.register_job();
  const Index created = state.index;

  state.register_job({.groups = {{"api", 3}, {"db", 1}}});

  const auto job = state.now().job("default", "web");
  CHECK(job->getVersion() == 1);
  CHECK(job->getCreateIndex() == created);
  CHECK(job->getJobModifyIndex() == state.index);
  CHECK(state.now().job_version("default", "web", 0)->getTaskGroups().size() == 1);
  CHECK(state.summary("web", "db") == "0 0 0 0 0 0 0");
}

TEST_CASE("Store: what forbids a registration is its outcome, and nothing changes") {
  StateFixture state;
  CHECK(enforce(state, 7).error->what == "Enforcing job modify index 7: job does not exist");
  CHECK_FALSE(enforce(state, 0).error);
  const Index modified = state.index;
  CHECK(enforce(state, 0).error->what == "Enforcing job modify index 0: job already exists");
  CHECK(enforce(state, 5).error->what
        == "Enforcing job modify index 5: job exists with conflicting job modify index: "
               + std::to_string(modified));
  CHECK(state.register_job({.ns = "prod"}).error->what
        == "1 error occurred:\n\t* job \"web\" is in nonexistent namespace \"prod\"\n\n");
  CHECK(state.register_job({.pool = "gpu"}).error->what
        == "1 error occurred:\n\t* job \"web\" is in nonexistent node pool \"gpu\"\n\n");
  CHECK(state.register_job({.id = ""}).error);

  CHECK(state.now().index(Table::jobs) == modified);
  CHECK_FALSE(enforce(state, modified).error);
  CHECK(state.now().job("default", "web")->getVersion() == 1);
}

TEST_CASE("Store: PreserveCounts keeps the counts of groups that the stored job has") {
  StateFixture state;
  state.register_job({.groups = {{"api", 5}}});

  state.run([&](auto command) {
    auto body = command.initJobRegister();
    fill(body.initJob(), JobSpec{.groups = {{"api", 1}, {"db", 2}}});
    body.setKeepCounts(true);
  });

  const auto groups = state.now().job("default", "web")->getTaskGroups();
  CHECK(groups[0].getCount() == 5);
  CHECK(groups[1].getCount() == 2);
}

TEST_CASE("Store: six versions are kept, the newest stable one among them") {
  StateFixture state;
  state.register_job({.stable = true});
  for (int i = 0; i < 6; ++i)
    state.register_job();
  CHECK(versions(state) == "6 5 4 3 2 0s ");
  state.register_job();
  CHECK(versions(state) == "7 6 5 4 3 0s ");
}

TEST_CASE("Store: versions with a tag are kept besides the six") {
  StateFixture state;
  state.register_job();
  state.register_job();
  tag(state, 0, "first");
  for (int i = 0; i < 7; ++i)
    state.register_job();
  CHECK(versions(state) == "8 7 6 5 4 3 0t ");
  const auto first = state.now().job_version("default", "web", 0);
  CHECK(view(first->getVersionTag().getName()) == "first");
  CHECK(first->getVersionTag().getTaggedTime() == 7);
  tag(state, 0, nullptr);
  CHECK(versions(state) == "8 7 6 5 4 3 ");
  CHECK_FALSE(tag(state, 0, "gone").error);
  CHECK(versions(state) == "8 7 6 5 4 3 ");
}

TEST_CASE("Store: a tag is of its version, and of none that is made of it") {
  StateFixture state;
  state.register_job();
  tag(state, 0, "golden");
  const auto job = state.now().job("default", "web");
  CHECK(view(job->getVersionTag().getName()) == "golden");
  CHECK(job->getModifyIndex() == state.index);
  CHECK(state.now().job_version("default", "web", 0)->getModifyIndex() == state.index);
  CHECK(job->getJobModifyIndex() < state.index);

  state.deregister("web", false);
  CHECK(versions(state) == "1 0t ");
  CHECK_FALSE(state.now().job("default", "web")->hasVersionTag());
  state.run([&](auto command) { command.initJobRegister().setJob(*job); });
  CHECK(versions(state) == "2 1 0t ");
}

TEST_CASE("Store: a tag stays when its job's status changes, and when a state is restored") {
  StateFixture state;
  state.register_job();
  tag(state, 0, "golden");
  state.place({{}});
  state.report("alloc", ClientStatus::RUNNING);
  CHECK(state.job_status("web") == "running");
  CHECK(state.now().job("default", "web")->hasVersionTag());

  Store restored;
  REQUIRE(restore_into(restored, state.now()).has_value());
  CHECK(restored.snapshot().job_version("default", "web", 0)->hasVersionTag());
}

TEST_CASE("Store: marking an old version stable does not bring it back") {
  StateFixture state;
  state.register_job();
  state.register_job({.groups = {{"api", 3}}});
  const auto mark = [&](std::uint64_t version) {
    return state.run([&](auto command) {
      auto body = command.initJobStability();
      body.setNamespace("default");
      body.setJobId("web");
      body.setVersion(version);
      body.setStable(true);
    });
  };

  mark(0);
  CHECK(versions(state) == "1 0s ");
  CHECK(state.now().job("default", "web")->getVersion() == 1);
  CHECK_FALSE(state.now().job("default", "web")->getStable());
  mark(1);
  CHECK(state.now().job("default", "web")->getStable());
  CHECK_FALSE(mark(9).error);
}

TEST_CASE("Store: a version lives as long as an allocation runs it") {
  StateFixture state;
  state.register_job({.groups = {{"api", 7}}});
  state.place({{.id = "old"}});
  for (int i = 0; i < 8; ++i)
    state.register_job();
  CHECK_FALSE(state.now().job_version("default", "web", 0));
  CHECK(state.now().alloc("old")->job->getTaskGroups()[0].getCount() == 7);
  CHECK(state.now().tables().retained_jobs.size() == 1);

  Store restored;
  REQUIRE(restore_into(restored, state.now()).has_value());
  CHECK(restored.snapshot().alloc("old")->job->getTaskGroups()[0].getCount() == 7);

  state.run([&](auto command) { command.initReap().initAllocationIds(1).set(0, "old"); });
  CHECK(state.now().tables().retained_jobs.empty());
}

TEST_CASE("Store: stopping is a new version, purging leaves nothing but running allocations") {
  StateFixture state;
  state.register_job();
  state.place({{}});
  CHECK(state.deregister("web", false).jobs_stopped.size() == 1);
  CHECK(state.now().job("default", "web")->getStop());
  CHECK(versions(state) == "1 0 ");

  CHECK(state.deregister("web", true).jobs_stopped.size() == 1);
  CHECK(state.job_status("web") == "absent");
  CHECK(state.summary("web") == "absent");
  CHECK(versions(state).empty());
  CHECK(state.now().alloc("alloc")->job->getVersion() == 0);

  // A new job of that name does not inherit the old one's allocations in its summary.
  state.register_job();
  CHECK(state.now().job("default", "web")->getVersion() == 0);
  state.report("alloc", ClientStatus::RUNNING);
  CHECK(state.summary("web") == "0 0 0 0 0 0 0");
}

TEST_CASE("Store: deregistering a job that is gone still stores the evaluation") {
  StateFixture state;
  const Outcome outcome = state.run([&](auto command) {
    auto body = command.initJobDeregister();
    body.setNamespace("default");
    body.setJobId("gone");
    fill(body.initEvaluation(), EvalSpec{.job = "gone"});
  });
  CHECK_FALSE(outcome.error);
  CHECK(state.now().eval("eval"));
}

TEST_CASE("Store: a job's status follows its allocations and evaluations") {
  StateFixture state;
  state.register_job({}, {});
  CHECK(state.job_status("web") == "pending");
  state.place({{}});
  CHECK(state.job_status("web") == "running");
  state.put_eval({.status = EvalStatus::COMPLETE});
  CHECK(state.job_status("web") == "running");
  state.report("alloc", ClientStatus::COMPLETE);
  CHECK(state.job_status("web") == "dead");
  state.put_eval({.id = "again"});
  CHECK(state.job_status("web") == "pending");
  state.put_eval({.id = "again", .status = EvalStatus::FAILED});
  CHECK(state.job_status("web") == "dead");
  state.run([&](auto command) {
    auto reap = command.initReap();
    reap.initAllocationIds(1).set(0, "alloc");
    reap.initEvaluationIds(2).set(0, "eval");
    reap.getEvaluationIds().set(1, "again");
  });
  CHECK(state.job_status("web") == "dead");
  CHECK(state.now().job_counts("default", "web").empty());

  state.register_job({.id = "cron", .type = "batch", .periodic = true});
  CHECK(state.job_status("cron") == "running");
  state.deregister("cron", false);
  CHECK(state.job_status("cron") == "dead");
  state.register_job({.id = "agent", .type = "system"});
  CHECK(state.job_status("agent") == "running");
}

TEST_CASE("Store: a parent counts its children by status") {
  StateFixture state;
  const auto children = [&] {
    const auto counts = state.now().job_summary("default", "cron")->getChildren();
    return std::to_string(counts.getPending()) + " " + std::to_string(counts.getRunning()) + " "
           + std::to_string(counts.getDead());
  };
  state.register_job({.id = "cron", .type = "batch", .periodic = true});
  state.register_job({.id = "cron/1", .type = "batch", .parent = "cron"},
                     {.id = "e1", .job = "cron/1"});
  CHECK(children() == "1 0 0");
  state.place({{.job = "cron/1"}});
  CHECK(children() == "0 1 0");
  state.deregister("cron/1", true);
  CHECK(children() == "0 0 1");
}

TEST_CASE("Store: a summary counts allocations by client status") {
  StateFixture state;
  state.register_job({.groups = {{"api", 3}}}, {.queued = {{"api", 3}, {"unknown group", 9}}});
  CHECK(state.summary("web") == "3 0 0 0 0 0 0");
  state.place({{.id = "a"}, {.id = "b"}});
  CHECK(state.summary("web") == "1 2 0 0 0 0 0");
  state.report("a", ClientStatus::RUNNING);
  state.report("b", ClientStatus::RUNNING);
  CHECK(state.summary("web") == "1 0 2 0 0 0 0");
  state.report("a", ClientStatus::FAILED);
  state.report("b", ClientStatus::COMPLETE);
  CHECK(state.summary("web") == "1 0 0 1 1 0 0");
  state.report("a", ClientStatus::RUNNING);
  CHECK(state.summary("web") == "1 0 1 1 1 0 0");
  state.stop("a", ClientStatus::LOST);
  CHECK(state.summary("web") == "1 0 0 1 1 1 0");
}

TEST_CASE("Store: a finished evaluation cancels those that block for its job") {
  StateFixture state;
  state.register_job();
  state.put_eval({.id = "blocked", .status = EvalStatus::BLOCKED});
  state.put_eval({.id = "done", .status = EvalStatus::COMPLETE, .failed_groups = true});
  CHECK(state.now().eval("blocked")->getStatus() == EvalStatus::BLOCKED);

  const Outcome outcome = state.put_eval({.id = "done", .status = EvalStatus::COMPLETE});

  const auto blocked = state.now().eval("blocked");
  CHECK(blocked->getStatus() == EvalStatus::CANCELED);
  CHECK(view(blocked->getStatusDescription()) == "evaluation \"done\" successful");
  CHECK(outcome.evals.size() == 2);
  CHECK(state.now().evals_by_job("default", "web", EvalStatus::BLOCKED).empty());
  CHECK_FALSE(state.now().evals_by_job("default", "web", EvalStatus::CANCELED).empty());
}
