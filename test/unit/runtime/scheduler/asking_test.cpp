// The scheduler of jobs whose type is a plugin's: what it asks, what it makes of answers, and what
// it does by itself.
#include "runtime/scheduler/asking.hpp"

#include <set>

#include "runtime/scheduler/dry_run.hpp"
#include "schema/scheduling.capnp.h"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

namespace {

using Asked = schema::plugin::Scheduling::Reader;
using Decides = std::function<void(Asked, schema::plugin::Decision::Builder)>;

/// On each node that is shown, in turn, until the first group has its count.
void place_in_turn(Asked question, schema::plugin::Decision::Builder decision) {
  const auto group = question.getJob().getTaskGroups()[0];
  auto missing = group.getCount();
  for (const auto alloc : question.getAllocs())
    if (alloc.getStatus() == ClientStatus::PENDING || alloc.getStatus() == ClientStatus::RUNNING)
      --missing;
  if (missing <= 0) return;
  if (question.getNodes().size() == 0) {
    auto rest = decision.initUnplaced(1)[0];
    rest.setGroup(group.getName());
    rest.setCount(static_cast<unsigned>(missing));
    rest.setReason("there is\nno node");
    return;
  }
  auto placements = decision.initPlacements(static_cast<unsigned>(missing));
  for (unsigned i = 0; i < placements.size(); ++i) {
    placements[i].setGroup(group.getName());
    placements[i].setNodeId(question.getNodes()[i % question.getNodes().size()].getId());
  }
}

struct AskedHarness : Harness {
  Decides decides = place_in_turn;
  std::vector<std::string> reads;
  int questions = 0;
  Object<schema::plugin::Scheduling> last;  ///< What was asked.
  std::string refusal;                      ///< Of the decision.

  Object<schema::Job> custom_job(std::int64_t count, const EditJob& edit = {}) {
    return make_job(count, [&](schema::Job::Builder job) {
      job.setType("custom");
      if (edit) edit(job);
    });
  }

  Step ask(const Step& step) {
    ++questions;
    last = step.question->make(reads);
    Draft<schema::plugin::Decision> decision;
    decides(*last, *decision);
    auto next = step.question->answer(decision.freeze());
    if (next) return std::move(*next);
    refusal = next.error().what;
    return {};
  }

  /// Runs the evaluation to its end; `between` comes between answer and plan.
  Object<schema::Evaluation> run(const Object<schema::Evaluation>& eval,
                                 const std::function<void()>& between = {}) {
    auto scheduler = make_scheduler(eval, seed++);
    plans.clear();
    auto step = scheduler->start({state(), now, nullptr});
    while (step.question != nullptr || step.plan) {
      if (step.question != nullptr) {
        step = ask(step);
        continue;
      }
      if (between) between();
      plans.push_back(*step.plan);
      REQUIRE(plans.size() < 20);
      const auto result = submit(plans.back());
      const auto snapshot = state();
      step = scheduler->resume({snapshot, now, nullptr}, result);
    }
    write(step.evaluations);
    last_updates = scheduler->desired_updates();
    return state().eval(view(eval->getId()));
  }

  std::set<std::string> names() {
    std::set<std::string> found;
    for (const auto& row : live())
      found.insert(std::string{row->alloc->name()});
    return found;
  }
};

}  // namespace

