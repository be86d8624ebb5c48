// Quotas of namespaces, as the schedulers keep to them.
#include "quota_harness.hpp"
#include "runtime/scheduler/dry_run.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(QuotaHarness, "quota: as many are placed as it has room for, the rest waits") {
  limit_cpu(1700);
  const auto done = run(make_job(5));
  CHECK(live().size() == 3);
  CHECK(why(*done) == "cpu exhausted (2000 needed > 1700 limit)");
  REQUIRE(blocked());
  CHECK(view(blocked()->getQuotaLimitReached()) == "small");
  CHECK(done->getFailedTgAllocs()[0].getValue().getCoalescedFailures() == 1);

  limit_cpu(2000);
  process(blocked());
  CHECK(live().size() == 4);
  REQUIRE(blocked());
  limit_cpu(0);
  process(blocked());
  CHECK(live().size() == 5);
  CHECK_FALSE(blocked());
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: each amount bounds, and less than none forbids") {
  const auto reason = [this](const EditLimit& edit) {
    limit(edit);
    return why(*run(make_job(5)));
  };
  CHECK(reason([](auto limit) { limit.setMemoryMb(600); })
        == "memory exhausted (768 needed > 600 limit)");
  CHECK(reason([](auto limit) { limit.setMemoryMaxMb(1'000); })
        == "memory_max exhausted (1024 needed > 1000 limit)");
  CHECK(reason([](auto limit) { limit.setAllocations(4); })
        == "allocations exhausted (5 needed > 4 limit)");
  CHECK(live().size() == 4);
  CHECK(reason([](auto limit) { limit.setCpu(-1); }) == "cpu exhausted (2500 needed > 0 limit)");
  CHECK(live().size() == 4);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: another region's limit bounds nothing here") {
  limit([](auto resources) { resources.setCpu(-1); }, "elsewhere");
  run(make_job(3));
  CHECK(live().size() == 3);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: who is beyond a lowered limit keeps it and gets no more") {
  run(make_job(3));
  limit_cpu(500);
  const auto done = run(make_job(4));
  CHECK(live().size() == 3);
  CHECK(why(*done) == "cpu exhausted (2000 needed > 500 limit)");

  // What is replaced gives its place to its successor.
  run(make_job(
      3, [](auto job) { job.getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"20s"})"); }));
  CHECK(live().size() == 3);
  for (const auto& row : live())
    CHECK(row->alloc->job_version() == 2);

  report(live().front(), schema::ClientStatus::FAILED);
  now += 60 * second;
  process(evaluate(schema::EvalTrigger::ALLOC_FAILURE));
  CHECK(live().size() == 2);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: system jobs keep to it on all nodes together") {
  limit_cpu(1000);
  const auto done = run(make_job(1, [](auto job) { job.setType("system"); }));
  CHECK(live().size() == 2);
  CHECK(why(*done) == "cpu exhausted (1500 needed > 1000 limit)");
  REQUIRE(blocked());
  CHECK(view(blocked()->getQuotaLimitReached()) == "small");
  limit_cpu(1500);
  process(blocked());
  CHECK(live().size() == 3);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: job plan tells that there is no room") {
  limit_cpu(900);
  const auto dry = dry_run(state(), make_job(2), true, now, 1);
  REQUIRE(dry);
  REQUIRE(dry->failed_groups.size() == 1);
  CHECK(view(dry->failed_groups[0].second->getQuotaExhausted()[0])
        == "cpu exhausted (1000 needed > 900 limit)");
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: what is under way counts before it is written") {
  limit_cpu(1000);
  const auto first = register_job(make_job(2));
  const auto other = register_job(make_job(1, [](auto job) { job.setId("other"); }));
  const auto snapshot = state();
  auto plan = std::make_shared<Plan>(*make_scheduler(first)->start({snapshot, now, nullptr}).plan);
  plan->eval_token = "token";
  Reservations under_way;
  under_way.add(plan);
  const auto step = make_scheduler(other)->start({snapshot, now, &under_way});
  CHECK(step.lacks_room);
  under_way.remove("token");
  CHECK_FALSE(make_scheduler(other)->start({snapshot, now, &under_way}).lacks_room);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: the limit is the server's region's, not the job's") {
  limit([](auto resources) { resources.setCpu(600); }, "north");
  const auto eval = register_job(make_job(2, [](auto job) { job.setRegion("global"); }));
  const auto snapshot = state();
  const auto elsewhere = make_scheduler(eval)->start({snapshot, now, nullptr, "south"});
  CHECK_FALSE(elsewhere.lacks_room);
  const auto step = make_scheduler(eval)->start({snapshot, now, nullptr, "north"});
  CHECK(step.lacks_room);
  CHECK(decide_again(*step.inputs, snapshot)->lacks_room);
  CHECK(check_plan(*elsewhere.plan, snapshot, "south").over_quota.empty());
  CHECK_FALSE(check_plan(*elsewhere.plan, snapshot, "north").over_quota.empty());
  const auto job = make_job(2);
  CHECK(dry_run(snapshot, job, true, now, 1, "south")->failed_groups.empty());
  CHECK(dry_run(snapshot, job, true, now, 1, "north")->failed_groups.size() == 1);
}

TEST_CASE_FIXTURE(QuotaHarness, "quota: of one that is not there nothing may be used") {
  const auto earlier = register_job(make_job(2));
  const auto before = state();
  const auto step = make_scheduler(earlier)->start({before, now, nullptr});
  // As where namespaces are copied to, and the quota has not come yet.
  Draft<schema::Namespace> ns;
  ns->setName("default");
  ns->setQuota("late");
  const auto copied = ns.freeze();
  const auto bytes = copied.bytes();
  apply([&](schema::Command::Builder command) {
    auto body = command.initSharedRows();
    body.setKind("namespaces");
    body.initRows(1).set(0, {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
  });
  CHECK(check_plan(*step.plan, state(), "global").accepts_nothing);
  const auto done = process(earlier);
  CHECK(live().empty());
  CHECK(why(*done) == "the quota is not known in this region");
  REQUIRE(blocked());
  CHECK(view(blocked()->getQuotaLimitReached()) == "late");
}
