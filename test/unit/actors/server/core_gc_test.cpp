// The collection of garbage on a leader, under a clock that only the test moves.
#include "actors/server/core_gc.hpp"

#include "test/unit/actors/server/server_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;

namespace {

struct GcFixture : ServerFixture {
  explicit GcFixture(std::chrono::nanoseconds to_first = 5min) : first{to_first} {}

  std::chrono::nanoseconds first;
  std::shared_ptr<telemetry::Registry> metrics
      = std::make_shared<telemetry::Registry>(telemetry::Options{});
  LeaderDuty gc = adopt(spawn_core_gc(system(),
                                      store,
                                      proposer,
                                      {.first = first,
                                       .interval = 5min,
                                       .job_interval = 5h,
                                       .thresholds = cluster::GcThresholds::none(),
                                       .metrics = telemetry::ServerMetrics::make(metrics)}));

  void end_evals(unsigned count) {
    write([&](schema::Command::Builder command) {
      for (auto eval : command.initEvalUpdate().initEvaluations(count)) {
        fill_eval(eval, make_uuid(random), "gone");
        eval.setStatus(schema::EvalStatus::COMPLETE);
      }
    });
  }

  std::size_t evals() const { return state().evals_map().size(); }

  void pass(std::chrono::nanoseconds step) {
    advance(step);
    commit();
  }
};

struct ShortLeaderships : GcFixture {
  ShortLeaderships() : GcFixture{30s} {}
};

}  // namespace

TEST_CASE_FIXTURE(ShortLeaderships, "leaders that never last for an interval collect garbage") {
  end_evals(10);
  tell(gc, Lead{true});
  pass(29s);
  CHECK(evals() == 10);
  tell(gc, Lead{false});
  tell(gc, Lead{true});
  pass(30s);
  CHECK(evals() == 0);
  end_evals(10);
  pass(4min);
  CHECK(evals() == 10);
  pass(1min);
  CHECK(evals() == 0);
}

TEST_CASE_FIXTURE(GcFixture, "garbage is looked for in turns, each when the last one is written") {
  end_evals(2'500);
  tell(gc, Lead{true});
  advance(5min);
  settle();
  CHECK(commit_once() == 1);  // an entry at a time
  CHECK(evals() == 2'500 - cluster::most_reaped_ids);
  commit();
  CHECK(evals() == 1'500);
  pass(1ms);
  CHECK(evals() == 500);
  pass(1ms);
  CHECK(evals() == 0);
  CHECK(metrics->prometheus(1).find("nomad_nomad_eval_reap_count 10") != std::string::npos);
  const auto written = entries;
  pass(5min);
  CHECK(entries == written);
}

TEST_CASE_FIXTURE(GcFixture, "a search ends with the leadership, and is made anew by the next") {
  end_evals(2'500);
  tell(gc, Lead{true});
  advance(5min);
  commit();
  REQUIRE(evals() == 1'500);
  tell(gc, Lead{false});
  pass(10min);
  CHECK(evals() == 1'500);

  tell(gc, Lead{true});
  pass(5min);
  CHECK(evals() == 500);
}

TEST_CASE_FIXTURE(GcFixture, "what could not be written is looked for again") {
  end_evals(10);
  tell(gc, Lead{true});
  advance(5min);
  settle();
  CHECK(refuse() == 1);
  pass(1min);
  CHECK(evals() == 10);
  pass(4min);
  CHECK(evals() == 0);
}
