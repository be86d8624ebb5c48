// The schedule of periodic jobs.
#include "runtime/cluster/periodic.hpp"

#include "runtime/cluster/job_commands.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using cluster::PeriodicSchedule;

namespace {

constexpr std::int64_t noon = 1'700'049'600;  // 2023-11-15T12:00:00Z

struct PeriodicHarness : Harness {
  PeriodicSchedule schedule;

  void add_periodic(const char* id, const char* spec, const EditJob& edit = {}) {
    register_job(make_job(1, [&](schema::Job::Builder job) {
      job.setId(id);
      job.setName(id);
      job.setType("batch");
      auto periodic = job.initPeriodic();
      periodic.setEnabled(true);
      periodic.setSpecType("cron");
      periodic.setSpec(spec);
      if (edit) edit(job);
    }));
  }

  void launch(const char* id, std::int64_t time) {
    const auto decision = cluster::decide_periodic_launch(state(), nomad::test::anybody(),
                                                          "default", id, {time * second, &random});
    REQUIRE(decision.has_value());
    const auto outcome = store.apply(++next_index, *decision->command);
    store.publish();
    REQUIRE_FALSE(outcome.error);
  }

  std::vector<std::string> due(std::int64_t time) {
    std::vector<std::string> ids;
    for (const auto& launch : schedule.take_due(state(), time)) {
      CHECK(launch.time <= time);
      ids.push_back(launch.job_id);
    }
    return ids;
  }
};

}  // namespace

TEST_CASE_FIXTURE(PeriodicHarness, "jobs are due at their times, one after the other") {
  add_periodic("hourly", "0 * * * *");
  add_periodic("quarterly", "*/15 * * * *");
  schedule.sync(state(), noon);
  CHECK(schedule.next() == noon + 900);
  CHECK(due(noon + 899).empty());
  CHECK(due(noon + 900) == std::vector<std::string>{"quarterly"});
  CHECK(schedule.next() == noon + 1800);
  // Late: each is due once, whatever it missed.
  CHECK(due(noon + 3 * 3600 + 5).size() == 2);
  CHECK(schedule.next() == noon + 3 * 3600 + 900);
}

TEST_CASE_FIXTURE(PeriodicHarness, "several specs, and a time zone") {
  add_periodic("specs", "", [](schema::Job::Builder job) {
    auto periodic = job.getPeriodic();
    auto specs = periodic.initSpecs(2);
    specs.set(0, "0 18 * * *");
    specs.set(1, "30 14 * * *");
    periodic.setTimeZone("America/New_York");
  });
  schedule.sync(state(), noon);
  CHECK(schedule.next() == noon + 7 * 3600 + 1800);  // 14:30 is 19:30 UTC
}

TEST_CASE_FIXTURE(PeriodicHarness, "disabled, stopped and ordinary jobs are left alone") {
  add_periodic("disabled", "* * * * *",
               [](schema::Job::Builder job) { job.getPeriodic().setEnabled(false); });
  add_periodic("stopped", "* * * * *");
  register_job(make_job(1));
  schedule.sync(state(), noon);
  CHECK(schedule.size() == 1);
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("stopped");
  });
  CHECK(due(noon + 60).empty());  // stopped between two syncs
  schedule.sync(state(), noon + 60);
  CHECK(schedule.size() == 0);
  CHECK_FALSE(schedule.next());
}

TEST_CASE_FIXTURE(PeriodicHarness, "a job that has no schedule now is not launched by force") {
  const auto refusal = [this](const char* id) {
    const auto decision = cluster::decide_periodic_launch(state(), nomad::test::anybody(),
                                                          "default", id, {noon * second, &random});
    return decision ? std::string{"launched"} : decision.error().what;
  };
  add_periodic("disabled", "* * * * *",
               [](schema::Job::Builder job) { job.getPeriodic().setEnabled(false); });
  CHECK(refusal("disabled")
        == "force launch for job \"disabled\" failed: "
           "can't force run non-tracked job \"disabled\" (default)");
  add_periodic("stopped", "* * * * *", [](schema::Job::Builder job) { job.setStop(true); });
  CHECK(refusal("stopped")
        == "force launch for job \"stopped\" failed: "
           "can't force run non-tracked job \"stopped\" (default)");
  add_periodic("on", "* * * * *");
  CHECK(refusal("on") == "launched");
}

