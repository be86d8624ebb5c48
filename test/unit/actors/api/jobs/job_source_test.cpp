// The sources of jobs: kept with a registration, shown to who may read the job, and nowhere else.
#include <doctest/doctest.h>

#include "runtime/object/json_codec.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

/// A registration of "web" with a source; `priority` makes versions differ.
std::string with_source(const std::string& source, int priority = 50) {
  return R"({"Job":{"ID":"web","Priority":)" + std::to_string(priority)
         + R"(,"Datacenters":["dc1"],"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"raw_exec",)"
         + R"("Config":{"command":"/bin/true"}}]}]},"Submission":{"Source":")" + source
         + R"(","Format":"hcl2","Variables":"a = 1","VariableFlags":{"token":"secret-of-flag"}}})";
}

}  // namespace

TEST_CASE("job source: comes back as it was given, for its version") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", with_source("first")).status == 200);
  REQUIRE(fixture.send("PUT", "/v1/jobs", with_source("second", 60)).status == 200);

  const auto job = fixture.json("/v1/job/web").as_object();
  const auto submission = fixture.json("/v1/job/web/submission?version=1").as_object();
  CHECK(submission.at("Source") == "second");
  CHECK(submission.at("Format") == "hcl2");
  CHECK(submission.at("Variables") == "a = 1");
  CHECK(submission.at("VariableFlags").at("token") == "secret-of-flag");
  CHECK(submission.at("Namespace") == "default");
  CHECK(submission.at("JobID") == "web");
  CHECK(submission.at("Version") == 1);
  CHECK(submission.at("JobModifyIndex") == job.at("JobModifyIndex"));
  CHECK(fixture.json("/v1/job/web/submission?version=0").at("Source") == "first");
  CHECK(fixture.refusal("/v1/job/web/submission?version=2") == "404 job source not found");
  CHECK(fixture.refusal("/v1/job/web/submission?version=x")
        == "400 Unable to parse job submission version parameter");
}

TEST_CASE("job source: a registration that changes nothing keeps the source that there is") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", with_source("first")).status == 200);
  REQUIRE(fixture.send("PUT", "/v1/jobs", with_source("other words for it")).status == 200);
  CHECK(fixture.json("/v1/job/web/submission?version=0").at("Source") == "first");
}

TEST_CASE("job source: one that is too large is left out with a warning") {
  ApiFixture fixture{[](ApiOptions& options) { options.jobs.max_source_bytes = 30; }};
  const auto small = fixture.send("PUT", "/v1/jobs", with_source("x"));
  CHECK(small.body.find(R"("Warnings":"")") != std::string::npos);
  const auto large = fixture.send("PUT", "/v1/jobs", with_source(std::string(2000, 'x'), 60));
  REQUIRE(large.status == 200);
  CHECK(large.body.find("job source size of 2.0 kB exceeds maximum of 30 B and will be discarded")
        != std::string::npos);
  CHECK(fixture.get("/v1/job/web/submission?version=0").status == 200);
  CHECK(fixture.get("/v1/job/web/submission?version=1").status == 404);
}

TEST_CASE("job source: is part of no event and of no other answer") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", with_source("secret-of-source")).status == 200);
  for (const auto* path : {"/v1/job/web", "/v1/jobs", "/v1/job/web/versions?diffs=true"})
    CHECK(fixture.get(path).body.find("secret-of") == std::string::npos);
  const auto stored = fixture.state().now().job("default", "web");
  CHECK(to_json(*stored).find("secret-of") == std::string::npos);
}

TEST_CASE("job source: malformed ones are refused before anything is written") {
  ApiFixture fixture;
  auto body = with_source("x");
  body.replace(body.find(R"("a = 1")"), 7, "5");
  CHECK(fixture.refusal("PUT", "/v1/jobs", body)
        == "400 json: cannot unmarshal number into Go struct field JobSubmission.Variables of type "
           "string");
  CHECK(fixture.state().job_status("web") == "absent");
}
