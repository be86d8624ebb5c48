// Plans on their way into the log: long ones, refused ones, those of leaderships that are over, and
// evaluations that wait for them.
#include "scheduling_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;
using plan_applier::PlanApplied;
using plan_applier::SubmitPlan;

namespace {

struct PlanFlowFixture : SchedulingFixture {
  /// As if log entries had room for a tenth.
  void shorten_parts() {
    PlanApplierOptions options;
    options.parts.part_bytes /= 10;
    options.parts.entry_bytes /= 10;
    applier = adopt(spawn_plan_applier(system(), store, proposer, 9, options));
  }

  /// Registers a job without committing anything; returns its evaluation's id.
  std::string propose_job(const Object<schema::Job>& job) {
    const auto id = make_uuid(random);
    Draft<schema::Command> draft;
    auto entry = draft->initJobRegister();
    entry.setJob(*job);
    fill_eval(entry.initEvaluation(), id, copy(job->getId()));
    proposer.propose(raft::payload_of(draft.freeze()), [](const Result<raft::Applied>&) {});
    return id;
  }

  /// Commits what is proposed by now; returns what follows from it, which is not committed.
  std::vector<raft::Proposal> commit_and_take() {
    commit_these(log->take());
    settle();
    return log->take();
  }

  void deregister(const std::string& job_id) {
    write([&](schema::Command::Builder command) {
      auto entry = command.initJobDeregister();
      entry.setNamespace("default");
      entry.setJobId(text(job_id));
      fill_eval(entry.initEvaluation(), make_uuid(random), job_id);
      entry.getEvaluation().setTriggeredBy(schema::EvalTrigger::JOB_DEREGISTER);
    });
  }

  static Object<schema::Job> make_small_job(const std::string& id, std::int64_t count) {
    Draft<schema::Job> draft{make_job(id, count)};
    auto resources = draft->getTaskGroups()[0].getTasks()[0].getResources();
    resources.setCpu(1);
    resources.setMemoryMb(1);
    draft->getTaskGroups()[0].getEphemeralDisk().setSizeMb(1);
    return draft.freeze();
  }
};

}  // namespace