TEST_CASE_FIXTURE(PeriodicHarness, "two launches by force within a second are one") {
  add_periodic("job", "0 * * * *");
  const auto decide = [this] {
    return cluster::decide_periodic_launch(state(), nomad::test::anybody(), "default", "job",
                                           {noon * second, &random});
  };
  const auto first = decide();
  const auto meanwhile = decide();
  REQUIRE(first.has_value());
  REQUIRE(meanwhile.has_value());
  const auto write = [this](const cluster::Decision& decision) {
    const auto outcome = store.apply(++next_index, *decision.command);
    store.publish();
    return outcome.error;
  };
  REQUIRE_FALSE(write(*first));
  SUBCASE("the second one is told of the first") {
    const auto again = decide();
    REQUIRE(again.has_value());
    CHECK_FALSE(again->command);
    CHECK(again->job_id == first->job_id);
    CHECK(again->eval_id == first->eval_id);
  }
  SUBCASE("one that was decided at the same time is refused") {
    CHECK(write(*meanwhile));
  }
  CHECK(state().job("default", first->job_id)->getVersion() == 0);
}

TEST_CASE_FIXTURE(PeriodicHarness, "a changed job is due by its new schedule") {
  add_periodic("job", "0 * * * *");
  schedule.sync(state(), noon);
  add_periodic("job", "*/10 * * * *");
  schedule.sync(state(), noon + 60);
  CHECK(schedule.next() == noon + 600);
  schedule.sync(state(), noon + 120);  // nothing changed: the time stays
  CHECK(schedule.next() == noon + 600);
}

TEST_CASE_FIXTURE(PeriodicHarness, "a new leader sees what was missed") {
  add_periodic("hourly", "0 * * * *");
  add_periodic("never-ran", "0 * * * *");
  launch("hourly", noon);
  schedule.sync(state(), noon + 1800);
  CHECK(schedule.missed(state(), noon + 1800).empty());
  const auto missed = schedule.missed(state(), noon + 5 * 3600);
  REQUIRE(missed.size() == 1);
  CHECK(missed[0].job_id == "hourly");
}

TEST_CASE_FIXTURE(PeriodicHarness, "a launch that is due at this moment is missed already") {
  add_periodic("hourly", "0 * * * *");
  launch("hourly", noon);
  schedule.sync(state(), noon + 1);
  CHECK(schedule.missed(state(), noon + 3599).empty());
  CHECK(schedule.missed(state(), noon + 3600).size() == 1);
}

TEST_CASE_FIXTURE(PeriodicHarness, "what was missed counts from the newest launch that is known") {
  add_periodic("hourly", "0 * * * *");
  for (const auto hour : {2, 0, 1})
    launch("hourly", noon + hour * 3600);
  schedule.sync(state(), noon + 3 * 3600 - 1);
  CHECK(schedule.missed(state(), noon + 3 * 3600 - 1).empty());
}

TEST_CASE_FIXTURE(PeriodicHarness, "what was missed is known when all children are collected") {
  add_periodic("hourly", "0 * * * *");
  launch("hourly", noon);
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId(text("hourly/periodic-" + std::to_string(noon)));
    stop.setPurge(true);
  });
  schedule.sync(state(), noon + 1);
  CHECK(schedule.missed(state(), noon + 3599).empty());
  CHECK(schedule.missed(state(), noon + 3600).size() == 1);
}

