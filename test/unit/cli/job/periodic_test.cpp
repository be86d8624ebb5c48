// When a periodic job is due next, and the command that a plan ends with: both are made here, for
// the API says neither.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/api.hpp"
#include "cli/output/describe.hpp"
#include "cli/programs.hpp"
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

/// A job that a clock and people could launch, and what was made of it.
struct Parent : test::FakeAgent {
  std::string shown(const std::string& rest) {
    answer("GET /v1/jobs", R"([{"ID":"cron","Namespace":"default"}])");
    answer("GET /v1/job/cron", periodic_job(rest));
    answer("GET /v1/job/cron/summary", R"({"Summary":{"g":{"Running":1}}})");
    for (const char* list : {"evaluations", "allocations"})
      answer(std::string{"GET /v1/job/cron/"} + list, "[]");
    answer("GET /v1/job/cron/deployment", "null");
    CHECK(run(run_job_status, {"cron"}) == 0);
    return out;
  }
};

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

TEST_CASE_FIXTURE(Planned, "a launch that never comes is shown as Nomad shows it") {
  for (const char* crons : {R"(["0 4 31 2 *"])", R"(["0 12 1 1 * 2020","0 4 30 2 *"])"}) {
    CAPTURE(crons);
    const auto job = std::string{R"({"ID":"cron","Name":"cron","Namespace":"default",)"
                                 R"("Type":"batch","Periodic":{"Enabled":true,"SpecType":"cron",)"
                                 R"("TimeZone":"UTC","Specs":)"}
                     + crons + "}}";
    answer("GET /v1/jobs", R"([{"ID":"cron","Namespace":"default"}])");
    answer("GET /v1/job/cron", job);
    CHECK(run(run_job_status, {"-short", "cron"}) == 0);
    CHECK(out.find("\nNext Periodic Launch = (-2562047h47m16.854775808s from now)\n") != out.npos);

    std::ofstream{file} << job;
    answer("PUT /v1/jobs", R"({"JobModifyIndex":7,"EvalID":"","Warnings":""})");
    CHECK(run(run_job_run, {"-json", file.string()}) == 0);
    CHECK(out
          == "Job registration successful\n"
             "Approximate next launch time:  (-2562047h47m16.854775808s from now)\n");
    answer("PUT /v1/job/cron/plan", R"({"JobModifyIndex":17,"FailedTGAllocs":null})");
    CHECK(run(run_job_plan, {"-json", file.string()}) == 0);
    CHECK(out.find("next periodic launch") == out.npos);
  }
}

TEST_CASE_FIXTURE(Planned, "job plan: what is supposed goes with it, and not into the command") {
  answer("GET /v1/nodes", R"([{"ID":"11111111-aaaa","Name":"big"}])");
  answer("PUT /v1/job/web/plan", R"({"JobModifyIndex":17,"FailedTGAllocs":null,"Placements":{"g":[)"
                                 R"({"NodeID":"2222","NodeName":"big-like-1","Count":3}]}})");
  CHECK(run(run_job_plan,
            {"-var", "image=a", "-with", "remove 1111", "-with", "add 3 like big", file.string()})
        == 0);
  CHECK(written().find(R"("With":[{"Remove":"11111111-aaaa"},{"Add":3,"Like":"11111111-aaaa"}])")
        != std::string::npos);
  CHECK(out.find("big-like-1") != std::string::npos);
  CHECK(out.find("-with") == std::string::npos);
  CHECK(run(run_job_plan, {"-var", "image=a", "-with", "drain nobody", file.string()}) == 255);
  CHECK(err
        == "Error reading -with: No node has the name \"nobody\", or an id that begins so; see node "
           "status\n");
}

TEST_CASE_FIXTURE(Parent, "job status: a job with parameters is launched by no clock") {
  CHECK(shown("").find("Previously Launched Jobs") != std::string::npos);
  CHECK(shown(R"(,"ParameterizedJob":{"Payload":"optional"})").find("Dispatched Jobs")
        != std::string::npos);
  const auto child = shown(R"(,"ParameterizedJob":{"Payload":"optional"},"Dispatched":true)");
  CHECK(child.find("No allocations placed") != std::string::npos);
  CHECK(child.find("Launched Jobs") == std::string::npos);
}

TEST_CASE_FIXTURE(Parent, "job status: launches that can't be listed are said to be what failed") {
  shown("");
  answer("GET /v1/jobs", R"([{"ID":"cron","Namespace":"default"}])");
  then("GET /v1/jobs", "no leader", 500);
  CHECK(run(run_job_status, {"cron"}) == 1);
  CHECK(err == "Error querying child jobs: Unexpected response code: 500 (no leader)");
}

