// What of plans is written.
#include "runtime/scheduler/plan/plan_command.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct CommandHarness : Harness {
  Object<schema::Command> command;

  /// The results of plans of which `rejected` nodes are refused.
  capnp::List<schema::PlanResult>::Reader write(
      const std::vector<const Plan*>& plans,
      const std::map<std::string, std::string, std::less<>>& rejected = {}) {
    std::vector<VerifiedPlan> verified;
    for (const auto* plan : plans)
      verified.push_back({plan, {rejected, false}});
    command = make_plan_command(verified, state(), now, random);
    return command->getPlanResults().getPlans();
  }

  static PlannedAlloc placement(const char* id, std::uint32_t metric = 0) {
    Draft<schema::Allocation> row;
    row->setId(id);
    row->setMetricNumber(metric);
    return {row.freeze(), {}, true};
  }

  static Object<schema::Deployment> with_canaries(const std::vector<const char*>& ids) {
    Draft<schema::Deployment> draft;
    draft->setId("d");
    auto canaries = draft->initTaskGroups(1)[0].initValue().initPlacedCanaries(
        static_cast<unsigned>(ids.size()));
    for (unsigned i = 0; i < canaries.size(); ++i)
      canaries.set(i, ids[i]);
    return draft.freeze();
  }

  static std::string canaries_of(schema::PlanResult::Reader plan) {
    std::string joined;
    for (const auto id : plan.getDeployment().getTaskGroups()[0].getValue().getPlacedCanaries())
      joined += copy(id) + " ";
    return joined;
  }
};

}  // namespace

TEST_CASE_FIXTURE(CommandHarness,
                  "a job that loses several allocations to a plan is evaluated once") {
  const auto node = add_node();
  process(register_job(make_job(2)));
  const auto rows = live();
  Plan plan;
  for (const auto& row : rows)
    plan.nodes[node].preemptions.push_back(
        {row, schema::DesiredStatus::EVICT, "", {}, {}, "winner"});
  const auto written = write({&plan})[0];
  REQUIRE(written.getPreempted().size() == 2);
  for (unsigned i = 0; i < 2; ++i) {
    CHECK(view(written.getPreempted()[i].getId()) == rows[i]->alloc->id());
    CHECK(view(written.getPreempted()[i].getPreemptedByAllocation()) == "winner");
  }
  REQUIRE(written.getEvaluations().size() == 1);
  CHECK(written.getEvaluations()[0].getTriggeredBy() == schema::EvalTrigger::PREEMPTION);
  CHECK(view(written.getEvaluations()[0].getJobId()) == "web");
}

TEST_CASE_FIXTURE(CommandHarness, "all of several plans is written, in their order") {
  Draft<schema::AllocMetric> metric;
  metric->setNodesEvaluated(7);
  Plan first, next;
  first.eval_id = "one";
  next.eval_id = "two";
  next.nodes["n"].placements = {placement("a"), placement("b", 1)};
  next.metrics = {Draft<schema::AllocMetric>{}.freeze(), metric.freeze()};
  next.deployment_changes = {{"d", schema::DeploymentState::CANCELLED, "first"},
                             {"e", schema::DeploymentState::FAILED, "second"}};
  const auto plans = write({&first, &next});
  REQUIRE(plans.size() == 2);
  CHECK(view(plans[0].getEvalId()) == "one");
  CHECK(view(plans[1].getEvalId()) == "two");
  CHECK(plans[0].getMetrics().size() == 0);
  REQUIRE(plans[1].getMetrics().size() == 2);
  CHECK(plans[1].getMetrics()[1].getNodesEvaluated() == 7);
  REQUIRE(plans[1].getDeploymentUpdates().size() == 2);
  CHECK(view(plans[1].getDeploymentUpdates()[1].getDeploymentId()) == "e");
  CHECK(plans[1].getDeploymentUpdates()[1].getStatus() == schema::DeploymentState::FAILED);
}

TEST_CASE_FIXTURE(CommandHarness, "a deployment names only those canaries that are placed") {
  Plan plan;
  plan.nodes["good"].placements = {placement("a"), placement("b")};
  plan.nodes["bad"].placements = {placement("c")};
  plan.deployment = with_canaries({"c", "a", "b"});
  CHECK(canaries_of(write({&plan})[0]) == "c a b ");
  CHECK(canaries_of(write({&plan}, {{"bad", "full"}})[0]) == "a b ");
}

TEST_CASE_FIXTURE(CommandHarness, "a deployment that was there before keeps its canaries") {
  Plan plan;
  plan.deployment = with_canaries({"placed before"});
  CHECK(canaries_of(write({&plan})[0]) == "placed before ");
}

TEST_CASE_FIXTURE(CommandHarness, "all at once: without all of the plan, no deployment") {
  Plan plan;
  plan.nodes["bad"].placements = {placement("c")};
  plan.deployment = with_canaries({});
  CHECK(write({&plan}, {{"bad", "full"}})[0].hasDeployment());
  plan.all_at_once = true;
  CHECK(write({&plan})[0].hasDeployment());
  CHECK_FALSE(write({&plan}, {{"bad", "full"}})[0].hasDeployment());
}

TEST_CASE_FIXTURE(CommandHarness, "of metrics only those are written that rows have") {
  Draft<schema::AllocMetric> metric;
  metric->setNodesEvaluated(7);
  Plan plan;
  plan.nodes["bad"].placements = {placement("a", 0)};
  plan.nodes["good"].placements = {placement("b", 1), placement("c", 1)};
  plan.metrics = {Draft<schema::AllocMetric>{}.freeze(), metric.freeze()};
  const auto written = write({&plan}, {{"bad", "full"}})[0];
  REQUIRE(written.getMetrics().size() == 1);
  CHECK(written.getMetrics()[0].getNodesEvaluated() == 7);
  REQUIRE(written.getPlaced().size() == 2);
  CHECK(written.getPlaced()[0].getMetricNumber() == 0);
  CHECK(written.getPlaced()[1].getMetricNumber() == 0);
}

TEST_CASE_FIXTURE(CommandHarness, "a deployment keeps canaries that were placed earlier") {
  add_node();
  process(register_job(make_job(1)));
  const auto id = std::string{live()[0]->alloc->id()};
  Plan plan;
  plan.nodes["bad"].placements = {placement("c")};
  plan.deployment = with_canaries({id.c_str(), "c"});
  CHECK(canaries_of(write({&plan}, {{"bad", "full"}})[0]) == id + " ");
}

TEST_CASE_FIXTURE(CommandHarness,
                  "the evaluation is completed with its plan if all of that is written") {
  Plan plan;
  plan.nodes["bad"].placements = {placement("c")};
  CHECK(write({&plan})[0].getEvaluations().size() == 0);
  Draft<schema::Evaluation> done;
  done->setId("done");
  plan.completion = done.freeze();
  CHECK(write({&plan})[0].getEvaluations().size() == 1);
  CHECK(write({&plan}, {{"bad", "full"}})[0].getEvaluations().size() == 0);
}
