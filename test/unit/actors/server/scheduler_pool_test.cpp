#include "actors/server/scheduler_pool.hpp"

#include <doctest/doctest.h>

#include "test/unit/actors/server/scheduling_fixture.hpp"

using namespace nomad;
using namespace nomad::server;

namespace {

struct PoolFixture : test::SchedulingFixture {
  unsigned spawned = 0;
  SchedulerPool pool{[this](const SchedulerPool::Worker& wanted) {
                       ++spawned;
                       SchedulerWorkerOptions options{.id = wanted.id, .types = wanted.types};
                       options.detached = false;
                       return adopt(spawn_scheduler_worker(system(), store, proposer, broker,
                                                           applier, std::move(options)));
                     },
                     {.workers = 2}};

  /// Registers a job and says what became of its evaluation.
  schema::EvalStatus decided(const std::string& job) {
    const auto id = make_uuid(random);
    Draft<schema::Command> draft;
    auto entry = draft->initJobRegister();
    entry.setJob(*make_job(job, 1));
    fill_eval(entry.initEvaluation(), id, job);
    proposer.propose(raft::payload_of(draft.freeze()), [](Result<raft::Applied>) {});
    commit();
    return eval_status(id);
  }
};

std::string mistake_of(const SchedulerSettings& settings) {
  const auto checked = check_settings(settings);
  return checked ? "" : checked.error().what;
}

}  // namespace

TEST_CASE_FIXTURE(PoolFixture, "scheduler pool: workers that are not wanted stop at once") {
  add_node();
  settle();
  CHECK(decided("first") == schema::EvalStatus::COMPLETE);

  pool.change({.workers = 0});
  settle();
  CHECK(pool.workers().empty());
  CHECK(decided("second") == schema::EvalStatus::PENDING);

  pool.change({.workers = 1});
  commit();
  CHECK(pool.workers().size() == 1);
  CHECK(live("second").size() == 1);
  CHECK(spawned == 2);
}

TEST_CASE_FIXTURE(PoolFixture, "scheduler pool: workers take the types that are enabled") {
  add_node();
  settle();
  pool.change({.workers = 2, .types = {"batch", "_core"}});
  settle();
  CHECK(decided("web") == schema::EvalStatus::PENDING);
  pool.change({.workers = 3, .types = {"_core", "service"}});
  commit();
  CHECK(live("web").size() == 1);
  CHECK(spawned == 3);
  CHECK(pool.settings().workers == 3);
}

TEST_CASE("scheduler pool: what it is to be is checked") {
  CHECK(mistake_of({}).empty());
  CHECK(mistake_of({.workers = 0, .types = {"_core"}}).empty());
  CHECK(mistake_of({.workers = 129}) == "num_schedulers: expected 0 to 128, not 129");
  CHECK(mistake_of({.types = {"service"}})
        == "enabled_schedulers: \"_core\" has to be one of them");
  CHECK(mistake_of({.types = {"_core", "x"}})
        == "enabled_schedulers: there is no scheduler \"x\"; expected service, batch, system, "
           "sysbatch and _core");
  CHECK(mistake_of({.types = {"_core", "batch", "batch"}})
        == "enabled_schedulers: \"batch\" is there twice");
  CHECK(asked_types({.types = {"batch", "_core"}}) == std::vector<std::string>{"batch"});
  CHECK(asked_types({}).back() == "*");
  CHECK(asked_types({.types = {"_core"}}).empty());
}
