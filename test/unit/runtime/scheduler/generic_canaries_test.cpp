// Which version replaces what is lost of a service job while canaries of its newest version run.
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalTrigger;

namespace {

struct CanaryHarness : Harness {
  /// A version of the job, told apart by what its task is configured with.
  Object<schema::Job> version(const char* config, bool rolls = true, bool canary = true) {
    return make_job(2, [=](schema::Job::Builder job) {
      job.getTaskGroups()[0].getTasks()[0].setConfig(config);
      if (!rolls) return;
      auto update = job.getTaskGroups()[0].initUpdate();
      update.setMaxParallel(2);
      update.setCanary(canary ? 1 : 0);
      update.setHealthCheck("task_states");
      update.setProgressDeadline(600 * second);
    });
  }

  void set_eligibility(const std::string& node, schema::SchedulingEligibility eligibility) {
    apply([&](schema::Command::Builder command) {
      auto update = command.initNodeEligibilityUpdate();
      update.setNodeId(text(node));
      update.setEligibility(eligibility);
    });
  }

  /// All of this version runs on one node, `first`, and is healthy.
  void settle(const Object<schema::Job>& job) {
    first = add_node();
    process(register_job(job));
    report_all_running(true);
    process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
    REQUIRE(live().size() == 2);
    set_eligibility(first, schema::SchedulingEligibility::INELIGIBLE);
    add_node();
  }

  /// The first node dies; the versions of what is placed instead, without the canary.
  std::vector<std::uint64_t> replaced_as() {
    set_status(first, schema::NodeStatus::DOWN);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    std::vector<std::uint64_t> versions;
    for (const auto& row : replacements())
      versions.push_back(row->alloc->job_version());
    return versions;
  }

  std::vector<state::AllocRef> replacements() const {
    auto rows = live();
    std::erase_if(rows, [](const state::AllocRef& row) { return row->alloc->is_canary(); });
    return rows;
  }

