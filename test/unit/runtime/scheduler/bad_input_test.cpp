// What nobody would ask for, and what clocks and nodes do that they should not: a clear failure,
// and an end.
#include <limits>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

namespace {

struct BadInput : Harness {
  /// The evaluation that waits for the job's rest; fails if there is none.
  Object<schema::Evaluation> blocked() const {
    const auto current = state();
    for (const auto& entry : current.evals_by_job("default", "web", EvalStatus::BLOCKED))
      return entry.value();
    FAIL("nothing is blocked");
    return {};
  }

  std::size_t count_evals() const {
    std::size_t count = 0;
    const auto current = state();
    for (const auto& entry : current.evals())
      count += entry.value()->getId().size() > 0 ? 1 : 0;
    return count;
  }

  void constrain(schema::Job::Builder job,
                 const char* left,
                 const char* operand,
                 const char* right) {
    auto constraint = job.initConstraints(1)[0];
    constraint.setLTarget(left);
    constraint.setOperand(operand);
    constraint.setRTarget(right);
  }

  /// The job is placed nowhere, says so, and an evaluation that changes nothing plans nothing.
  void check_fails(const Object<schema::Job>& job) {
    const auto done = process(register_job(job));
    CHECK(done->getStatus() == EvalStatus::COMPLETE);
    REQUIRE(done->getFailedTgAllocs().size() == 1);
    CHECK(view(done->getBlockedEval()) == view(blocked()->getId()));
    CHECK(allocs().empty());
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
  }

  void check_no_change() {
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
  }
};

constexpr auto most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE_FIXTURE(BadInput, "bad input: a constraint that nothing can meet fails with its words") {
  add_node();
  const char* impossible[][3] = {{"${attr.kernel.name}", "=", "plan9"},
                                 {"${attr.kernel.name}", "regexp", "("},
                                 {"${attr.kernel.name}", "regexp", "(a*)*\\1"},
                                 {"${attr.kernel.version}", "version", ">= none"},
                                 {"${attr.kernel.version}", "semver", "1"},
                                 {"${attr.kernel.name}", "<", ""},
                                 {"${no.such.thing}", "=", "x"},
                                 {"${attr.kernel.name}", "no_operator", "linux"}};
  for (const auto& constraint : impossible) {
    const auto& left = constraint[0];
    const auto& operand = constraint[1];
    const auto& right = constraint[2];
    CAPTURE(operand);
    BadInput fresh;
    fresh.add_node();
    fresh.check_fails(fresh.make_job(
        2, [&](schema::Job::Builder job) { fresh.constrain(job, left, operand, right); }));
    const auto metric = fresh.blocked()->getFailedTgAllocs()[0].getValue();
    CHECK(metric.getNodesFiltered() == 1);
    REQUIRE(metric.getConstraintFiltered().size() == 1);
    CHECK(view(metric.getConstraintFiltered()[0].getKey())
          == std::string{left} + " " + operand + " " + right);
    CHECK(metric.getCoalescedFailures() == 1);
  }
}

TEST_CASE_FIXTURE(BadInput, "bad input: resources beyond every number fit nowhere") {
  const std::int64_t sizes[] = {most, most - 100, most / 2 + 1, 1'000'000'000'000};
  for (const auto size : sizes) {
    CAPTURE(size);
    BadInput fresh;
    fresh.add_node();
    fresh.process(fresh.register_job(
        fresh.make_job(1, [](schema::Job::Builder job) { job.setId("other"); })));
    fresh.check_fails(fresh.make_job(2, [&](schema::Job::Builder job) {
      auto tasks = job.getTaskGroups()[0].initTasks(2);
      for (unsigned i = 0; i < 2; ++i) {
        tasks[i].setName(i == 0 ? "a" : "b");
        tasks[i].setDriver("mock_driver");
        tasks[i].initResources().setCpu(size);
        tasks[i].getResources().setMemoryMb(size);
      }
      job.getTaskGroups()[0].getEphemeralDisk().setSizeMb(size);
    }));
    CHECK(fresh.blocked()->getFailedTgAllocs()[0].getValue().getNodesExhausted() == 1);
  }
}

TEST_CASE_FIXTURE(BadInput, "bad input: of nothing, and of less than nothing, nothing is placed") {
  add_node();
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, -most}) {
    CAPTURE(count);
    const auto done = process(register_job(make_job(count)));
    CHECK(done->getStatus() == EvalStatus::COMPLETE);
    CHECK(done->getFailedTgAllocs().size() == 0);
    CHECK(allocs().empty());
  }
  process(register_job(make_job(2)));
  CHECK(live().size() == 2);
  process(register_job(make_job(-5)));
  CHECK(live().empty());
}

