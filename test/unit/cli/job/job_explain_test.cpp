// job explain: the page, and the first line that other commands show of it.
#include <boost/json.hpp>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string node_id = "bbbbbbbb-0000-0000-0000-000000000001";

const std::string refused = R"({"JobID":"web","Type":"service","Namespace":"default","Version":3,
  "Summary":"Group \"g\": 1 allocation waits for a place; none of 2 nodes fits","OtherGroups":0,
  "Groups":[{"Name":"g","Summary":"Group \"g\": 1 allocation waits for a place; none of 2 nodes fits",
    "Count":1,"Live":0,"Queued":1,"Nodes":2,"NodesLookedAt":2,"NodesFitting":0,"OtherClasses":0,
    "QuotaExceeded":[],"Waits":[{"Kind":"blocked-evaluation","Text":"evaluation 1 is blocked","ID":"1"}],
    "Refused":[{"Count":2,"Reasons":[{"Text":"driver \"x\": missing"},{"Text":"being drained"}],
                "Nodes":[{"ID":"n","Name":"a\u001b[2J"}]}],
    "Suggestions":[{"Text":"count 2 -> 1"},{"Text":"driver \"x\" on the node","NodeName":"a"}],
    "Fitting":[],"Node":null}],"Allocation":null})";

struct JobExplain : test::FakeAgent {
  JobExplain() {
    answer("GET /v1/jobs", R"([{"ID":"web","JobSummary":{"Namespace":"default"}}])");
    answer("GET /v1/job/web/explain", refused);
  }
};

}  // namespace

TEST_CASE_FIXTURE(JobExplain,
                  "job explain: what is against nodes, what waits, and what would help") {
  CHECK(run(run_job_explain, {"web"}) == 2);
  CHECK(out
        == "Job \"web\" (service, version 3, namespace \"default\")\n"
           "\nGroup \"g\": 1 allocation waits for a place; none of 2 nodes fits\n"
           "\nWaits\n* evaluation 1 is blocked\n"
           "\nNodes that do not fit\n"
           "Nodes  Against them                        Such as\n"
           "2      driver \"x\": missing; being drained  a\\x1b[2J, ...\n"
           "\nOne more would fit with any of these\n"
           "* count 2 -> 1\n* driver \"x\" on the node: a would take it\n");
}

TEST_CASE_FIXTURE(JobExplain,
                  "job explain: nodes that fit, one that is asked for, and an allocation") {
  const std::string scored = R"("NodeID":")" + node_id
                             + R"(","NodeName":"a","Rank":1,"NormScore":0.5,"Preempted":1,)"
                               R"("Scores":{"binpack":0.5,"node-affinity":0})";
  answer(
      "GET /v1/job/web/explain",
      R"({"JobID":"web","Type":"service","Namespace":"default","Version":0,"OtherGroups":2,)"
      R"("Groups":[{"Summary":"S","Nodes":9,"NodesLookedAt":3,"NodesFitting":1,"OtherClasses":1,)"
      R"("NodesOfOtherClasses":4,"Refused":[{"Count":1,"Reasons":[{"Text":"r"}],"Nodes":[]}],)"
      R"("QuotaExceeded":["cpu exhausted"],"Fitting":[{)"
          + scored + R"(}],"Node":{"Fits":true,)" + scored
          + R"(}}],"Allocation":{"ID":"aaaaaaaa-1","Name":"web.g[0]","NodeID":"bbbbbbbb-0",)"
            R"("NodeName":"a","DesiredStatus":"run","ClientStatus":"pending","NodesFittingNow":4,)"
            R"("Then":{"Rank":1,"Of":2,"NormScore":0.25,"NodesEvaluated":3,"NodesFiltered":1,)"
            R"("NodesExhausted":0,"Scores":{"binpack":0.25}},"Now":{"Fits":true,)"
          + scored + R"(},"Waits":[{"Text":"its node is down"}]}})");

  CHECK(run(run_job_explain, {"-group", "g", "-node", "a", "-alloc", "aaaaaaaa", "web"}) == 0);

  CHECK(asked.back() == "GET /v1/job/web/explain?namespace=default&group=g&node=a&alloc=aaaaaaaa");
  CHECK(out
        == "Job \"web\" (service, version 0, namespace \"default\")\n"
           "\nAllocation     = aaaaaaaa\n"
           "Name           = web.g[0]\n"
           "Node           = bbbbbbbb (a)\n"
           "Desired Status = run\n"
           "Client Status  = pending\n"
           "When placed    = score 0.250, rank 1 of 2 that are known; 3 nodes looked at, 1 filtered, 0 without room\n"
           "Of it          = binpack 0.250\n"
           "Now            = score 0.500, rank 1 of 4 nodes that fit\n"
           "Of it now      = binpack 0.500\n"
           "\nIt waits\n* its node is down\n"
           "\nS\n"
           "Only 3 of 9 nodes were looked at: more would take too long; name a group or a node\n"
           "\nBeyond the quota\n* cpu exhausted\n"
           "\nNodes that do not fit\n"
           "Nodes  Against them  Such as\n"
           "1      r             <none>\n"
           "4 more nodes in 1 other lines\n"
           "\nNodes that fit (1)\n"
           "Rank  Node      Name  Score  Of it\n"
           "1     bbbbbbbb  a     0.500  binpack 0.500, 1 preempted\n"
           "\nNode bbbbbbbb (a) fits: score 0.500, rank 1 (binpack 0.500)\n"
           "\n2 more groups: name one with -group\n");
}

TEST_CASE_FIXTURE(JobExplain,
                  "job explain: -json prints what the agent says, and a refusal is told") {
  CHECK(run(run_job_explain, {"-json", "web"}) == 0);
  CHECK(boost::json::parse(out).at("Version") == 3);
  answer("GET /v1/job/web/explain", "group \"x\" not found", 404);
  CHECK(run(run_job_explain, {"-group=x", "web"}) == 1);
  CHECK(err == "Error explaining job: Unexpected response code: 404 (group \"x\" not found)");
}

TEST_CASE_FIXTURE(JobExplain, "job status: of a job that waits it shows the first line") {
  answer("GET /v1/job/web", R"({"ID":"web","Type":"service","Status":"pending"})");
  answer("GET /v1/job/web/summary", R"({"Summary":{"g":{"Queued":1}}})");
  answer(
      "GET /v1/job/web/evaluations",
      R"([{"ID":"2","CreateIndex":9,"Status":"blocked"},{"ID":"1","CreateIndex":8,"BlockedEval":"2",)"
      R"("FailedTGAllocs":{"g":{"NodesEvaluated":2,"NodesFiltered":2}}}])");
  answer("GET /v1/job/web/deployment", "null");
  answer("GET /v1/job/web/allocations", "[]");
  CHECK(run(run_job_status, {"web"}) == 0);
  CHECK(
      out.find("\nGroup \"g\": 1 allocation waits for a place; none of 2 nodes fits\n\nAllocations")
      != std::string::npos);

  answer("GET /v1/job/web/explain", "not found", 404);  // an older agent
  CHECK(run(run_job_status, {"web"}) == 0);
  CHECK(out.find("\nGroup \"g\"") == std::string::npos);
}