TEST_CASE_FIXTURE(Planned, "job plan: the next launch by the clock is shown, in the job's zone") {
  const auto plan = [this](const std::string& rest) {
    std::ofstream{file} << periodic_job(rest);
    answer("PUT /v1/job/cron/plan", R"({"JobModifyIndex":17,"FailedTGAllocs":null})");
    CHECK(run(run_job_plan, {"-json", file.string()}) == 0);
    return out.find("next periodic launch would be at ");
  };
  const auto line = plan("");
  REQUIRE(line != std::string::npos);
  CHECK(out.find("-01-01T00:00:00+09:00 (", line) != std::string::npos);
  CHECK(plan(R"(,"ParameterizedJob":{"Payload":"optional"})") == std::string::npos);
}

TEST_CASE_FIXTURE(Planned, "job plan: the nodes of new allocations are shown with -verbose") {
  answer("PUT /v1/job/web/plan",
         R"({"JobModifyIndex":17,"Annotations":null,"FailedTGAllocs":null,"Placements":{)"
         R"("g":[{"NodeID":"n1","NodeName":"alpha","Count":3}]}})");
  CHECK(run(run_job_plan, {"-var=image=a", file.string()}) == 0);
  CHECK(out.find("alpha") == std::string::npos);
  CHECK(run(run_job_plan, {"-verbose", "-var=image=a", file.string()}) == 0);
  CHECK(out.find("Placements:\nTask Group  Node ID  Node Name  Allocations\n"
                 "g           n1       alpha      3\n")
        != std::string::npos);
}

TEST_CASE_FIXTURE(Planned, "job validate: asks in the namespace that the file names") {
  std::ofstream{file} << R"({"ID":"web","Namespace":"dev","Region":"eu"})";
  answer("PUT /v1/validate/job", "{}");
  CHECK(run(run_job_validate, {"-json", file.string()}) == 0);
  CHECK(written().starts_with("PUT /v1/validate/job?region=eu&namespace=dev "));
}

TEST_CASE_FIXTURE(Planned, "job plan: a path that looks like a flag stands behind two dashes") {
  std::filesystem::rename(file, folder / "-x.hcl");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  CHECK(run(run_job_plan, {"-var=image=a", "--", "-x.hcl"}) == 0);
  std::filesystem::current_path(before);
  CHECK(out.find(" -var=image=a -- -x.hcl\n") != std::string::npos);
}

TEST_CASE("segment: names that a path would lose are encoded") {
  CHECK(segment(".") == "%2E");
  CHECK(segment("..") == "%2E%2E");
  CHECK(segment("a/..b") == "a%2F..b");
}

TEST_CASE_FIXTURE(Planned,
                  "job plan: the command that it ends with takes all that the plan was given") {
  CHECK(run(run_job_plan, {"-diff=false", "-token", "s3cret", "-namespace=dev", "-var", "image=a b",
                           "-hcl2-strict=false", file.string()})
        == 0);
  const std::string quoted = folder.string() + "/it'\\''s.hcl";
  CHECK(out.find("\nnomadctl job run -check-index 17 -address=http://127.0.0.1:")
        != std::string::npos);
  CHECK(out.find(" -namespace=dev '-var=image=a b' -hcl2-strict=false '" + quoted + "'\n")
        != std::string::npos);
  CHECK(out.find("s3cret") == std::string::npos);
}

TEST_CASE_FIXTURE(Planned, "commands that are shown name the program as it was called") {
  const auto shown = [this] {
    CHECK(run(run_job_plan, {"-var=image=a", file.string()}) == 0);
    const std::string plan = out;
    CHECK(run(run_job_run, {"-help"}) == 0);
    return plan + out + as_called("`nomadctl job run`, nomadctl-executor");
  };
  const auto names = [](const std::string& text, const std::string& name) {
    return text.find("\n" + name + " job run -check-index 17 ") != std::string::npos
           && text.find("Usage: " + name + " job run ") != std::string::npos
           && text.ends_with("`" + name + " job run`, nomadctl-executor");
  };
  CHECK(names(shown(), "nomadctl"));
  note_program_name("/usr/local/bin/nomad");
  CHECK(names(shown(), "nomad"));
  note_program_name("./nomadctl");
  CHECK(names(shown(), "nomadctl"));
  note_program_name("/tmp/nomad/cluster-tool");
  CHECK(names(shown(), "nomadctl"));
}
