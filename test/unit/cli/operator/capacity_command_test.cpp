// operator capacity: a row for each group, and the nodes that take most.
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

TEST_CASE_FIXTURE(test::FakeAgent, "operator capacity: how many more, and what ends first") {
  answer("GET /v1/jobs", R"([{"ID":"web","JobSummary":{"Namespace":"default"}}])");
  answer("GET /v1/job/web/capacity",
         R"({"Groups":[{"Name":"g","Live":2,"More":7,"IsBounded":true,"InQuota":3,"Nodes":2,)"
         R"("Binds":[{"Kind":"memory","Nodes":2},{"Kind":"cpu","Nodes":1}],)"
         R"("Largest":[{"NodeID":"n","NodeName":"a","More":5,"Binds":"memory"}]},)"
         R"({"Name":"h","Live":0,"More":0,"IsBounded":false,"InQuota":null,"Nodes":0}]})");

  CHECK(run(run_operator_capacity, {"-verbose", "-group", "g", "web"}) == 0);

  CHECK(asked.back() == "GET /v1/job/web/capacity?namespace=default&group=g");
  CHECK(out
        == "Group  Live  More       Within the Quota  On Nodes  First to End (Nodes)\n"
           "g      2     7 or more  3                 2         memory (2), cpu (1)\n"
           "h      0     0          -                 0         <none>\n"
           "\nNodes for \"g\"\n"
           "Node  Name  More  First to End\n"
           "n     a     5     memory\n");
}

TEST_CASE_FIXTURE(test::FakeAgent, "operator capacity: a refusal is told") {
  answer("GET /v1/jobs", R"([{"ID":"web","JobSummary":{"Namespace":"default"}}])");
  CHECK(run(run_operator_capacity, {"web"}) == 1);
  CHECK(err == "Error querying capacity: Unexpected response code: 404 (not found)");
}
