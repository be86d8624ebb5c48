// alloc status: what it shows of a task's resources and volumes.
#include <doctest/doctest.h>

#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

constexpr auto id = "aaaaaaaa-0000-0000-0000-000000000001";

/// An allocation that has ended, with one task of 64 MB at `most`, with the mounts `mounts` and
/// networks of its own.
std::string alloc_with(const std::string& most,
                       const std::string& mounts,
                       const std::string& networks = "") {
  return std::string{R"({"ID":")"} + id
         + R"(","TaskGroup":"g","ClientStatus":"complete","TaskStates":{"web":{"State":"dead"}},)"
           R"("AllocatedResources":{"Shared":{"DiskMB":300},"Tasks":{"web":{"Cpu":{"CpuShares":50},)"
           R"("Memory":{"MemoryMB":64,"MemoryMaxMB":)"
         + most + R"(},"Networks":[)" + networks
         + R"(]}}},"Job":{"TaskGroups":[{"Name":"g","Volumes":{"data":{"Name":"data","Type":"host",)"
           R"("Source":"disk"}},"Tasks":[{"Name":"web","VolumeMounts":[)"
         + mounts + R"(]}]}]}})";
}

std::string shown(const std::string& alloc, const std::vector<std::string>& words = {id}) {
  test::FakeAgent agent;
  agent.answer("GET /v1/allocations", std::string{R"([{"ID":")"} + id + R"("}])");
  agent.answer(std::string{"GET /v1/allocation/"} + id, alloc);
  CHECK_MESSAGE(agent.run(run_alloc_status, words) == 0, agent.err);
  return agent.out;
}

}  // namespace

TEST_CASE("alloc status: a task says by whose will it runs, or does not") {
  const auto head_with = [](const std::string& paused) {
    auto alloc = alloc_with("0", "");
    const std::string state = R"("State":"dead")";
    alloc.replace(alloc.find(state), state.size(),
                  R"("State":"pending","Paused":")" + paused + '"');
    const auto out = shown(alloc);
    const auto at = out.find("Task \"web\"");
    return out.substr(at, out.find('\n', at) - at);
  };
  CHECK(head_with("") == "Task \"web\" is \"pending\"");
  CHECK(head_with("scheduled_pause") == "Task \"web\" is \"pending\", paused by its schedule");
  CHECK(head_with("force_pause") == "Task \"web\" is \"pending\", paused by order");
  CHECK(head_with("force_run") == "Task \"web\" is \"pending\", its schedule is overridden");
}

TEST_CASE("alloc status: the most memory is in the column of memory") {
  CHECK(shown(alloc_with("128", ""))
            .find("CPU     Memory        Disk     Addresses\n"
                  "50 MHz  64 MiB        300 MiB   \n"
                  "        Max: 128 MiB")
        != std::string::npos);
  CHECK(shown(alloc_with("64", "")).find("Max:") == std::string::npos);
  CHECK(shown(alloc_with("0", "")).find("Max:") == std::string::npos);
}

TEST_CASE("alloc status: addresses of a task's own network") {
  const auto network = R"({"IP":"10.0.0.7","DynamicPorts":[{"Label":"http","Value":21121}],)"
                       R"("ReservedPorts":[{"Label":"db","Value":5432}]})";
  CHECK(shown(alloc_with("0", "", network))
            .find("50 MHz  64 MiB  300 MiB  http: 10.0.0.7:21121\n"
                  "                         db: 10.0.0.7:5432")
        != std::string::npos);
  CHECK(
      shown(alloc_with("128", "", network)).find("        Max: 128 MiB           db: 10.0.0.7:5432")
      != std::string::npos);
}

TEST_CASE("alloc status: volumes of the host that a task has") {
  const auto out = shown(alloc_with("0", R"({"Volume":"data","ReadOnly":true})"));
  CHECK(out.find("\n\nHost Volumes:\nID    Read Only\ndata  true\n\nTask Events:")
        != std::string::npos);
  CHECK(shown(alloc_with("0", "")).find("Host Volumes") == std::string::npos);
}

