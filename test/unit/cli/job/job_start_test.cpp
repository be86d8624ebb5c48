// job start: what is registered again, and what is refused.
#include <boost/json.hpp>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

struct Stopped : test::FakeAgent {
  Stopped() {
    answer("GET /v1/jobs", R"([{"ID":"web","JobSummary":{"Namespace":"ops"}}])");
    answer(
        "GET /v1/job/web",
        R"({"ID":"web","Name":"web","Stop":true,"Version":4,"JobModifyIndex":9,"Type":"batch"})");
    answer("PUT /v1/jobs", R"({"EvalID":"11111111-2222"})");
  }

  /// What was registered.
  boost::json::value registered() const {
    const auto request = written();
    const std::string before = "PUT /v1/jobs?namespace=ops ";
    REQUIRE(request.starts_with(before));
    return boost::json::parse(request.substr(before.size()));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Stopped, "job start: the stored job runs again, unless it was changed since") {
  CHECK(run(run_job_start, {"-detach", "web"}) == 0);
  const auto body = registered();
  CHECK(body.at("Job").at("Stop") == false);
  CHECK(body.at("Job").at("Type") == "batch");
  CHECK(body.at("EnforceIndex") == true);
  CHECK(body.at("JobModifyIndex") == 9);
  CHECK(!body.as_object().contains("Submission"));
  CHECK(out == "Job start successful\nEvaluation ID: 11111111-2222\n");
}

TEST_CASE_FIXTURE(Stopped, "job start: the new version has the source of the old one") {
  answer("GET /v1/job/web/submission", R"({"Source":"job {}","Format":"hcl2"})");
  CHECK(run(run_job_start, {"-detach", "web"}) == 0);
  CHECK(registered().at("Submission").at("Source") == "job {}");
  CHECK(asked.at(2) == "GET /v1/job/web/submission?namespace=ops&version=4");
}

TEST_CASE_FIXTURE(Stopped, "job start: one without an evaluation") {
  answer("PUT /v1/jobs", R"({"EvalID":""})");
  CHECK(run(run_job_start, {"web"}) == 0);
  CHECK(out == "Job start successful\n");
}

TEST_CASE_FIXTURE(Stopped, "job start: what can't be started is said") {
  CHECK(run(run_job_start, {}) == 1);
  CHECK(err.starts_with("This command takes one argument: <job>"));
  answer("PUT /v1/jobs", "Enforcing job modify index 9", 409);
  CHECK(run(run_job_start, {"web"}) == 1);
  CHECK(err.starts_with("Error starting job: Unexpected response code: 409 (Enforcing"));
  answer("GET /v1/job/web", R"({"ID":"web","Name":"the web","Stop":false})");
  CHECK(run(run_job_start, {"web"}) == 1);
  CHECK(err == "Job \"the web\" has not been stopped");
  answer("GET /v1/jobs", "[]");
  CHECK(run(run_job_start, {"web"}) == 1);
  CHECK(err == "No job(s) with prefix or ID \"web\" found");
}
