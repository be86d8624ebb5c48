// Scaling policies and events, the sources of jobs: what comes, is kept and goes with jobs.
#include "fixture.hpp"
#include "runtime/object/entries.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

struct ScalingState : StateFixture {
  /// "web" with a policy for "api" of at most `most`; 0: none.
  void put(std::int64_t most, const std::string& parent = {}, const std::string& id = "web") {
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, JobSpec{.id = id, .parent = parent, .groups = {{"api", 1}, {"db", 1}}});
      if (most == 0) return;
      auto policy = job.getTaskGroups()[0].initScaling();
      policy.setMax(most);
      policy.setType("horizontal");
      fill_entries(policy.initTarget(3),
                   std::map<std::string, std::string>{
                       {"Group", "api"}, {"Job", id}, {"Namespace", "default"}});
    });
  }

  Object<schema::ScalingPolicy> policy() const {
    for (const auto& entry : now().scaling_policies_by_job("default", "web"))
      return entry.value();
    return {};
  }

  Outcome tell(std::int64_t count,
               const char* group = "api",
               bool registers = false,
               const std::string& message = {}) {
    return run([&](auto command) {
      auto scale = command.initJobScale();
      scale.setNamespace("default");
      scale.setJobId("web");
      scale.setTaskGroup(group);
      auto event = scale.initEvent();
      event.getCount().setValue(count);
      event.setMessage(message);
      if (!registers) return;
      auto registration = scale.initRegistration();
      fill(registration.initJob(), JobSpec{.groups = {{"api", count}}});
      registration.setEnforceIndex(true);
      registration.setJobModifyIndex(1);
    });
  }

  std::string counts(std::string_view group = "api") const {
    std::string out;
    const auto events = now().scaling_events("default", "web");
    if (!events) return "none";
    const auto position = find_entry(events->getScalingEvents(), group);
    if (!position) return "none of the group";
    for (const auto event : events->getScalingEvents()[*position].getValue())
      out += std::to_string(event.getCount().getValue()) + ' ';
    return out;
  }

  void submit(const char* source) {
    const auto job = now().job("default", "web");
    run([&](auto command) {
      auto submission = command.initJobSubmission();
      submission.setNamespace("default");
      submission.setJobId("web");
      submission.setJobModifyIndex(job ? job->getJobModifyIndex() : 1);
      submission.setSource(source);
    });
  }

  std::string source(std::uint64_t version) const {
    const auto found = now().job_submission("default", "web", version);
    return found ? copy(found->getSource()) : "none";
  }
};

}  // namespace

TEST_CASE_FIXTURE(ScalingState, "scaling: a policy comes with its group, and keeps its id") {
  put(5);
  const auto made = policy();
  REQUIRE(made);
  CHECK(made->getId().size() == 36);
  CHECK(made->getCreateIndex() == index);
  CHECK(made->getModifyIndex() == index);
  CHECK(now().index(Table::scaling_policies) == index);
  CHECK(view(now().job("default", "web")->getTaskGroups()[0].getScaling().getId())
        == view(made->getId()));

  const Index before = index;
  put(5);  // the same policy in a new version of the job
  CHECK(policy()->getModifyIndex() == before);
  CHECK(now().index(Table::scaling_policies) == before);

  put(6);
  CHECK(view(policy()->getId()) == view(made->getId()));
  CHECK(policy()->getCreateIndex() == before);
  CHECK(policy()->getModifyIndex() == index);
  CHECK(policy()->getMax() == 6);
}

TEST_CASE_FIXTURE(ScalingState, "scaling: a policy goes with its group's block and with the job") {
  put(5);
  const auto id = copy(policy()->getId());
  put(0);
  CHECK_FALSE(policy());
  CHECK_FALSE(now().scaling_policy(id));
  CHECK(now().index(Table::scaling_policies) == index);
  put(5);
  CHECK(view(policy()->getId()) != id);
  deregister("web", false);
  CHECK(policy());
  deregister("web", true);
  CHECK_FALSE(policy());
  CHECK(now().scaling_policies_map().size() == 0);
}

TEST_CASE_FIXTURE(ScalingState, "scaling: children of a job have no policies of their own") {
  put(5);
  put(5, "web", "web/periodic-1");
  CHECK(now().scaling_policies_map().size() == 1);
}