TEST_CASE_FIXTURE(PlanFlowFixture, "a plan that is longer than a log entry is written in parts") {
  const scheduler::PartLimits limits;
  CHECK(limits.part_bytes < limits.entry_bytes);
  CHECK(limits.entry_bytes < raft::RaftOptions{}.max_entry_bytes);
  shorten_parts();
  for (int i = 0; i < 5; ++i)
    add_node(10);
  start_worker();
  const auto before = entries;
  const auto id = register_job(make_small_job("many", 3'000));
  CHECK(eval_status(id) == schema::EvalStatus::COMPLETE);
  CHECK(live("many").size() == 3'000);
  CHECK(entries > before + 2);
  deregister("many");
  CHECK(live("many").empty());
}

TEST_CASE_FIXTURE(PlanFlowFixture, "two deliveries of an evaluation place its job once") {
  add_node();
  const auto id = register_job(make_job("web", 3));
  const auto first = plan_of(id);
  const auto second = plan_of(id);
  const auto first_answer = ask<PlanApplied>(applier, SubmitPlan{first});
  const auto second_answer = ask<PlanApplied>(applier, SubmitPlan{second});
  commit();
  CHECK((**first_answer)->result.is_full());
  REQUIRE(second_answer->has_value());
  CHECK((*second_answer)->has_error());
  CHECK(live("web").size() == 3);
  const auto late_answer = ask<PlanApplied>(applier, SubmitPlan{second});  // the first is written
  commit();
  CHECK((*late_answer)->has_error());
  CHECK(live("web").size() == 3);
}

TEST_CASE_FIXTURE(PlanFlowFixture,
                  "two deliveries place a job once, whatever is written between their plans") {
  add_node();
  const auto other = register_job(make_job("other", 1));
  const auto id = register_job(make_job("web", 3));
  for (int i = 0; i < 5; ++i)
    propose_job(make_job("job-" + std::to_string(i), 1));
  auto between = log->take();  // these come first in the log, and are applied late
  ask<PlanApplied>(applier, SubmitPlan{plan_of(other)});
  const auto first_answer = ask<PlanApplied>(applier, SubmitPlan{plan_of(id)});
  settle();
  commit_these(std::move(between));
  const auto second_answer = ask<PlanApplied>(applier, SubmitPlan{plan_of(id)});
  commit();
  CHECK((**first_answer)->result.is_full());
  REQUIRE(second_answer->has_value());
  CHECK((*second_answer)->has_error());
  CHECK(live("web").size() == 3);
}

TEST_CASE_FIXTURE(PlanFlowFixture, "nothing is placed for an evaluation that has ended") {
  add_node();
  const auto id = register_job(make_job("web", 3));
  const auto plan = plan_of(id);
  write([&](schema::Command::Builder command) {
    auto eval = command.initEvalUpdate().initEvaluations(1)[0];
    fill_eval(eval, id, "web");
    eval.setStatus(schema::EvalStatus::CANCELED);
  });
  const auto answer = ask<PlanApplied>(applier, SubmitPlan{plan});
  commit();
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_error());
  CHECK(live("web").empty());
}

TEST_CASE_FIXTURE(PlanFlowFixture,
                  "an evaluation that finds no room is decided while other plans keep coming") {
  add_node(10);
  start_worker();
  propose_job(make_job("small-0", 1));
  auto held = commit_and_take();  // its plan: something is under way from now on
  REQUIRE(held.size() == 1);
  Draft<schema::Job> draft{make_job("big", 1)};
  draft->getTaskGroups()[0].getTasks()[0].getResources().setCpu(1'000'000);
  const auto big = propose_job(draft.freeze());
  CHECK(commit_and_take().empty());
  for (int i = 1; i <= 24; ++i) {
    propose_job(make_job("small-" + std::to_string(i), 1));
    auto next = commit_and_take();
    commit_these(std::move(held));
    settle();
    for (auto& proposal : log->take())
      next.push_back(std::move(proposal));
    held = std::move(next);
    advance(10s);
    for (auto& proposal : log->take())
      held.push_back(std::move(proposal));
  }
  CHECK(eval_status(big) == schema::EvalStatus::COMPLETE);
  commit_these(std::move(held));
  commit();
  CHECK(eval_status(big) == schema::EvalStatus::COMPLETE);
  const auto blocked = state().eval(view(state().eval(big)->getBlockedEval()));
  REQUIRE(blocked);
  CHECK(blocked->getStatus() == schema::EvalStatus::BLOCKED);
}

TEST_CASE_FIXTURE(PlanFlowFixture, "a count that nobody can serve fails its evaluation alone") {
  add_node();
  start_worker();
  const auto bad = register_job(make_job("bad", std::int64_t{1} << 40));
  const auto good = register_job(make_job("good", 2));
  for (int i = 0; i < 10; ++i) {
    advance(10s);
    commit();
  }
  CHECK(eval_status(bad) == schema::EvalStatus::FAILED);
  CHECK(eval_status(good) == schema::EvalStatus::COMPLETE);
  CHECK(live("good").size() == 2);
}

TEST_CASE_FIXTURE(PlanFlowFixture, "a node that refuses plan after plan becomes ineligible") {
  PlanApplierOptions options;
  options.rejected_nodes = {.enabled = true, .node_threshold = 2};
  const auto strict = adopt(spawn_plan_applier(system(), store, proposer, 8, options));
  const auto node = add_node();
  const auto first = plan_of(register_job(make_job("one", 5)));
  const auto second = plan_of(register_job(make_job("two", 5)));
  const auto eligibility = [&] { return state().node(node)->getSchedulingEligibility(); };
  ask<PlanApplied>(strict, SubmitPlan{first});
  commit();
  ask<PlanApplied>(strict, SubmitPlan{second});
  commit();
  CHECK(eligibility() == schema::SchedulingEligibility::ELIGIBLE);
  ask<PlanApplied>(strict, SubmitPlan{second});
  commit();
  CHECK(eligibility() == schema::SchedulingEligibility::INELIGIBLE);
}

TEST_CASE_FIXTURE(PlanFlowFixture, "what waits in the applier ends with its leadership") {
  shorten_parts();
  for (int i = 0; i < 5; ++i)
    add_node(10);
  const auto plan = plan_of(register_job(make_small_job("many", 3'000)));
  const auto answer = ask<PlanApplied>(applier, SubmitPlan{plan});
  commit_once();  // the first part
  settle();
  const auto placed = live("many").size();
  CHECK(placed > 0);
  CHECK(placed < 3'000);
  tell(applier, Lead{false});
  tell(applier, Lead{true});
  commit();
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::no_leader);
  start_worker();  // the evaluation is delivered again
  CHECK(live("many").size() == 3'000);
}

TEST_CASE_FIXTURE(PlanFlowFixture, "what was decided before a leadership is not written in it") {
  add_node();
  const auto id = register_job(make_job("web", 3));
  const auto before = plan_of(id);
  register_job(make_job("other", 1));  // what a new leader writes first stands for it
  tell(applier, Lead{false});
  tell(applier, Lead{true});
  settle();
  const auto late = ask<PlanApplied>(applier, SubmitPlan{before});
  const auto timely = ask<PlanApplied>(applier, SubmitPlan{plan_of(id)});
  commit();
  REQUIRE(late->has_value());
  CHECK((*late)->has_error());
  CHECK((**timely)->result.is_full());
  CHECK(live("web").size() == 3);
}

TEST_CASE_FIXTURE(PlanFlowFixture, "two that find no room do not make each other decide for ever") {
  add_node();
  start_worker();
  propose_job(make_job("one", 5));
  auto held = commit_and_take();  // the plan of "one"
  REQUIRE(held.size() == 1);
  const auto of_size = [](const char* id, std::int64_t count, std::int64_t mhz) {
    Draft<schema::Job> draft{make_job(id, count)};
    draft->getTaskGroups()[0].getTasks()[0].getResources().setCpu(mhz);
    return draft.freeze();
  };
  const auto two = propose_job(of_size("two", 5, 1'300));
  const auto three = propose_job(of_size("three", 50, 100));
  CHECK(commit_and_take().empty());  // both find room for some, and wait
  for (auto& proposal : held)
    proposal.callback(Error{Errc::overloaded, "not now"});
  settle();
  commit();
  CHECK(eval_status(two) == schema::EvalStatus::COMPLETE);
  CHECK(eval_status(three) == schema::EvalStatus::COMPLETE);
  CHECK_FALSE(live("two").empty());
  CHECK_FALSE(live("three").empty());
}

TEST_CASE_FIXTURE(PlanFlowFixture, "who found no room decides anew if that was not taken") {
  add_node();
  start_worker();
  propose_job(make_job("one", 5));
  auto held = commit_and_take();  // the plan of "one"
  REQUIRE(held.size() == 1);
  const auto two = propose_job(make_job("two", 5));
  CHECK(commit_and_take().empty());  // it finds room for three, and waits
  for (auto& proposal : held)
    proposal.callback(Error{Errc::overloaded, "not now"});
  settle();
  commit();
  CHECK(eval_status(two) == schema::EvalStatus::COMPLETE);
  CHECK(live("two").size() == 5);
}
