#include <doctest/doctest.h>
#include <fmt/format.h>

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;

TEST_CASE("job restart: a batch of all allocations restarts each of them once") {
  constexpr int count = 100;
  test::FakeAgent agent;
  agent.answer("GET /v1/jobs", R"([{"ID":"web","Namespace":"default"}])");
  agent.answer("GET /v1/job/web", R"({"ID":"web","Type":"service"})");
  agent.answer(
      "GET /v1/job/web/versions",
      R"({"Versions":[{"Version":0,"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}]})");
  agent.answer("GET /v1/job/web/deployments", "[]");
  std::string allocs;
  for (int i = 0; i < count; ++i) {
    allocs += fmt::format(
        R"({}{{"ID":"{:08}-0000-0000-0000-000000000000","JobID":"web","TaskGroup":"g",)"
        R"("JobVersion":0,"ClientStatus":"running","DesiredStatus":"run"}})",
        i == 0 ? "" : ",", i);
    if (i % 10 != 0)
      agent.answer(
          fmt::format("PUT /v1/client/allocation/{:08}-0000-0000-0000-000000000000/restart", i),
          "{}");
  }
  agent.answer("GET /v1/job/web/allocations", "[" + allocs + "]");

  CHECK(agent.run(cli::run_job_restart, {"-batch-size=100%", "-yes", "web"}) == 1);

  int restarts = 0;
  for (const auto& one : agent.asked)
    if (one.starts_with("PUT ")) ++restarts;
  CHECK(restarts == count);
  // Each that is refused is told, in the order of the allocations.
  CHECK(agent.err.find("10 errors occurred while restarting job:\n"
                       "* Error restarting allocation \"00000000\": ")
        != std::string::npos);
}