TEST_CASE("alloc status: with -verbose the identities of a task, and nothing of a token") {
  auto alloc = alloc_with("0", "");
  const std::string of_task = R"({"Name":"web",)";
  alloc.insert(alloc.find(of_task) + of_task.size(),
               R"("Identity":{"Env":true},"Identities":[{"Name":"db","Audience":["a","b"],)"
               R"("TTL":3600000000000}],)");
  CHECK(shown(alloc).find("Identities:") == std::string::npos);
  CHECK(shown(alloc, {"-verbose", id})
            .find("\n\nIdentities:\n"
                  "Name     Audience         Expires\n"
                  "default  nomadproject.io  with the allocation\n"
                  "db       a, b             after 1h0m0s, renewed before\n\n")
        != std::string::npos);
}

TEST_CASE("alloc status: when identities end, as their node says, also those of services") {
  auto alloc = alloc_with("0", "");
  const std::string of_task = R"({"Name":"web",)";
  alloc.insert(alloc.find(of_task) + of_task.size(),
               R"("Identities":[{"Name":"db","Audience":["a"],"TTL":3600000000000},)"
               R"({"Name":"new","Audience":["b"],"TTL":3600000000000}],)"
               R"("Services":[{"Name":"front","Identity":{"Name":"db","Audience":["c"]}}],)");
  const std::string of_group = R"({"Name":"g",)";
  alloc.insert(alloc.find(of_group) + of_group.size(),
               R"("Services":[{"Name":"edge","Identity":{"Name":"db","Audience":["d"],)"
               R"("TTL":60000000000}}],)");
  const std::string ended = R"("ClientStatus":"complete")";
  alloc.replace(alloc.find(ended), ended.size(), R"("ClientStatus":"running")");
  test::FakeAgent agent;
  agent.answer("GET /v1/allocations", std::string{R"([{"ID":")"} + id + R"("}])");
  agent.answer(std::string{"GET /v1/allocation/"} + id, alloc);
  agent.answer(std::string{"GET /v1/client/allocation/"} + id + "/stats", "{}");
  agent.answer(std::string{"GET /v1/client/allocation/"} + id + "/identities",
               R"([{"Task":"web","Service":"","Name":"db","ExpiresAt":1700000000000000000},)"
               R"({"Task":"","Service":"edge","Name":"db","ExpiresAt":1800000000000000000}])");

  CHECK_MESSAGE(agent.run(run_alloc_status, {"-verbose", id}) == 0, agent.err);

  const auto of_db = clock_time(1700000000000000000) + ", renewed before\n";
  const auto of_edge = clock_time(1800000000000000000) + ", renewed before\n";
  CHECK(agent.out.find("db of service edge  d         " + of_edge) != std::string::npos);
  CHECK(agent.out.find("db                   a         " + of_db) != std::string::npos);
  CHECK(agent.out.find("new                  b         after 1h0m0s, renewed before\n")
        != std::string::npos);
  CHECK(agent.out.find("db of service front  c         with the allocation\n")
        != std::string::npos);
}

TEST_CASE("alloc status: what to reserve instead stands below a task's resources") {
  auto alloc = alloc_with("0", "");
  const std::string ended = R"("ClientStatus":"complete")";
  alloc.replace(alloc.find(ended), ended.size(), R"("ClientStatus":"running")");
  test::FakeAgent agent;
  agent.answer("GET /v1/allocations", std::string{R"([{"ID":")"} + id + R"("}])");
  agent.answer(std::string{"GET /v1/allocation/"} + id, alloc);
  agent.answer(std::string{"GET /v1/client/allocation/"} + id + "/stats", "{}");
  agent.answer(
      "GET /v1/client/metrics/history",
      R"([{"Task":"other","Advice":[{"Text":"of another"}]},)"
      R"({"Task":"web","Advice":[{"Text":"memory 300 MiB reserved: reserve about 50"}]}])");

  CHECK_MESSAGE(agent.run(run_alloc_status, {id}) == 0, agent.err);

  const auto resources = agent.out.find("Task Resources:");
  const auto advice = agent.out.find("\nAdvice: memory 300 MiB reserved: reserve about 50\n");
  CHECK(resources != std::string::npos);
  CHECK(advice != std::string::npos);
  CHECK(resources < advice);
  CHECK(agent.out.find("of another") == std::string::npos);
}
