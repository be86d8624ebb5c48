// Which evaluations are safe to delete: Nomad's rules, one by one.
#include "runtime/state/eval_rules.hpp"

#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;

namespace {

/// How an allocation failed, and what its group does then.
struct Failure {
  std::int64_t attempts = 0;
  bool unlimited = false;
  bool replaced = false;
  bool counted = false;  ///< It was the replacement of another one.
};

struct Rules : StateFixture {
  bool is_safe(std::string_view id) {
    const auto snapshot = now();
    return EvalDeletionJudge{snapshot.tables()}.is_safe(*snapshot.eval(id));
  }

  bool is_safe_after(const Failure& failure) {
    Rules state;
    state.register_node();
    state.run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      state.fill(job, JobSpec{});
      auto policy = job.getTaskGroups()[0].initReschedulePolicy();
      policy.setAttempts(failure.attempts);
      policy.setUnlimited(failure.unlimited);
    });
    state.put_eval({.id = "eval", .status = schema::EvalStatus::COMPLETE});
    state.put_eval({.id = "other"});
    state.place({{.id = "a"}}, [&](schema::PlanResult::Builder plan) {
      if (failure.counted) plan.getPlaced()[0].initRescheduleTracker().initEvents(1);
    });
    state.report("a", ClientStatus::FAILED);
    if (failure.replaced) state.place({{.id = "b", .eval = "other", .previous = "a"}});
    return state.is_safe("eval");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Rules, "an evaluation is safe to delete unless something of it runs or may run") {
  register_node();
  register_job({});
  put_eval({.id = "eval", .status = schema::EvalStatus::COMPLETE});
  put_eval({.id = "waits"});
  CHECK(is_safe("eval"));
  place({{.id = "a"}});
  CHECK(is_safe("eval"));
  CHECK(is_safe("waits"));
  report("a", ClientStatus::RUNNING);
  CHECK_FALSE(is_safe("eval"));
  CHECK(is_safe("waits"));
  stop("a", ClientStatus::UNKNOWN);
  CHECK_FALSE(is_safe("eval"));
  report("a", ClientStatus::COMPLETE);
  CHECK(is_safe("eval"));
}

TEST_CASE_FIXTURE(Rules, "every evaluation of a job that is stopped or gone is safe to delete") {
  register_node();
  register_job({});
  put_eval({.id = "eval"});
  place({{.id = "a"}});
  report("a", ClientStatus::RUNNING);
  CHECK_FALSE(is_safe("eval"));
  SUBCASE("stopped") {
    deregister("web", false);
  }
  SUBCASE("gone") {
    deregister("web", true);
  }
  CHECK(is_safe("eval"));
}

TEST_CASE_FIXTURE(Rules, "the evaluation of a failure is kept while a replacement has to know it") {
  CHECK(is_safe_after({}));  // there will be none
  CHECK_FALSE(is_safe_after({.attempts = 2, .counted = true}));
  CHECK_FALSE(is_safe_after({.attempts = 2, .replaced = true}));
  CHECK(is_safe_after({.attempts = 2, .replaced = true, .counted = true}));
  CHECK_FALSE(is_safe_after({.unlimited = true, .replaced = true, .counted = true}));  // as Nomad
}
