// Decisions are functions of what is kept of them.
#include <set>

#include "harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct DecisionHarness : Harness {
  /// The plan as it would be written: everything that was decided, to the bit.
  Object<schema::Command> written(const Plan& plan, const state::Snapshot& snapshot) const {
    Random unused{1};
    return make_plan_command({{&plan, {}}}, snapshot, now, unused);
  }

  void check_again(const Step& step, const state::Snapshot& snapshot) const {
    REQUIRE(step.inputs);
    CHECK(step.inputs->snapshot_index == snapshot.index());
    const auto again = decide_again(*step.inputs, snapshot);
    REQUIRE(again);
    REQUIRE(again->plan.has_value() == step.plan.has_value());
    CHECK(again->lacks_room == step.lacks_room);
    if (step.plan) CHECK(written(*again->plan, snapshot).equals(written(*step.plan, snapshot)));
    REQUIRE(again->evaluations.size() == step.evaluations.size());
    for (std::size_t i = 0; i < step.evaluations.size(); ++i)
      CHECK(again->evaluations[i].equals(step.evaluations[i]));
  }
};

}  // namespace

TEST_CASE_FIXTURE(DecisionHarness, "a decision is the same when it is made again") {
  for (int i = 0; i < 6; ++i)
    add_node();
  Reservations under_way;
  auto other = make_scheduler(register_job(make_job(9, [](auto job) { job.setId("other"); })));
  auto first = state();
  auto other_step = other->start({first, now, nullptr});
  REQUIRE(other_step.plan);
  check_again(other_step, first);
  under_way.add(std::make_shared<const Plan>(*other_step.plan));

  for (const char* type : {"service", "batch", "system"}) {
    CAPTURE(type);
    const auto eval = register_job(make_job(60, [&](auto job) {  // more than fit
      job.setId(type);
      job.setType(type);
    }));
    const auto snapshot = state();
    const auto step = make_scheduler(eval)->start({snapshot, now, &under_way});
    REQUIRE(step.plan);
    check_again(step, snapshot);
    add_node();  // what comes later changes nothing of it
    check_again(step, snapshot);
  }
}

TEST_CASE_FIXTURE(DecisionHarness, "a second attempt is made again from what the first one left") {
  add_node();
  const auto eval = register_job(make_job(12));
  auto scheduler = make_scheduler(eval);
  auto snapshot = state();
  auto step = scheduler->start({snapshot, now, nullptr});
  REQUIRE(step.plan);
  const auto result = submit(*step.plan);
  REQUIRE(result.is_full());
  PlanResult partly = result;
  partly.rejected_nodes.emplace("another", "full");
  add_node();
  snapshot = state();
  const auto next = scheduler->resume({snapshot, now, nullptr}, partly);
  REQUIRE(next.inputs);
  CHECK(next.inputs->before.attempts == 1);
  CHECK_FALSE(next.inputs->before.blocked_id.empty());
  check_again(next, snapshot);
}

TEST_CASE_FIXTURE(DecisionHarness, "ids differ by evaluation, state and attempt") {
  add_node();
  const auto eval = register_job(make_job(1));
  const auto first = state();
  const auto id_of = [](const Step& step) {
    return std::string{step.plan->nodes.begin()->second.placements[0].row->id()};
  };
  std::set<std::string> ids;
  ids.insert(id_of(make_scheduler(eval)->start({first, now, nullptr})));
  ids.insert(id_of(make_scheduler(eval)->start({first, now + 1, nullptr})));
  CHECK(ids.size() == 1);
  add_node();
  const auto second = state();
  ids.insert(id_of(make_scheduler(eval)->start({second, now, nullptr})));
  auto scheduler = make_scheduler(evaluate(schema::EvalTrigger::NODE_UPDATE));
  const auto third = state();
  auto step = scheduler->start({third, now, nullptr});
  ids.insert(id_of(step));
  PlanResult nothing;
  nothing.rejected_nodes.emplace("node", "full");
  ids.insert(id_of(scheduler->resume({third, now, nullptr}, nothing)));
  CHECK(ids.size() == 4);
}

TEST_CASE_FIXTURE(DecisionHarness, "a job that asks for more than anybody counts fails at once") {
  add_node();
  const auto done = process(register_job(make_job(std::int64_t{1} << 40)));
  CHECK(done->getStatus() == schema::EvalStatus::FAILED);
  CHECK(view(done->getStatusDescription()).find("lower its count") != std::string::npos);
}
