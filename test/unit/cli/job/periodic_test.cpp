// When a periodic job is due next, and the command that a plan ends with: both are made here, for
// the API says neither.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/output/describe.hpp"
#include "runtime/base/duration.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

std::string periodic_job(const std::string& rest) {
  return R"({"ID":"cron","Name":"cron","Namespace":"default","Type":"batch","Priority":50,"Status":"running",)"
         R"("Periodic":{"Enabled":true,"SpecType":"cron","Spec":"0 0 1 1 *","TimeZone":"Asia/Tokyo"})"
         + rest + "}";
}

struct Planned : test::FakeAgent {
  Planned() {
    std::string name = (std::filesystem::temp_directory_path() / "nomadctl-plan-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
    file = folder / "it's.hcl";
    std::ofstream{file} << R"(variable "image" {}
job "web" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = var.image
      }
    }
  }
})";
    answer("PUT /v1/job/web/plan",
           R"({"JobModifyIndex":17,"Annotations":null,"FailedTGAllocs":null})");
  }

  ~Planned() { std::filesystem::remove_all(folder); }

  std::filesystem::path folder, file;
};

}  // namespace

TEST_CASE_FIXTURE(test::FakeAgent, "job status: a periodic job's next launch is worked out") {
  answer("GET /v1/jobs", R"([{"ID":"cron","Namespace":"default"}])");
  answer("GET /v1/job/cron", periodic_job(""));
  answer("GET /v1/job/cron/summary", "{}");
  CHECK(run(run_job_status, {"-short", "cron"}) == 0);
  const auto line = out.find("\nNext Periodic Launch");
  REQUIRE(line != std::string::npos);
  CHECK(out.find("-01-01T00:00:00+09:00 (", line) != std::string::npos);  // in the job's zone
  CHECK(out.find("from now)", line) != std::string::npos);

  answer("GET /v1/job/cron", periodic_job(R"(,"Stop":true)"));
  CHECK(run(run_job_status, {"-short", "cron"}) == 0);
  CHECK(out.find("Next Periodic Launch = none (job stopped)") != std::string::npos);

  answer("GET /v1/job/cron", periodic_job(R"(,"ParameterizedJob":{"Payload":"optional"})"));
  CHECK(run(run_job_status, {"-short", "cron"}) == 0);
  CHECK(out.find("Next Periodic Launch") == std::string::npos);
}

TEST_CASE_FIXTURE(Planned,
                  "job plan: the command that it ends with takes all that the plan was given") {
  CHECK(run(run_job_plan, {"-diff=false", "-token", "s3cret", "-namespace=dev", "-var", "image=a b",
                           "-hcl2-strict=false", file.string()})
        == 0);
  const std::string quoted = folder.string() + "/it'\\''s.hcl";
  CHECK(out.find("nomad job run -check-index 17 -address=http://127.0.0.1:") != std::string::npos);
  CHECK(out.find(" -namespace=dev '-var=image=a b' -hcl2-strict=false '" + quoted + "'\n")
        != std::string::npos);
  CHECK(out.find("s3cret") == std::string::npos);
}
