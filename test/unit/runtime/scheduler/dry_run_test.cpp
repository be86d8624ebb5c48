// `job plan`: shows what would happen and changes nothing.
#include "runtime/scheduler/dry_run.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(Harness, "the plan of a new job") {
  add_node();
  const auto before = state();
  const auto run = dry_run(before, make_job(10), true, now, 1);
  REQUIRE(run.has_value());
  CHECK_FALSE(run->stored);
  CHECK(run->job_modify_index == 0);
  REQUIRE(run->desired_updates.size() == 1);
  CHECK(run->desired_updates[0].second.place == 10);
  REQUIRE(run->failed_groups.size() == 1);
  CHECK(run->failed_groups[0].first == "api");
  REQUIRE(run->placed.at("api").size() == 1);
  const auto& [node, there] = *run->placed.at("api").begin();
  CHECK(there.node_name == state().node(node)->getName());
  CHECK(there.count + run->failed_groups[0].second->getCoalescedFailures() + 1 == 10);
  REQUIRE(run->created_evals.size() == 1);
  CHECK(run->created_evals[0]->getStatus() == schema::EvalStatus::BLOCKED);
  CHECK_FALSE(state().job("default", "web"));
  CHECK(state().index() == before.index());
}

TEST_CASE_FIXTURE(Harness, "an unchanged job plans nothing, a changed one its updates") {
  add_node();
  process(register_job(make_job(2)));
  report_all_running();
  const auto same = dry_run(state(), make_job(2), false, now, 1);
  REQUIRE(same.has_value());
  CHECK(same->job_modify_index == state().job("default", "web")->getJobModifyIndex());
  CHECK(same->desired_updates[0].second.ignore == 2);
  CHECK(same->desired_updates[0].second.place == 0);
  CHECK(same->placed.empty());
  const auto changed = make_job(
      3, [](schema::Job::Builder job) { job.getTaskGroups()[0].getTasks()[0].setUser("nobody"); });
  const auto run = dry_run(state(), changed, true, now, 1);
  REQUIRE(run.has_value());
  CHECK(run->desired_updates[0].second.destructive_update == 2);
  CHECK(run->desired_updates[0].second.place == 1);
  CHECK(state().job("default", "web")->getVersion() == 0);
}

TEST_CASE_FIXTURE(Harness, "what registration refuses, the plan refuses") {
  const auto job = make_job(1, [](schema::Job::Builder job) { job.setNodePool("nowhere"); });
  CHECK(dry_run(state(), job, true, now, 1).has_error());
  const auto odd = make_job(1, [](schema::Job::Builder made) { made.setType("_odd"); });
  CHECK(dry_run(state(), odd, true, now, 1).error().what == "unknown job type \"_odd\"");
}

TEST_CASE_FIXTURE(Harness, "dry_run: a periodic job shows what a launch would place") {
  add_node();
  const auto job = make_job(2, [](schema::Job::Builder edited) {
    edited.setType("batch");
    edited.initPeriodic().setSpec("0 0 1 1 *");
  });

  const auto run = dry_run(state(), job, true, now, 1);

  REQUIRE(run.has_value());
  REQUIRE(run->desired_updates.size() == 1);
  CHECK(run->desired_updates[0].second.place == 2);
  CHECK_FALSE(state().job("default", "web"));
}
