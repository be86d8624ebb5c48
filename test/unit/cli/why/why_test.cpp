// why: what is asked for, and the page.
#include <boost/json.hpp>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string alloc_id = "11111111-2222-3333-4444-555555555555";

struct Why : test::FakeAgent {
  Why() {
    answer("GET /v1/jobs", R"([{"ID":"web","JobSummary":{"Namespace":"ops"}}])");
    answer("GET /v1/job/web",
           R"({"ID":"web","Namespace":"ops","Type":"service","Status":"running","Version":0,)"
           R"("TaskGroups":[{"Name":"g","Count":1,"Services":[{"Checks":[{}]}],"Tasks":[]}]})");
    answer("GET /v1/job/web/evaluations", "[]");
    answer("GET /v1/job/web/deployments", "[]");
    answer("GET /v1/job/web/allocations",
           R"([{"ID":")" + alloc_id
               + R"(","TaskGroup":"g","NodeName":"n","JobVersion":0,"DesiredStatus":"run",)"
                 R"("ClientStatus":"failed","TaskStates":{"t":{"Failed":true,"Events":)"
                 R"([{"Type":"Terminated","ExitCode":1}]}}}])");
    answer("GET /v1/client/fs/logs/" + alloc_id, "");
    then("GET /v1/client/fs/logs/" + alloc_id, "panic: no\x1b[2J\n");
  }

  void runs_well() {
    answer("GET /v1/job/web/allocations",
           R"([{"ID":")" + alloc_id
               + R"(","TaskGroup":"g","DesiredStatus":"run","ClientStatus":"running"}])");
    answer("GET /v1/client/allocation/" + alloc_id + "/checks", "null");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Why, "why: the page of a job, with what its task wrote at its end") {
  CHECK(run(run_why, {"web"}) == 2);
  CHECK(out
        == "Job \"web\" (service, version 0, namespace \"ops\") is running: 0 of 1 allocation runs\n"
           "\n==> Allocation 11111111 (group \"g\", version 0, node n): task \"t\" exited with code "
           "1\n"
           "    N/A  Terminated\n"
           "    Its last lines:\n"
           "    | panic: no\\x1b[2J\n"
           "    Try: nomadctl alloc logs -stderr -namespace=ops 11111111 t\n"
           "         nomadctl alloc status -namespace=ops 11111111\n");
  CHECK(asked.at(2) == "GET /v1/job/web?namespace=ops");
}

TEST_CASE_FIXTURE(Why, "why: nothing is wrong") {
  runs_well();
  CHECK(run(run_why, {"web"}) == 0);
  CHECK(out.ends_with("1 of 1 allocation runs\n\nNothing is wrong.\n"));
}

TEST_CASE_FIXTURE(Why, "why: what is not there is left out, but for the job") {
  answer("GET /v1/client/fs/logs/" + alloc_id, "node is away", 500);
  CHECK(run(run_why, {"web"}) == 2);
  CHECK(out.find("Its last lines") == std::string::npos);
  answer("GET /v1/job/web/deployments", "denied", 403);
  CHECK(run(run_why, {"web"}) == 1);
  CHECK(err == "Error querying deployments: Unexpected response code: 403 (denied)");
}

TEST_CASE_FIXTURE(Why, "why: nodes are asked for when something could not be placed") {
  answer("GET /v1/job/web/evaluations",
         R"([{"Status":"complete","FailedTGAllocs":{"g":{"NodesEvaluated":1}}}])");
  CHECK(run(run_why, {"web"}) == 2);
  bool has_asked = false;
  for (const auto& one : asked)
    has_asked
        = has_asked || one.starts_with("GET /v1/nodes?namespace=ops&resources=true&per_page=50");
  CHECK(has_asked);
  CHECK(out.find("==> Group \"g\": 1 allocation can't be placed\n") != std::string::npos);
  answer("GET /v1/job/web/evaluations",
         R"([{"Status":"complete","FailedTGAllocs":{"g":{"QuotaExhausted":["memory"]}}}])");
  answer("GET /v1/namespace/ops", R"({"Name":"ops","Quota":"small"})");
  CHECK(run(run_why, {"web"}) == 2);
  CHECK(out.find("Try: nomadctl quota status small\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Why, "why: of an allocation, by the beginning of its id") {
  answer("GET /v1/jobs", "[]");
  answer("GET /v1/allocations", R"([{"ID":")" + alloc_id + R"(","Namespace":"ops"}])");
  answer("GET /v1/allocation/" + alloc_id, R"({"ID":")" + alloc_id + R"(","JobID":"web"})");
  CHECK(run(run_why, {"1111"}) == 2);
  CHECK(out.find("==> Allocation 11111111") != std::string::npos);
  CHECK(run(run_why, {"-json", "1111"}) == 2);
  const auto page = boost::json::parse(out);
  CHECK(page.at("AllocID") == alloc_id.c_str());
  CHECK(page.at("Findings").at(0).at("Weight") == "problem");
  CHECK(page.at("Findings").at(0).at("Commands").at(1)
        == "nomadctl alloc status -namespace=ops 11111111");
}

TEST_CASE_FIXTURE(Why, "why: what is neither is said") {
  answer("GET /v1/jobs", "[]");
  CHECK(run(run_why, {"xyz"}) == 1);
  CHECK(
      err
      == "No job begins with \"xyz\", and no allocation can: `nomadctl job status` lists the jobs");
  answer("GET /v1/allocations", "[]");
  CHECK(run(run_why, {"abcd"}) == 1);
  CHECK(err == "No allocation(s) with prefix or id \"abcd\" found");
  CHECK(run(run_why, {}) == 1);
  CHECK(err.starts_with("This command takes one argument: <job or allocation>"));
}
