// job logs: lines behind whose they are, and what is no line.
#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

struct JobWithLogs : test::FakeAgent {
  explicit JobWithLogs(std::string frames) {
    answer("GET /v1/jobs", R"([{"ID":"web","Namespace":"default"}])");
    answer("GET /v1/job/web/logs", std::move(frames));
  }
};

const std::string of_alloc
    = R"("AllocID":"aaaaaaaa-0000-0000-0000-000000000001","AllocName":"web.api[0]","Task":"server")";

}  // namespace

TEST_CASE("job logs: each line stands behind whose it is, with its time if that is wanted") {
  JobWithLogs agent{"{" + of_alloc
                    + R"(,"Time":1700000000000000000,"TimeBy":"file","Line":"hello"})"
                    + "\n{}\n{\"Live\":true}\n{" + of_alloc + R"(,"Error":"node is gone"})" + "\n"};

  CHECK(agent.run(run_job_logs, {"web"}) == 0);
  CHECK(agent.out == "api[0] aaaaaaaa server | hello\n");
  CHECK(agent.err == "api[0] aaaaaaaa server: node is gone\n");

  CHECK(agent.run(run_job_logs, {"-t", "-n", "5", "-since", "1h", "-grep", "h", "web"}) == 0);
  CHECK(agent.out == "2023-11-14T22:13:20Z~ api[0] aaaaaaaa server | hello\n");

  CHECK(agent.run(run_job_logs, {"-json", "web"}) == 0);
  CHECK(agent.out.find(R"("Line":"hello"})") != std::string::npos);
}

TEST_CASE("job logs: what is wrong") {
  JobWithLogs agent{"nonsense\n"};
  CHECK(agent.run(run_job_logs, {"web"}) == 1);
  CHECK(agent.err.find("the stream holds no lines: ") != std::string::npos);
  CHECK(agent.run(run_job_logs, {"-both", "-stderr", "web"}) == 1);
  CHECK(agent.err.starts_with("-both shows -stderr, too: give one of them"));
  CHECK(agent.run(run_job_logs, {}) == 1);
  CHECK(agent.err.starts_with("This command takes one argument: <job>"));
}