TEST_CASE_FIXTURE(AskedHarness, "asking: what is decided is placed, with names and resources") {
  const auto node = add_node([](schema::Node::Builder made) {
    auto meta = made.initMeta(1)[0];
    meta.setKey("label");
    meta.setValue("ssd");
  });
  reads = {"${meta.label}", "${meta.absent}", "${node.datacenter}"};

  const auto eval = run(register_job(custom_job(3)));

  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(names() == std::set<std::string>{"web.api[0]", "web.api[1]", "web.api[2]"});
  CHECK(live()[0]->demand.cpu_mhz == 500);
  REQUIRE(last->getNodes().size() == 1);
  const auto shown = last->getNodes()[0];
  CHECK(view(shown.getId()) == node);
  CHECK(view(shown.getValues()[0]) == "ssd");
  CHECK(view(shown.getValues()[1]).empty());
  CHECK(view(shown.getValues()[2]) == "dc1");
  CHECK(shown.getCpuMhz() == 4000);
  CHECK(last->getAttempt() == 0);

  run(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(plans.empty());
  CHECK(last->getAllocs().size() == 3);
  CHECK(last->getNodes()[0].getCpuMhz() == 2500);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: what does not fit there waits, whatever is decided") {
  add_node([](schema::Node::Builder node) { node.getNodeResources().getCpu().setCpuShares(1100); });

  const auto eval = run(register_job(custom_job(5)));

  CHECK(live().size() == 2);
  CHECK(eval->getQueuedAllocations()[0].getValue() == 3);
  REQUIRE(eval->getFailedTgAllocs().size() == 1);
  CHECK(eval->getFailedTgAllocs()[0].getValue().getCoalescedFailures() == 2);
  const auto blocked = state().eval(view(eval->getBlockedEval()));
  REQUIRE(blocked);
  CHECK(blocked->getStatus() == EvalStatus::BLOCKED);
  CHECK_MESSAGE(blocked->getEscapedComputedClass(), "whatever happens to any node may help");

  const auto roomy = add_node();
  decides = [&](Asked, schema::plugin::Decision::Builder decision) {
    for (auto placement : decision.initPlacements(3)) {
      placement.setGroup("api");
      placement.setNodeId(text(roomy));
    }
  };
  const auto again = run(blocked);
  CHECK(again->getStatus() == EvalStatus::COMPLETE);
  CHECK(names().size() == 5);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: what has no place says why, and is asked for again") {
  const auto eval = run(register_job(custom_job(2)));

  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(eval->getQueuedAllocations()[0].getValue() == 2);
  REQUIRE(eval->getFailedTgAllocs().size() == 1);
  const auto metric = eval->getFailedTgAllocs()[0].getValue();
  CHECK(view(metric.getConstraintFiltered()[0].getKey()) == "there is no node");
  const auto blocked = state().eval(view(eval->getBlockedEval()));
  REQUIRE(blocked);
  CHECK(run(blocked)->getStatus() == EvalStatus::BLOCKED);
  add_node();
  CHECK(run(blocked)->getStatus() == EvalStatus::COMPLETE);
  CHECK(live().size() == 2);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: nonsense changes nothing and is told") {
  const auto node = add_node();
  run(register_job(custom_job(1)));
  const auto alloc = std::string{live()[0]->alloc->id()};
  using Decision = schema::plugin::Decision::Builder;
  const auto refused = [&](const std::function<void(Decision)>& decide) {
    refusal.clear();
    decides = [&](Asked, Decision decision) { decide(decision); };
    run(evaluate(EvalTrigger::NODE_UPDATE));
    CHECK(plans.empty());
    return refusal;
  };
  const auto placement = [&](const char* group, const std::string& where, const std::string& who) {
    return refused([&](Decision decision) {
      auto to = decision.initPlacements(1)[0];
      to.setGroup(group);
      to.setNodeId(text(where));
      to.setReplaces(text(who));
    });
  };

  CHECK(placement("none", node, "").ends_with("it places a group \"none\" that the job has not"));
  CHECK(placement("no\x1bne", node, "").find("a group \"no") != std::string::npos);
  CHECK(refusal.find('\x1b') == std::string::npos);
  CHECK(placement("api", "elsewhere", "").find("a node \"elsewhere\"") != std::string::npos);
  CHECK(placement("api", node, "nobody")
            .ends_with("it replaces an allocation \"nobody\" that does not end"));
  CHECK(placement("api", node, alloc).find("that does not end") != std::string::npos);
  CHECK(refused([](Decision decision) {
          decision.initStops(1)[0].setAllocId("other");
        }).ends_with("it stops an allocation \"other\" that it was not shown"));
  CHECK(refused([](Decision decision) {
          decision.initUnplaced(1)[0].setGroup("none");
        }).ends_with("it leaves out a group \"none\" that the job has not"));
  CHECK(refused([](Decision decision) {
          decision.initStops(most_decided + 1);
        }).ends_with("it decides more than 50000 things at once"));
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: a stopped allocation's place and name are free at once") {
  const auto node = add_node(
      [](schema::Node::Builder made) { made.getNodeResources().getCpu().setCpuShares(600); });
  run(register_job(custom_job(1)));
  report_all_running();
  const auto old = std::string{live()[0]->alloc->id()};
  decides = [&](Asked, schema::plugin::Decision::Builder decision) {
    auto stops = decision.initStops(2);
    for (auto stop : stops) {
      stop.setAllocId(text(old));
      stop.setDescription("it is tired");
    }
    auto placement = decision.initPlacements(1)[0];
    placement.setGroup("api");
    placement.setNodeId(text(node));
    placement.setReplaces(text(old));
  };

  run(evaluate(EvalTrigger::NODE_UPDATE));

  REQUIRE(live().size() == 1);
  CHECK(names() == std::set<std::string>{"web.api[0]"});
  CHECK(live()[0]->alloc->previous() == old);
  CHECK(state().alloc(old)->alloc->desired_description() == "it is tired");
  CHECK(last_updates.at("api").stop == 1);
  CHECK(last_updates.at("api").place == 1);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: an allocation is replaced once") {
  const auto node = add_node();
  run(register_job(custom_job(1)));
  report_all_running();
  const auto old = std::string{live()[0]->alloc->id()};
  decides = [&](Asked, schema::plugin::Decision::Builder decision) {
    decision.initStops(1)[0].setAllocId(text(old));
    for (auto placement : decision.initPlacements(2)) {
      placement.setGroup("api");
      placement.setNodeId(text(node));
      placement.setReplaces(text(old));
    }
  };
  run(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(refusal.find("it replaces an allocation \"" + old) != std::string::npos);
  CHECK(live().size() == 1);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: what needs no choice is done without a question") {
  const auto first = add_node();
  add_node();
  run(register_job(custom_job(2)));
  report_all_running();
  set_status(first, schema::NodeStatus::DOWN);
  decides = [](Asked, auto) {};
  run(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(live().size() == 1);
  CHECK(last->getAllocs().size() == 1);
  CHECK(last->getNodes().size() == 1);
  for (const auto& row : allocs())
    if (row->alloc->node_id() == first) CHECK(row->alloc->client_status() == ClientStatus::LOST);

  const auto before = questions;
  apply([&](schema::Command::Builder command) {
    auto entry = command.initJobDeregister();
    entry.setNamespace("default");
    entry.setJobId("web");
  });
  run(evaluate(EvalTrigger::JOB_DEREGISTER));
  CHECK(live().empty());
  CHECK(questions == before);
}

TEST_CASE_FIXTURE(AskedHarness, "asking: versions that can be taken over are, others are shown") {
  add_node();
  run(register_job(custom_job(1)));
  report_all_running();
  decides = [](Asked, auto) {};

  run(register_job(custom_job(1, [](schema::Job::Builder job) { job.setPriority(70); })));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->alloc->job_version() == 1);
  CHECK_FALSE(last->getAllocs()[0].getOutdated());

  run(register_job(custom_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].setConfig(R"({"run_for":"20s"})");
  })));
  CHECK(live()[0]->alloc->job_version() == 1);
  CHECK(last->getAllocs()[0].getOutdated());
}

