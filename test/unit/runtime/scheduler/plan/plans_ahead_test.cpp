// Plans that are verified while the entries of others are on their way.
#include "runtime/scheduler/plan/plans_ahead.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// A log in which plans are proposed, and applied when the test says so.
struct Ahead : Harness {
  PlansAhead ahead{"global"};

  /// The plan that the evaluation makes on the newest state; it is not written.
  std::shared_ptr<const Plan> plan_of(const Object<schema::Evaluation>& eval) {
    const auto snapshot = state();
    auto step = make_scheduler(eval, seed++)->start({snapshot, now, nullptr});
    REQUIRE(step.plan);
    return std::make_shared<const Plan>(std::move(*step.plan));
  }

  std::shared_ptr<const Plan> plan_of(const char* job_id,
                                      std::int64_t count,
                                      const char* datacenter = "dc1") {
    return plan_of(register_job(make_job(count, [&](schema::Job::Builder job) {
      job.setId(job_id);
      job.initDatacenters(1).set(0, datacenter);
    })));
  }

  AheadVerdict judge(const std::shared_ptr<const Plan>& plan) {
    return ahead.judge(PlanParts{plan}, state());
  }

  /// Verifies the plan, which fits, and proposes it.
  std::pair<std::uint64_t, Object<schema::Command>> propose(
      const std::shared_ptr<const Plan>& plan) {
    const auto judged = judge(plan);
    REQUIRE(judged.verdict);
    REQUIRE(judged.verdict->rejected_nodes.empty());
    const auto command
        = make_plan_command({{plan.get(), *judged.verdict}}, judged.basis, now, random);
    return {ahead.add(command), command};
  }

  void write_something() {
    apply([](schema::Command::Builder command) { command.initNodePoolUpsert().setName("pool"); });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Ahead, "plans ahead: what they take is taken, until they come to nothing") {
  add_node();
  const auto first = propose(plan_of("one", 5));
  const auto second = plan_of("two", 5);  // does not know of the first
  const auto refused = judge(second);
  CHECK(refused.verdict->accepts_nothing);
  CHECK(refused.is_open);  // it would be for nothing to decide anew on the same state
  ahead.settle(first.first, false);
  CHECK(ahead.empty());
  CHECK(judge(second).verdict->rejected_nodes.empty());
}

TEST_CASE_FIXTURE(Ahead, "plans ahead: what was freed meanwhile is seen at the second look") {
  add_node();
  propose(plan_of("one", 5));
  const auto third = plan_of("three", 4);
  CHECK_FALSE(judge(third).verdict->rejected_nodes.empty());
  add_node();
  CHECK(judge(plan_of("four", 3)).verdict->rejected_nodes.empty());
}

TEST_CASE_FIXTURE(Ahead,
                  "plans ahead: an evaluation has one plan, however many entries come first") {
  add_node();
  const auto other = plan_of("other", 1);
  const auto eval = register_job(make_job(2));
  propose(other);
  auto part = *plan_of(eval);
  part.completion = {};  // as of a first part: the evaluation stays open
  const auto first = propose(std::make_shared<const Plan>(part));
  for (int i = 0; i < 5; ++i)
    write_something();  // proposed before, applied only now
  const auto again = judge(plan_of(eval));
  CHECK_FALSE(again.verdict);
  CHECK(again.is_open);  // the first may come to nothing
  ahead.settle(first.first, false);
  CHECK(judge(plan_of(eval)).verdict);
}

TEST_CASE_FIXTURE(Ahead,
                  "plans ahead: who is to be preempted is not updated in place beside that") {
  const auto web = [this](std::int64_t priority) {
    return register_job(make_job(6, [priority](schema::Job::Builder job) {
      job.setPriority(priority);
      job.initDatacenters(1).set(0, "dc1");
    }));
  };
  add_node();
  add_node([](schema::Node::Builder node) { node.setDatacenter("dc2"); });
  process(web(50));
  report_all_running();
  apply([](schema::Command::Builder command) {
    auto config = command.initSchedulerConfiguration();
    config.setSchedulerAlgorithm("binpack");
    config.initPreemptionConfig().setServiceSchedulerEnabled(true);
  });
  const auto other = plan_of("other", 1, "dc2");
  const auto large = plan_of(register_job(make_job(4, [](schema::Job::Builder job) {
    job.setId("large");
    job.setPriority(90);
    job.initDatacenters(1).set(0, "dc1");
  })));
  propose(other);
  propose(large);
  for (int i = 0; i < 5; ++i)
    write_something();  // proposed before, applied only now
  const auto update = plan_of(web(51));
  CHECK(judge(update).verdict->rejected_nodes.size() == 1);
}

TEST_CASE_FIXTURE(Ahead,
                  "plans ahead: what is written to a node that has gone meanwhile is astray") {
  const auto node = add_node();
  const auto plan = plan_of("one", 1);
  const auto verdict = *judge(plan).verdict;
  CHECK_FALSE(has_strays(*plan, verdict, state()));
  set_status(node, schema::NodeStatus::DOWN);
  CHECK(has_strays(*plan, verdict, state()));
  CHECK_FALSE(has_strays(*plan, judge(plan).verdict.value(), state()));  // it is rejected there
  apply([&](schema::Command::Builder command) {
    command.initNodeDeregister().initNodeIds(1).set(0, text(node));
  });
  CHECK(has_strays(*plan, verdict, state()));
}