TEST_CASE_FIXTURE(PeriodicHarness, "a job that was never launched has missed what came after it") {
  add_periodic("hourly", "0 * * * *", [](auto job) { job.setSubmitTime((noon + 1) * second); });
  schedule.sync(state(), noon + 2);
  CHECK(schedule.missed(state(), noon + 3599).empty());
  CHECK(schedule.missed(state(), noon + 3600).size() == 1);
}

TEST_CASE_FIXTURE(PeriodicHarness, "a changed job has missed nothing that its change asks for") {
  add_periodic("daily", "0 0 * * *", [](auto job) { job.setSubmitTime((noon - 86400) * second); });
  launch("daily", noon - 43200);
  add_periodic("daily", "0 11 * * *", [](auto job) { job.setSubmitTime(noon * second); });
  schedule.sync(state(), noon + 1);
  CHECK(schedule.missed(state(), noon + 2).empty());
}

TEST_CASE_FIXTURE(PeriodicHarness, "a purged job takes the record of its launches along") {
  add_periodic("hourly", "0 * * * *");
  launch("hourly", noon);
  REQUIRE(state().periodic_launch("default", "hourly"));
  CHECK(state().periodic_launch("default", "hourly")->getTime() == noon);
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("hourly");
    stop.setPurge(true);
  });
  CHECK_FALSE(state().periodic_launch("default", "hourly"));
}

TEST_CASE_FIXTURE(PeriodicHarness, "what is named like a launch, but has no time, is none") {
  add_periodic("hourly", "0 * * * *");
  for (const auto* id : {"hourly/periodic-", "hourly/periodic-x", "hourly/periodic-1700049600x"})
    register_job(make_job(1, [id](schema::Job::Builder job) {
      job.setId(text(std::string{id}));
      job.setName("child");
    }));
  schedule.sync(state(), noon);
  CHECK(schedule.missed(state(), noon + 5 * 3600).empty());
}

TEST_CASE_FIXTURE(PeriodicHarness,
                  "the earliest of several specs counts, and a list overrules a single one") {
  const auto next_of = [this](const char* single, std::initializer_list<const char*> specs) {
    add_periodic("specs", single, [specs](schema::Job::Builder job) {
      auto list = job.getPeriodic().initSpecs(static_cast<unsigned>(specs.size()));
      unsigned at = 0;
      for (const auto* spec : specs)
        list.set(at++, spec);
    });
    return cluster::next_periodic_launch(state().job("default", "specs")->getPeriodic(), noon)
               .value_or(0)
           - noon;
  };
  CHECK(next_of("* * * * *", {"30 * * * *"}) == 1800);
  CHECK(next_of("", {"10 * * * *", "20 * * * *"}) == 600);
  CHECK(next_of("", {"20 * * * *", "10 * * * *"}) == 600);
  CHECK(next_of("", {"0 0 31 2 *", "10 * * * *"}) == 600);  // never, and sometimes
  CHECK(next_of("", {"10 * * * *", "0 0 31 2 *"}) == 600);
}

TEST_CASE_FIXTURE(PeriodicHarness, "a running child is noticed") {
  add_node();
  add_periodic("hourly", "0 * * * *");
  CHECK_FALSE(cluster::has_running_child(state(), "default", "hourly"));
  launch("hourly", noon);
  CHECK(cluster::has_running_child(state(), "default", "hourly"));
  const auto child = "hourly/periodic-" + std::to_string(noon);
  REQUIRE(state().job("default", child));
  process(evaluate(schema::EvalTrigger::PERIODIC_JOB, child.c_str()));
  const auto snapshot = state();
  for (const auto& entry : snapshot.evals_by_job("default", child, schema::EvalStatus::PENDING)) {
    Draft<schema::Evaluation> draft{entry.value()};
    draft->setStatus(schema::EvalStatus::CANCELED);
    write({draft.freeze()});
  }
  for (const auto& row : live(child.c_str()))
    report(row, schema::ClientStatus::COMPLETE);
  CHECK_FALSE(cluster::has_running_child(state(), "default", "hourly"));
}