  std::string first;
};

using Versions = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE_FIXTURE(CanaryHarness,
                  "canaries: what is lost comes back as the version that is rolled out") {
  settle(version("{}"));
  const auto stable = copy(state().latest_deployment("default", "web")->getId());
  process(register_job(version(R"({"a":1})")));
  REQUIRE(live().size() == 3);
  REQUIRE(state().latest_deployment("default", "web")->getJobVersion() == 1);

  CHECK(replaced_as() == Versions{0, 0});
  for (const auto& row : replacements()) {
    CHECK(row->alloc->deployment_id() == stable);
    CHECK(view(row->job->getTaskGroups()[0].getTasks()[0].getConfig()) == "{}");
  }
}

TEST_CASE_FIXTURE(CanaryHarness, "canaries: the newest of several versions rolled out is taken") {
  first = add_node();
  for (const auto* config : {"{}", R"({"a":1})"}) {
    process(register_job(version(config, true, false)));
    report_all_running(true);
    process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  }
  set_eligibility(first, schema::SchedulingEligibility::INELIGIBLE);
  add_node();
  process(register_job(version(R"({"a":2})")));
  REQUIRE(live().size() == 3);

  CHECK(replaced_as() == Versions{1, 1});
}

TEST_CASE_FIXTURE(CanaryHarness, "canaries: what another version may run on says nothing of one") {
  const auto on_class = [this](const char* config, const char* node_class) {
    Draft<schema::Job> draft{version(config)};
    auto constraint = draft->initConstraints(1)[0];
    constraint.setLTarget("${node.class}");
    constraint.setOperand("=");
    constraint.setRTarget(node_class);
    return draft.freeze();
  };
  const auto add_of_class = [this](const char* node_class) {
    return add_node([=](schema::Node::Builder node) { node.setNodeClass(node_class); });
  };
  first = add_of_class("a");
  const auto other = add_of_class("a");
  process(register_job(on_class("{}", "a")));
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  REQUIRE(live().size() == 2);
  add_of_class("b");
  set_status(first, schema::NodeStatus::DOWN);
  set_eligibility(other, schema::SchedulingEligibility::INELIGIBLE);

  process(register_job(on_class(R"({"a":1})", "b")));
  CHECK(live().size() == 2);  // one of the canaries, and what is left of the old version
  CHECK(replacements().size() == 1);
}

TEST_CASE_FIXTURE(
    CanaryHarness,
    "canaries: what comes back as another version counts them for distinct_property") {
  const auto one_of_each_zone = [this](const char* config) {
    Draft<schema::Job> draft{version(config)};
    auto constraint = draft->getTaskGroups()[0].initConstraints(1)[0];
    constraint.setLTarget("${meta.zone}");
    constraint.setOperand("distinct_property");
    return draft.freeze();
  };
  const auto add_in = [this](const char* zone) {
    return add_node([=](schema::Node::Builder node) {
      auto meta = node.initMeta(1)[0];
      meta.setKey("zone");
      meta.setValue(zone);
    });
  };
  first = add_in("a");
  add_in("b");
  process(register_job(one_of_each_zone("{}")));
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  REQUIRE(live().size() == 2);
  set_status(first, schema::NodeStatus::DOWN);
  add_in("c");
  add_in("c");

  process(register_job(one_of_each_zone(R"({"a":1})")));
  CHECK(live().size() == 2);  // the canary in "c", and what is left of the old version in "b"
  CHECK(replacements().size() == 1);
}

TEST_CASE_FIXTURE(CanaryHarness,
                  "canaries: without a deployment, what is lost comes back as it was") {
  settle(version("{}", false));
  REQUIRE_FALSE(state().latest_deployment("default", "web"));
  process(register_job(version(R"({"a":1})")));
  REQUIRE(live().size() == 3);

  CHECK(replaced_as() == Versions{0, 0});
  for (const auto& row : replacements())
    CHECK(row->alloc->deployment_id().empty());
}

TEST_CASE_FIXTURE(CanaryHarness,
                  "canaries: a version that was to roll out but has no deployment is not taken") {
  settle(version("{}"));
  const auto stable = copy(state().latest_deployment("default", "web")->getId());
  process(register_job(version(R"({"a":1})")));
  apply([&](schema::Command::Builder command) {
    command.initReap().initDeploymentIds(1).set(0, text(stable));
  });
  REQUIRE_FALSE(state().deployment(stable));

  CHECK(replaced_as() == Versions{1, 1});
}

TEST_CASE_FIXTURE(CanaryHarness, "canaries: no version older than the lost one is taken") {
  add_node();
  process(register_job(version("{}")));
  report_all_running(true);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  for (const auto& row : live())
    report(row, ClientStatus::COMPLETE);
  process(register_job(version(R"({"a":1})", false)));  // of no deployment
  report_all_running(true);
  first = std::string{live().at(0)->alloc->node_id()};
  set_eligibility(first, schema::SchedulingEligibility::INELIGIBLE);
  add_node();
  process(register_job(version(R"({"a":2})")));

  CHECK(replaced_as() == Versions{2, 2});
}

TEST_CASE_FIXTURE(Harness, "without rolling there is no deployment, and there are no canaries") {
  add_node();
  const auto version = [this](const char* config) {
    return make_job(2, [config](schema::Job::Builder job) {
      auto update = job.getTaskGroups()[0].initUpdate();
      update.setMaxParallel(0);
      update.setCanary(1);
      job.getTaskGroups()[0].getTasks()[0].setConfig(config);
    });
  };
  process(register_job(version(R"({"run_for":"1s"})")));
  report_all_running();

  process(register_job(version(R"({"run_for":"2s"})")));
  process(evaluate(EvalTrigger::NODE_UPDATE));

  CHECK_FALSE(state().latest_deployment("default", "web"));
  REQUIRE(live().size() == 2);
  for (const auto& row : live())
    CHECK(row->alloc->job_version() == 1);
}
