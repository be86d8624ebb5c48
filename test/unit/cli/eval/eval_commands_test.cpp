// eval list and status: what is asked, refused and printed.
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string eval_id = "11111111-2222-3333-4444-555555555555";

const std::string failed_eval
    = R"({"ID":")" + eval_id
      + R"(","Namespace":"ops","JobID":"web","Priority":50,"Type":"service",)"
        R"("TriggeredBy":"job-register","Status":"complete","CreateTime":1000000000,)"
        R"("ModifyTime":1000000000,"BlockedEval":"22222222-2222-3333-4444-555555555555",)"
        R"("FailedTGAllocs":{"api":{"CoalescedFailures":1,"NodesEvaluated":2,)"
        R"("NodesExhausted":2,"DimensionExhausted":{"memory":2}},)"
        R"("db":{"CoalescedFailures":0,"NodesEvaluated":0,"NodesAvailable":{"dc1":0}}},)"
        R"("CreateIndex":3,"ModifyIndex":4})";

struct Evals : test::FakeAgent {
  Evals() {
    answer("GET /v1/evaluations", "[" + failed_eval + "]");
    answer("GET /v1/evaluation/" + eval_id, failed_eval);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Evals, "eval list: what is asked for, and the command for the next page") {
  next_token("4.page");
  CHECK(run(run_eval_list, {"-job", "web", "-status", "complete", "-filter", "Priority > 10",
                            "-per-page", "1", "-page-token", "3.page"})
        == 0);
  for (const auto* part :
       {"job=web", "status=complete", "filter=Priority", "per_page=1", "next_token=3.page"})
    CHECK(asked.at(0).find(part) != std::string::npos);
  CHECK(out.find("11111111  50        job-register  web     ops        <none>   complete  true\n")
        != std::string::npos);
  CHECK(out.find("-filter 'Priority > 10' -per-page 1 -page-token 4.page") != std::string::npos);
}

TEST_CASE_FIXTURE(Evals, "eval list: none, and what is no call of it") {
  CHECK(run(run_eval_list, {"extra"}) == 1);
  CHECK(err.starts_with("This command takes no arguments"));
  CHECK(run(run_eval_list, {"-json", "-t", "x"}) == 1);
  CHECK(err == "Both json and template formatting are not allowed\n");
  answer("GET /v1/evaluations", "[]");
  CHECK(run(run_eval_list, {}) == 0);
  CHECK(out == "No evals found\n");
  answer("GET /v1/evaluations", "failed to read filter expression", 400);
  CHECK(run(run_eval_list, {"-filter", "bad"}) == 1);
  CHECK(err
        == "Error querying evaluations: Unexpected response code: 400 (failed to read filter "
           "expression)");
}

TEST_CASE_FIXTURE(Evals, "evaluations are printed as JSON with all members that Nomad has") {
  for (const auto command : {run_eval_list, run_eval_status}) {
    auto arguments = std::vector<std::string>{"-json"};
    if (command == run_eval_status) arguments.push_back(eval_id);
    CHECK(run(command, arguments) == 0);
    for (const auto* member :
         {"\"AnnotatePlan\": false", "\"ClassEligibility\": null", "\"NextEval\": \"\"",
          "\"NodeModifyIndex\": 0", "\"QueuedAllocations\": null", "\"WaitUntil\": null"}) {
      CAPTURE(member);
      CHECK(out.find(member) != std::string::npos);
    }
  }
}

TEST_CASE_FIXTURE(Evals, "eval status: why groups could not be placed, and what waits for them") {
  CHECK(run(run_eval_status, {"1111"}) == 0);
  CHECK(out.find("Placement Failures = true\n\nFailed Placements\n"
                 "Task Group \"api\" (failed to place 2 allocations):\n")
        != std::string::npos);
  CHECK(out.find("  * Dimension \"memory\" exhausted on 2 nodes\n\nTask Group \"db\" (failed")
        != std::string::npos);
  CHECK(out.ends_with(
      "\n\nEvaluation \"22222222\" waiting for additional capacity to place remainder\n"));
  CHECK(run(run_eval_status, {"-verbose", eval_id}) == 0);
  CHECK(out.find("Blocked Eval       = 22222222-2222-3333-4444-555555555555\n")
        != std::string::npos);
}

TEST_CASE_FIXTURE(Evals, "eval status: what means no evaluation is said") {
  CHECK(run(run_eval_status, {"1"}) == 1);
  CHECK(err == "Identifier must contain at least two characters.");
  CHECK(run(run_eval_status, {}) == 1);
  CHECK(err.starts_with("This command takes one argument"));
  answer("GET /v1/evaluations", "[]");
  CHECK(run(run_eval_status, {"2222"}) == 1);
  CHECK(err == "No evaluation(s) with prefix or id \"2222\" found");
}

TEST_CASE_FIXTURE(test::FakeAgent, "eval list -monitor: tells of each until none is pending") {
  const auto listed = [](std::string_view a, std::string_view b) {
    std::string list = R"([{"ID":"11111111-a","JobID":"web","Status":")" + std::string{a} + "\"}";
    if (!b.empty())
      list += R"(,{"ID":"22222222-b","JobID":"db","TriggeredBy":"job-register","Status":")"
              + std::string{b} + "\"}";
    return list + "]";
  };
  const auto script = [&] {
    answer("GET /v1/evaluations", listed("pending", ""));
    then("GET /v1/evaluations", listed("pending", "pending"));
    then("GET /v1/evaluations", listed("complete", "pending"));
    then("GET /v1/evaluations", listed("complete", "blocked"));
  };

  script();
  CHECK(run(run_eval_list, {"-monitor", "-job", "web"}) == 0);
  CHECK(asked.size() == 4);
  CHECK(asked.back() == "GET /v1/evaluations?job=web&index=7");
  for (const auto* part :
       {"Evaluation \"22222222\" of job \"db\" created by job-register: pending\n",
        "Evaluation \"11111111\" status changed: \"pending\" -> \"complete\"\n",
        "Evaluation \"22222222\" status changed: \"pending\" -> \"blocked\"\n"})
    CHECK(out.find(part) != std::string::npos);

  script();
  CHECK(run(run_eval_list, {"-monitor", "-t", "{{range .}}{{.Status}} {{end}}"}) == 0);
  CHECK(out == "complete blocked \n");

  answer("GET /v1/evaluations", listed("pending", ""));
  then("GET /v1/evaluations", "gone", 500);
  CHECK(run(run_eval_list, {"-monitor"}) == 1);
  CHECK(err == "Error querying evaluations: Unexpected response code: 500 (gone)");
}
