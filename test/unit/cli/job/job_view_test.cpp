// job status, job inspect and job dispatch with what releases after 1.6 have.
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

struct Web : test::FakeAgent {
  Web() {
    answer("GET /v1/jobs", R"([{"ID":"web","ParameterizedJob":true,"JobSummary":{}}])");
    answer("GET /v1/job/web", R"({"ID":"web","Name":"web","Version":3})");
    answer("GET /v1/job/web/submission", R"({"Source":"job \"web\" {}\n\n","Format":"hcl2"})");
    answer("PUT /v1/job/web/dispatch", R"({"DispatchedJobID":"web/dispatch-1","EvalID":""})");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Web, "job status: the list and one job as JSON and by a template") {
  CHECK(run(run_job_status, {"-t", "{{range .}}{{.ID}}{{end}}"}) == 0);
  CHECK(out == "web\n");
  CHECK(run(run_job_status, {"-json", "web"}) == 0);
  CHECK(out.find("\"Version\": 3") != std::string::npos);
  CHECK(run(run_job_status, {"-t", "{{.ID}} {{.Version}}", "web"}) == 0);
  CHECK(out == "web 3\n");
}

TEST_CASE_FIXTURE(Web, "job inspect: the source of the newest version, or of one that is named") {
  CHECK(run(run_job_inspect, {"-hcl", "web"}) == 0);
  CHECK(out == "job \"web\" {}\n");
  CHECK(asked.back() == "GET /v1/job/web/submission?version=3");
  CHECK(run(run_job_inspect, {"-hcl", "-version", "1", "web"}) == 0);
  CHECK(asked.back() == "GET /v1/job/web/submission?version=1");
  CHECK(run(run_job_inspect, {"-hcl", "-json", "web"}) == 1);
  CHECK(err.starts_with("-hcl excludes -json and -t"));
  answer("GET /v1/job/web/submission", R"({"Source":"{}","Format":"json"})");
  CHECK(run(run_job_inspect, {"-hcl", "web"}) == 1);
  CHECK(err == "Error inspecting job: it was registered as JSON, and has no source in HCL");
  answer("GET /v1/job/web/submission", "job source not found", 404);
  CHECK(run(run_job_inspect, {"-hcl", "web"}) == 1);
  CHECK(err
        == "Error retrieving the job's source: Unexpected response code: 404 (job source not "
           "found)");
}

TEST_CASE_FIXTURE(Web, "job dispatch: the priority goes with it") {
  CHECK(run(run_job_dispatch, {"-priority", "70", "web"}) == 0);
  CHECK(written().find(R"("Priority":70)") != std::string::npos);
}

TEST_CASE_FIXTURE(Web, "alloc logs: an allocation of one group of a job") {
  answer("GET /v1/job/web/allocations",
         R"([{"ID":"a1","TaskGroup":"api","ClientStatus":"running"},)"
         R"({"ID":"b1","TaskGroup":"db","ClientStatus":"running"}])");
  CHECK(run(run_alloc_logs, {"-job", "-group", "db", "web"}) == 1);
  CHECK(asked.back() == "GET /v1/allocations?prefix=b1");
  CHECK(run(run_alloc_logs, {"-job", "-group", "none", "web"}) == 1);
  CHECK(err == "No allocations found for group \"none\" of job \"web\"");
  CHECK(run(run_alloc_logs, {"-group", "db", "a1"}) == 1);
  CHECK(err == "-group says of which group of a job the allocation is: it needs -job");
}
