// SchedulingFixture: broker and plan applier on a ServerFixture, and a worker where a test wants
// one.
#pragma once

#include "actors/server/plan_applier.hpp"
#include "actors/server/scheduler_worker.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "server_fixture.hpp"

namespace nomad::test {

struct SchedulingFixture : ServerFixture {
  server::EvalBroker broker = adopt(server::spawn_eval_broker(system(), store, proposer, {}));
  server::PlanApplier applier = adopt(server::spawn_plan_applier(system(), store, proposer, 7));

  SchedulingFixture() {
    listen(broker);
    tell(broker, server::Lead{true});
  }

  void start_worker() {
    server::SchedulerWorkerOptions options;
    options.detached = false;
    adopt(server::spawn_scheduler_worker(system(), store, proposer, broker, applier, options));
    commit();
  }

  std::shared_ptr<const scheduler::Plan> plan_of(const std::string& eval_id) {
    const auto snapshot = state();
    auto scheduler = scheduler::make_scheduler(snapshot.eval(eval_id), random.next());
    auto step = scheduler->start({snapshot, 1, nullptr});
    REQUIRE(step.plan.has_value());
    return std::make_shared<const scheduler::Plan>(std::move(*step.plan));
  }
};

}  // namespace nomad::test