TEST_CASE_FIXTURE(ScalingState, "scaling: policies are there after a restore, with their ids") {
  put(5);
  tell(2);
  submit("job {}");
  Store other;
  REQUIRE(restore_into(other, now()));
  const auto restored = other.snapshot();
  const auto found = restored.scaling_policy(view(policy()->getId()));
  REQUIRE(found);
  CHECK(found->getCreateIndex() == policy()->getCreateIndex());
  CHECK(restored.index(Table::scaling_policies) >= now().index(Table::scaling_policies));
  CHECK(restored.scaling_events("default", "web"));
  CHECK(restored.job_submission("default", "web", 0));
}

TEST_CASE_FIXTURE(ScalingState, "scaling: a job of an older release has policies, too") {
  put(5);
  // As it was stored before policies had ids.
  Draft<schema::Job> old{now().job("default", "web")};
  auto scaling = old->getTaskGroups()[0].getScaling();
  scaling.setId("");
  scaling.setCreateIndex(0);
  scaling.setModifyIndex(0);
  Tables tables = now().tables();
  const Object<schema::Job> stored = old.freeze();
  tables.jobs.insert_or_assign(join_key("default", "web"), stored);
  Store saved;
  saved.replace(tables, index);
  REQUIRE(restore_into(store, saved.snapshot()));

  const auto found = policy();
  REQUIRE(found);
  const auto id = copy(found->getId());
  CHECK(id.size() == 36);
  CHECK(found->getCreateIndex() == stored->getCreateIndex());
  put(6);
  CHECK(view(policy()->getId()) == id);
  CHECK(now().scaling_policies_map().size() == 1);
}

TEST_CASE_FIXTURE(ScalingState, "scaling: the newest twenty events of each group are kept") {
  CHECK(tell(1).error->what == "job \"web\" not found");
  put(0);
  tell(7, "db");
  for (std::int64_t i = 0; i < 25; ++i)
    CHECK_FALSE(tell(i).error);
  CHECK(counts() == "24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 ");
  CHECK(counts("db") == "7 ");
  CHECK(now().scaling_events("default", "web")->getModifyIndex() == index);
  deregister("web", false);
  CHECK(counts("db") == "7 ");
  deregister("web", true);
  CHECK(counts() == "none");
}

TEST_CASE_FIXTURE(ScalingState, "scaling: events of all groups have a bound, the oldest go") {
  put(0);
  const std::string long_text(300'000, 'm');
  tell(1, "db", false, long_text);
  tell(2, "api", false, long_text);
  tell(3, "db", false, long_text);
  CHECK(counts() + counts("db") == "2 3 1 ");
  tell(4, "api", false, long_text);
  CHECK(counts() + counts("db") == "4 2 3 ");
  tell(5, "web", false, std::string(2'000'000, 'm'));
  CHECK(counts() + counts("web") == "none of the group5 ");
  tell(6);
  CHECK(counts() == "6 ");
}

TEST_CASE_FIXTURE(ScalingState, "scaling: a count whose registration is refused leaves no event") {
  put(0);
  const auto outcome = tell(3, "api", true);
  CHECK(outcome.error->code == Errc::conflict);
  CHECK(counts() == "none");
}

TEST_CASE_FIXTURE(ScalingState, "sources: each version has its own, as long as it is known") {
  submit("of nothing");
  CHECK(source(0) == "none");
  put(0);
  submit("first");
  put(0);
  CHECK(source(0) == "first");
  CHECK(source(1) == "none");
  submit("second");
  CHECK(source(1) == "second");
  CHECK(now().job_submission("default", "web", 1)->getJobModifyIndex()
        == now().job("default", "web")->getJobModifyIndex());

  deregister("web", false);  // the stopped version is made of the same source
  CHECK(source(2) == "second");
  for (int i = 0; i < 6; ++i)
    put(0);
  CHECK(source(0) == "none");
  CHECK(source(2) == "none");
  submit("last");
  deregister("web", true);
  CHECK(source(8) == "none");
  CHECK(now().tables().job_submissions.size() == 0);
}

TEST_CASE_FIXTURE(ScalingState, "sources: a version that is brought back brings its own") {
  put(0);
  submit("first");
  put(0);
  submit("second");
  run([&](auto command) {
    auto body = command.initJobRegister();
    fill(body.initJob(), JobSpec{});
    body.getSourceOf().setValue(0);
  });
  CHECK(source(2) == "first");
}