TEST_CASE_FIXTURE(BadInput, "bad input: spreads that contradict each other place everything") {
  for (int i = 0; i < 3; ++i)
    add_node([i](schema::Node::Builder node) {
      auto meta = node.initMeta(1)[0];
      meta.setKey("rack");
      meta.setValue(text("r" + std::to_string(i)));
    });
  process(register_job(make_job(6, [](schema::Job::Builder job) {
    auto spreads = job.initSpreads(2);
    for (unsigned i = 0; i < 2; ++i) {
      spreads[i].setAttribute(i == 0 ? "${meta.rack}" : "${node.unique.id}");
      spreads[i].setWeight(i == 0 ? 100 : -100);
      auto targets = spreads[i].initSpreadTarget(2);
      targets[0].setValue(i == 0 ? "r0" : "r1");
      targets[0].setPercent(100);
      targets[1].setValue(i == 0 ? "r1" : "r0");
      targets[1].setPercent(100);
    }
    auto group = job.getTaskGroups()[0];
    auto own = group.initSpreads(1)[0];  // the job's own says the opposite
    own.setAttribute("${meta.rack}");
    own.setWeight(0);
    own.initSpreadTarget(1)[0].setValue("r2");
    own.getSpreadTarget()[0].setPercent(100);
  })));
  CHECK(live().size() == 6);
  check_no_change();
}

TEST_CASE_FIXTURE(BadInput, "bad input: a drain of the last node stops, waits, and does no more") {
  const auto node = add_node();
  process(register_job(make_job(3)));
  apply([&](schema::Command::Builder command) {
    auto drain = command.initNodeDrainUpdate();
    drain.setNodeId(text(node));
    drain.initDrainStrategy().setDeadline(3600 * second);
  });
  check_no_change();  // nobody has asked them to go yet
  apply([&](schema::Command::Builder command) {
    const auto rows = live();
    auto entries = command.initAllocTransition().initEntries(static_cast<unsigned>(rows.size()));
    for (unsigned i = 0; i < rows.size(); ++i) {
      entries[i].setAllocId(text(rows[i]->alloc->id()));
      entries[i].initTransition().getMigrate().setValue(true);
    }
  });
  const auto done = process(evaluate(EvalTrigger::NODE_DRAIN));
  CHECK(live().empty());
  REQUIRE(done->getFailedTgAllocs().size() == 1);
  CHECK(blocked()->getFailedTgAllocs()[0].getValue().getNodesEvaluated() == 0);
  check_no_change();
  for (const auto& row : allocs())
    report(row, ClientStatus::COMPLETE);
  check_no_change();
  add_node();
  process(blocked());
  CHECK(live().size() == 3);
  check_no_change();
}

TEST_CASE_FIXTURE(BadInput,
                  "bad input: a node that flaps each second loses what it has once each time") {
  const auto flapping = add_node();
  add_node();
  process(register_job(make_job(4)));
  report_all_running();
  const auto before = count_evals();
  constexpr std::size_t flaps = 60;
  for (std::size_t flap = 0; flap < flaps; ++flap) {
    now += second;
    set_status(flapping, schema::NodeStatus::DOWN);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.size() <= 1);
    CHECK(live().size() == 4);
    now += second;
    set_status(flapping, schema::NodeStatus::READY);
    process(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
    report_all_running();
  }
  CHECK(count_evals() == before + 2 * flaps);  // those that were asked for, and no others
}

TEST_CASE_FIXTURE(BadInput, "bad input: a clock that jumps an hour plans nothing anew") {
  add_node();
  add_node();
  process(register_job(make_job(3)));
  report_all_running();
  for (const std::int64_t jump : {3600, -3600, -3600, 3600}) {
    now += jump * second;
    check_no_change();
  }
}

TEST_CASE_FIXTURE(BadInput,
                  "bad input: an allocation that failed in the future is placed anew once") {
  add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getReschedulePolicy().setDelay(30 * second);
  })));
  now += 3600 * second;
  report(live().front(), ClientStatus::FAILED);
  now -= 3600 * second;
  process(evaluate(EvalTrigger::ALLOC_FAILURE));
  std::vector<Object<schema::Evaluation>> waiting;
  {
    const auto current = state();
    for (const auto& entry : current.evals_by_job("default", "web", EvalStatus::PENDING))
      waiting.push_back(entry.value());
  }
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0]->getWaitUntil() == now + 3630 * second);
  check_no_change();
  now = waiting[0]->getWaitUntil();
  process(waiting[0]);
  CHECK(live().size() == 1);
  check_no_change();
}
