// job tag, job history and job revert: versions by their numbers and tags.
#include <boost/json.hpp>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

constexpr const char* versions = R"({"Versions":[
  {"ID":"web","Version":2,"Stable":false,"SubmitTime":0},
  {"ID":"web","Version":1,"Stable":true,"SubmitTime":0,
   "VersionTag":{"Name":"golden","Description":"it works","TaggedTime":5}},
  {"ID":"web","Version":0,"Stable":true,"SubmitTime":0,"VersionTag":{"Name":"first"}}],
  "Diffs":DIFFS})";

std::string versions_with(const std::string& diffs) {
  std::string text = versions;
  return text.replace(text.find("DIFFS"), 5, diffs);
}

struct Tagged : test::FakeAgent {
  Tagged() {
    answer("GET /v1/jobs", R"([{"ID":"web","JobSummary":{"Namespace":"ops"}}])");
    answer("GET /v1/job/web", R"({"ID":"web","Name":"web","Version":2})");
    answer("GET /v1/job/web/versions", versions_with("null"));
    answer("PUT /v1/job/web/versions/golden/tag", R"({"Name":"golden"})");
    answer("DELETE /v1/job/web/versions/golden/tag", "{}");
    answer("PUT /v1/job/web/revert", R"({"EvalID":"11111111-2222"})");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Tagged, "job tag apply: the newest version, or the one that is named") {
  CHECK(run(run_job_tag_apply, {"-name", "golden", "-description", "it works", "web"}) == 0);
  CHECK(written()
        == "PUT /v1/job/web/versions/golden/tag?namespace=ops "
           R"({"Version":2,"Description":"it works"})");
  CHECK(out == "Job version 2 tagged with name \"golden\"\n");
  CHECK(run(run_job_tag_apply, {"-name", "golden", "-version", "0", "web"}) == 0);
  CHECK(written().ends_with(R"({"Version":0,"Description":""})"));
}

TEST_CASE_FIXTURE(Tagged, "job tag unset: by its name") {
  CHECK(run(run_job_tag_unset, {"-name", "golden", "web"}) == 0);
  CHECK(written() == "DELETE /v1/job/web/versions/golden/tag?namespace=ops");
  CHECK(out == "Tag \"golden\" removed from job \"web\"\n");
}

TEST_CASE_FIXTURE(Tagged, "job tag: what is missing or refused is said") {
  for (const auto command : {run_job_tag_apply, run_job_tag_unset}) {
    CHECK(run(command, {"web"}) == 1);
    CHECK(err.starts_with("A version tag name is required"));
    CHECK(run(command, {"-name", "golden"}) == 1);
    CHECK(err.starts_with("This command takes one argument: <job>"));
  }
  answer("PUT /v1/job/web/versions/golden/tag", "no", 400);
  CHECK(run(run_job_tag_apply, {"-name", "golden", "web"}) == 1);
  CHECK(err == "Error tagging job version: Unexpected response code: 400 (no)");
  answer("DELETE /v1/job/web/versions/golden/tag", "no", 404);
  CHECK(run(run_job_tag_unset, {"-name", "golden", "web"}) == 1);
  CHECK(err == "Error removing tag: Unexpected response code: 404 (no)");
}

TEST_CASE_FIXTURE(Tagged, "job revert: to a version's number or to its tag") {
  CHECK(run(run_job_revert, {"-detach", "web", "1"}) == 0);
  CHECK(written().ends_with(R"({"JobID":"web","JobVersion":1})"));
  CHECK(run(run_job_revert, {"-detach", "web", "first"}) == 0);
  CHECK(written().ends_with(R"({"JobID":"web","JobVersion":0})"));
  CHECK(run(run_job_revert, {"-detach", "web", "gone"}) == 1);
  CHECK(err == "Error retrieving job versions: version tag gone not found for job web");
  CHECK(run(run_job_revert, {"web"}) == 1);
  CHECK(err.starts_with("This command takes two arguments: <job> <version|tag>"));
}

TEST_CASE_FIXTURE(Tagged, "job history: versions show their tags") {
  CHECK(run(run_job_history, {"-version", "1", "web"}) == 0);
  CHECK(out.find("\nTag Name        = golden\nTag Description = it works\n") != out.npos);
  CHECK(run(run_job_history, {"-version", "0", "web"}) == 0);
  CHECK(out.find("\nTag Name    = first\n") != out.npos);
  CHECK(run(run_job_history, {"-version", "2", "web"}) == 0);
  CHECK(out.find("Tag") == out.npos);
}

TEST_CASE_FIXTURE(Tagged, "job history: differences to one version, but for its own") {
  answer("GET /v1/job/web/versions",
         versions_with(R"([{"Type":"Edited","ID":"web","Fields":[{"Type":"Edited",
           "Name":"Priority","Old":"1","New":"2"}]},{"Type":"None","ID":"web"},
           {"Type":"None","ID":"web"}])"));
  CHECK(run(run_job_history, {"-p", "-diff-tag", "golden", "web"}) == 0);
  CHECK(asked.back() == "GET /v1/job/web/versions?namespace=ops&diffs=true&diff_tag=golden");
  CHECK(out.find("Diff") == out.rfind("Diff"));
  CHECK(out.find("Priority") != out.npos);
  CHECK(run(run_job_history, {"-p", "-diff-version", "1", "web"}) == 0);
  CHECK(asked.back() == "GET /v1/job/web/versions?namespace=ops&diffs=true&diff_version=1");

  CHECK(run(run_job_history, {"-diff-tag", "golden", "web"}) == 1);
  CHECK(err.starts_with("-diff-tag and -diff-version can only be used with -p"));
  CHECK(run(run_job_history, {"-p", "-diff-tag", "golden", "-diff-version", "1", "web"}) == 1);
  CHECK(err.starts_with("-diff-tag and -diff-version are mutually exclusive"));
}
