// The drainer beside broker, worker and plan applier, under a clock that only the test moves.
#include "actors/server/drain/node_drainer.hpp"

#include "runtime/cluster/drain/drain_commands.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/server/server_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;
using schema::ClientStatus;

namespace {

struct DrainerFixture : ServerFixture {
  EvalBroker broker = adopt(spawn_eval_broker(system(), store, proposer, {}));
  PlanApplier applier = adopt(spawn_plan_applier(system(), store, proposer, 7));
  std::shared_ptr<std::int64_t> time = std::make_shared<std::int64_t>(1'700'000'000'000'000'000);
  LeaderDuty drainer = adopt(spawn_node_drainer(
      system(),
      store,
      proposer,
      {.round_period = 200ms, .random_seed = 3, .wall_clock = [time = time] { return *time; }}));

  DrainerFixture() {
    listen(broker);
    tell(broker, Lead{true});
    tell(drainer, Lead{true});
    SchedulerWorkerOptions options;
    options.detached = false;
    adopt(spawn_scheduler_worker(system(), store, proposer, broker, applier, options));
    commit();
  }

  void pass(std::chrono::nanoseconds step) {
    *time += step.count();
    advance(step);
    commit();
  }

  /// A healthy service.
  void run_service(std::int64_t count, std::int64_t max_parallel) {
    Draft<schema::Job> job{make_job("web", count)};
    job->getTaskGroups()[0].initMigrate().setMaxParallel(max_parallel);
    register_job(job.freeze());
    report_all(true);
  }

  void report(const state::AllocRef& row, ClientStatus status, std::optional<bool> healthy = {}) {
    write([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(row->alloc->id()));
      alloc.setClientStatus(status);
      if (healthy) alloc.initDeploymentStatus().getHealthy().setValue(*healthy);
    });
  }

  void report_all(bool healthy) {
    for (const auto& row : live("web"))
      if (!row->alloc->health().has_value()) report(row, ClientStatus::RUNNING, healthy);
  }

  void end_stopped() {
    const auto snapshot = state();
    for (const auto& entry : snapshot.allocs())
      if (entry.value()->server_terminal && !entry.value()->client_terminal)
        report(entry.value(), ClientStatus::COMPLETE);
  }

  void update(const std::string& node, const cluster::DrainRequest& request) {
    const auto decision
        = cluster::decide_drain(state(), anybody(), node, request, {*time, &random});
    REQUIRE(decision.has_value());
    write([&](schema::Command::Builder command) {
      command.setNodeDrainUpdate(decision->command->getNodeDrainUpdate());
    });
  }

  void drain(const std::string& node, std::chrono::nanoseconds deadline = 0s) {
    update(node, {.spec = cluster::DrainSpec{.deadline = deadline.count()}});
  }

  bool drains(const std::string& node) const { return state().node(node)->hasDrainStrategy(); }

  std::size_t marked() const {
    std::size_t count = 0;
    const auto snapshot = state();
    for (const auto& entry : snapshot.allocs())
      if (entry.value()->alloc->transition().getMigrate().isValue()) ++count;
    return count;
  }
};

}  // namespace

TEST_CASE_FIXTURE(DrainerFixture,
                  "drainer: a service leaves its node one by one, then it is done") {
  const auto node = add_node();
  run_service(3, 1);
  add_node();
  drain(node);
  for (std::size_t moved = 1; moved <= 3; ++moved) {
    pass(1s);
    CHECK(marked() == moved);
    pass(10s);
    CHECK(marked() == moved);  // the new one has to be healthy first
    report_all(true);
    end_stopped();
  }
  pass(1s);
  CHECK_FALSE(drains(node));
  CHECK(view(state().node(node)->getLastDrain().getStatus()) == "complete");
  CHECK(live("web").size() == 3);
}

TEST_CASE_FIXTURE(DrainerFixture, "drainer: what remains at the deadline is stopped then") {
  const auto node = add_node();
  run_service(3, 1);
  report(live("web")[0], ClientStatus::RUNNING, false);
  drain(node, 60s);
  pass(59s);
  CHECK(drains(node));
  CHECK(marked() < 3);
  pass(2s);
  CHECK_FALSE(drains(node));
  CHECK(marked() == 3);
}

TEST_CASE_FIXTURE(DrainerFixture,
                  "drainer: a deadline can be brought forward, put off and dropped") {
  const auto node = add_node();
  run_service(3, 0);
  drain(node, 60s);
  pass(30s);
  drain(node, 60s);
  pass(45s);
  CHECK(drains(node));
  drain(node, 0s);
  pass(3600s);
  CHECK(drains(node));
  CHECK(marked() == 0);
  drain(node, 5s);
  pass(6s);
  CHECK_FALSE(drains(node));
  CHECK(marked() == 3);
}

TEST_CASE_FIXTURE(DrainerFixture, "drainer: a wall clock that is set back postpones the deadline") {
  const auto node = add_node();
  run_service(1, 0);
  drain(node, 60s);
  pass(1s);
  *time -= 30'000'000'000;
  pass(60s);
  CHECK(drains(node));
  pass(40s);
  CHECK_FALSE(drains(node));
}

TEST_CASE_FIXTURE(DrainerFixture, "drainer: a drain that is cancelled moves nothing more") {
  const auto node = add_node();
  run_service(3, 1);
  add_node();
  drain(node, 60s);
  pass(1s);
  CHECK(marked() == 1);
  update(node, {.mark_eligible = true});
  report_all(true);
  end_stopped();
  pass(120s);
  CHECK(marked() == 1);
  CHECK(view(state().node(node)->getLastDrain().getStatus()) == "canceled");
}

TEST_CASE_FIXTURE(DrainerFixture, "drainer: a new leader goes on where the old one was") {
  const auto node = add_node();
  run_service(2, 1);
  add_node();
  tell(drainer, Lead{false});
  drain(node, 600s);
  pass(10s);
  CHECK(marked() == 0);
  tell(drainer, Lead{true});
  commit();
  CHECK(marked() == 1);
  tell(drainer, Lead{false});
  tell(drainer, Lead{true});
  pass(10s);
  CHECK(marked() == 1);
  report_all(true);
  end_stopped();
  pass(1s);
  CHECK(marked() == 2);
}

TEST_CASE_FIXTURE(DrainerFixture, "drainer: what the log refuses is tried again") {
  const auto node = add_node();
  tell(drainer, Lead{false});
  drain(node);
  actor::tell(drainer, Lead{true});
  settle();
  CHECK(refuse() == 1);
  commit();
  CHECK(drains(node));
  pass(2s);
  CHECK_FALSE(drains(node));
}

TEST_CASE_FIXTURE(DrainerFixture, "drainer: other nodes and jobs cost it nothing") {
  const auto node = add_node();
  run_service(1, 0);
  drain(node);
  pass(1s);
  const auto watched = store->watches().size();
  const auto before = entries;
  for (int i = 0; i < 20; ++i)
    add_node();
  register_job(make_job("other", 3));
  pass(5s);
  CHECK(entries == before + 20 + 2);  // the nodes, the job and its plan
  CHECK(store->watches().size() == watched);
}