TEST_CASE_FIXTURE(AskedHarness, "asking: a plan that does not fit any more is asked for anew") {
  const auto node = add_node();
  bool once = true;

  const auto eval = run(register_job(custom_job(2)), [&] {
    if (std::exchange(once, false)) set_status(node, schema::NodeStatus::DOWN);
  });

  CHECK(questions == 2);
  CHECK(last->getAttempt() == 1);
  CHECK(eval->getStatus() == EvalStatus::COMPLETE);
  CHECK(eval->getQueuedAllocations()[0].getValue() == 2);
  CHECK(live().empty());
}

TEST_CASE_FIXTURE(AskedHarness, "asking: an attempt asks the same when it is made again") {
  add_node();
  const auto eval = register_job(custom_job(1));
  const auto snapshot = state();
  const auto asked = [&] {
    auto scheduler = make_scheduler(eval, 7);
    return scheduler->start({snapshot, now, nullptr}).question->make(reads);
  };
  CHECK(asked().equals(asked()));
}

TEST_CASE_FIXTURE(AskedHarness,
                  "asking: a dry run waits for the decision, and shows what follows") {
  const auto node = add_node();
  auto run = DryRunUnderWay::begin(state(), custom_job(3), true, now, 1);
  REQUIRE(run);
  REQUIRE(run->question() != nullptr);
  const auto asked = run->question()->make(reads);
  CHECK(asked->getDryRun());
  Draft<schema::plugin::Decision> decision;
  auto placements = decision->initPlacements(2);
  for (auto placement : placements) {
    placement.setGroup("api");
    placement.setNodeId(text(node));
  }
  auto rest = decision->initUnplaced(1)[0];
  rest.setGroup("api");
  rest.setCount(1);
  rest.setReason("no room");

  REQUIRE(run->answer(decision.freeze()));

  CHECK(run->question() == nullptr);
  const auto planned = std::move(*run).take();
  REQUIRE(planned.desired_updates.size() == 1);
  CHECK(planned.desired_updates[0].second.place == 2);
  REQUIRE(planned.failed_groups.size() == 1);
  CHECK(planned.created_evals.size() == 1);
  CHECK(live().empty());

  Draft<schema::plugin::Decision> nonsense;
  nonsense->initStops(1)[0].setAllocId("nobody");
  auto other = DryRunUnderWay::begin(state(), custom_job(1), true, now, 1);
  CHECK_FALSE(other->answer(nonsense.freeze()).has_value());
  CHECK_FALSE(other->answer(decision.freeze()).has_value());
}

TEST_CASE("asking: core evaluations and those without a type are nobody's") {
  for (const auto* type : {"", "_core"}) {
    Draft<schema::Evaluation> eval;
    eval->setType(type);
    CHECK(make_scheduler(eval.freeze()) == nullptr);
  }
}
