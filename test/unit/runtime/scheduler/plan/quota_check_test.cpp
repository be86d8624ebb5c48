// What of a plan the quota of its namespace has room for.
#include "runtime/scheduler/plan/quota_check.hpp"

#include "../quota_harness.hpp"
#include "runtime/scheduler/plan/plans_ahead.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(QuotaHarness, "quota: a plan that was made before another was written is cut") {
  limit_cpu(1500);
  const auto first = register_job(make_job(2));
  const auto second_eval = register_job(make_job(2, [](auto job) { job.setId("other"); }));
  const auto snapshot = state();
  const auto one = make_scheduler(first)->start({snapshot, now, nullptr});
  const auto other = make_scheduler(second_eval)->start({snapshot, now, nullptr});
  REQUIRE(one.plan);
  REQUIRE(other.plan);
  CHECK(submit(*one.plan).is_full());
  const auto verdict = check_plan(*other.plan, state(), "global");
  CHECK(verdict.rejected_nodes.size() == 1);
  CHECK(verdict.over_quota.size() == 1);
  CHECK(verdict.rejected_nodes.begin()->second
        == "quota \"small\": cpu exhausted (2000 needed > 1500 limit)");
  submit(*other.plan);
  CHECK(live().size() + live("other").size() == 3);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: a plan may use what its own stops give back, elsewhere") {
  limit_cpu(500);
  run(make_job(1));
  const auto old = live().front();
  Plan plan;
  plan.job = old->job;
  plan.snapshot_index = state().index();
  Draft<schema::Allocation> draft{old->alloc};
  draft->setId("new");
  const auto snapshot = state();
  for (const auto& entry : snapshot.nodes())
    if (view(entry.value()->getId()) != old->alloc->node_id())
      draft->setNodeId(entry.value()->getId());
  const auto row = draft.freeze();
  const std::string node{row->node_id()};
  plan.nodes[node].placements.push_back({row, state::demand_of(row->resources())});
  CHECK(check_plan(plan, state(), "global").over_quota.contains(node));
  plan.nodes[std::string{old->alloc->node_id()}].stops.push_back(
      {old, schema::DesiredStatus::STOP, {}, {}, {}, {}});
  CHECK(check_plan(plan, state(), "global").rejected_nodes.empty());

  // Where its node refuses, the end does not come about either.
  CHECK(check_quota(plan, {{std::string{old->alloc->node_id()}, "gone"}}, state(), "global").size()
        == 1);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: of a plan that is all or nothing nothing is written") {
  limit_cpu(700);
  const auto eval = register_job(make_job(2, [](auto job) { job.setAllAtOnce(true); }));
  limit_cpu(0);
  const auto snapshot = state();
  const auto step = make_scheduler(eval)->start({snapshot, now, nullptr});
  REQUIRE(step.plan);
  CHECK(check_plan(*step.plan, state(), "global").rejected_nodes.empty());
  limit_cpu(700);
  const auto verdict = check_plan(*step.plan, state(), "global");
  CHECK(verdict.accepts_nothing);
  CHECK(verdict.over_quota.size() == 1);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: a plan beside others keeps to what has just been set") {
  PlansAhead ahead{"global"};
  const auto plan_of = [this](const char* id) {
    const auto eval = register_job(make_job(1, [id](auto job) { job.setId(id); }));
    const auto snapshot = state();
    return std::make_shared<const Plan>(
        *make_scheduler(eval)->start({snapshot, now, nullptr}).plan);
  };
  const auto judge = [&](const std::shared_ptr<const Plan>& plan) {
    return ahead.judge(PlanParts{plan}, state());
  };
  for (const auto* id : {"one", "two"}) {  // the second one is judged beside the first
    const auto plan = plan_of(id);
    const auto judged = judge(plan);
    REQUIRE(judged.verdict->rejected_nodes.empty());
    ahead.add(make_plan_command({{plan.get(), *judged.verdict}}, judged.basis, now, random));
  }
  const auto plan = plan_of("three");
  limit_cpu(1400);
  CHECK_FALSE(judge(plan).verdict->over_quota.empty());
  limit_cpu(1500);
  CHECK(judge(plan).verdict->rejected_nodes.empty());
  limit_cpu(1400);
  CHECK_FALSE(judge(plan).verdict->over_quota.empty());
}
