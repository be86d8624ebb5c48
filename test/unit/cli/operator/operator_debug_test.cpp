// operator debug: what is asked for, and what of it stands where.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

struct Debugged : test::FakeAgent {
  test::TempDir folder;
  std::string archive;  ///< Of the last `collect`.
  int collected = 0;

  Debugged() {
    answer("GET /v1/agent/self", "{}");
    answer("GET /v1/agent/members",
           R"({"ServerRegion":"global","Members":[)"
           R"({"Name":"a.global","Status":"alive","Tags":{"region":"global"}},)"
           R"({"Name":"b.global","Status":"left","Tags":{"region":"global"}}]})");
    answer(
        "GET /v1/nodes",
        R"([{"ID":"n1","Status":"ready"},{"ID":"n2","Status":"down"},{"ID":"n3","Status":"ready"}])");
    answer("GET /v1/agent/monitor", "a line\n");
    answer("GET /v1/agent/pprof/profile", "a profile");
    answer("GET /v1/agent/pprof/heap", "a heap");
  }

  int collect(std::vector<std::string> arguments = {}) {
    archive = folder.file(std::to_string(++collected));
    for (const auto& one : {"-duration=250ms", "-interval=250ms", "-output"})
      arguments.emplace_back(one);
    arguments.push_back(archive);
    return run(run_operator_debug, arguments);
  }

  /// A file of the archive; "none" of one that is not there.
  std::string file(const std::string& name) const {
    for (const auto& made : std::filesystem::directory_iterator{archive}) {
      std::ifstream from{made.path() / name, std::ios::binary};
      if (from) return {std::istreambuf_iterator<char>{from}, {}};
    }
    return "none";
  }

  bool has_asked(std::string_view request) const {
    for (const auto& one : asked)
      if (one.starts_with(request)) return true;
    return false;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Debugged, "operator debug: logs and a profile of each agent that is there") {
  REQUIRE(collect() == 0);
  for (const auto* agent : {"servers/a.global", "nodes/n1", "nodes/n3"}) {
    CAPTURE(std::string{agent});
    CHECK(file(std::string{agent} + ".log") == "a line\n");
    CHECK(file(std::string{agent} + "/profile_0000.prof") == "a profile");
    CHECK(file(std::string{agent} + "/heap_0000.prof") == "a heap");
    CHECK(file(std::string{agent} + "/profile_0001.prof") == "none");
  }
  CHECK(file("servers/b.global.log") == "none");
  CHECK(file("nodes/n2/profile_0000.prof") == "none");
  CHECK(file("cluster/eventstream.json") == "none");
  CHECK(has_asked("GET /v1/agent/pprof/profile?node_id=n1&seconds=1"));
}

TEST_CASE_FIXTURE(Debugged, "operator debug: one that gives no profile is asked once") {
  answer("GET /v1/agent/pprof/profile", "Permission denied", 403);
  REQUIRE(collect({"-pprof-interval=100us", "-node-id=n1", "-server-id=none"}) == 0);
  CHECK(file("nodes/n1/profile_0000.prof.error")
        == "Unexpected response code: 403 (Permission denied)\n");
  CHECK(file("nodes/n1/profile_0001.prof.error") == "none");
}

TEST_CASE_FIXTURE(Debugged, "operator debug: each agent gives a profile, however short it is") {
  archive = folder.file("short");
  REQUIRE(run(run_operator_debug, {"-duration=1us", "-interval=1us", "-output", archive}) == 0);
  CHECK(file("servers/a.global/profile_0000.prof") == "a profile");
  CHECK(file("nodes/n3/profile_0000.prof") == "a profile");
}

TEST_CASE_FIXTURE(Debugged, "operator debug: no agent's name leads out of the directory") {
  answer("GET /v1/agent/members",
         R"({"ServerRegion":"global","Members":[{"Name":"../../../out","Status":"alive",)"
         R"("Tags":{"region":"global"}}]})");
  answer("GET /v1/nodes", R"([{"ID":"../up","Status":"ready"}])");
  REQUIRE(collect() == 0);
  CHECK(file("servers/..%2F..%2F..%2Fout.log") == "a line\n");
  CHECK(file("servers/..%2F..%2F..%2Fout/profile_0000.prof") == "a profile");
  CHECK(file("nodes/..%2Fup.log") == "a line\n");
  CHECK(has_asked("GET /v1/agent/monitor?server_id=..%2F..%2F..%2Fout"));
  CHECK(!std::filesystem::exists(folder.file("out.log")));
}

TEST_CASE_FIXTURE(Debugged, "operator debug: nodes are as many as allowed, 0 for all") {
  REQUIRE(collect({"-max-nodes=1"}) == 0);
  CHECK(!has_asked("GET /v1/node/n2"));
  REQUIRE(collect({"-max-nodes=0"}) == 0);
  CHECK(has_asked("GET /v1/node/n3"));
}

TEST_CASE_FIXTURE(Debugged, "operator debug: events of all namespaces stand in a file of lines") {
  answer("GET /v1/event/stream",
         "{}\n"
         R"({"Index":4,"Events":[{"Topic":"Node","Key":"n1"},{"Topic":"Job","Key":"j"}]})"
         "\n{\"Ind");
  REQUIRE(collect({"-event-topic=Node,Job:j", "-event-index=4"}) == 0);
  CHECK(has_asked("GET /v1/event/stream?index=4&namespace=%2A&topic=Node%3A%2A&topic=Job%3Aj"));
  CHECK(file("cluster/eventstream.json")
        == R"({"Topic":"Node","Key":"n1"})"
           "\n"
           R"({"Topic":"Job","Key":"j"})"
           "\n");
}

TEST_CASE_FIXTURE(Debugged, "operator debug: what hinders the events stands beside them") {
  answer("GET /v1/event/stream", "Permission denied", 403);
  REQUIRE(collect({"-event-topic=all"}) == 0);
  CHECK(file("cluster/eventstream.json.error")
        == "Unexpected response code: 403 (Permission denied)\n");
  answer("GET /v1/event/stream", "half {\n");
  REQUIRE(collect({"-event-topic=all"}) == 0);
  CHECK(file("cluster/eventstream.json.error").starts_with("byte "));
}

TEST_CASE_FIXTURE(Debugged, "operator debug: what hinders all of it is said") {
  CHECK(run(run_operator_debug, {"-duration=1ms", "-interval=1ms", "-output=/dev/null"}) == 1);
  CHECK(err.starts_with("Error creating output: /dev/null/nomad-debug-"));
  answer("GET /v1/agent/self", "no", 500);
  CHECK(collect() == 1);
  CHECK(err == "Failed to retrieve agent information: Unexpected response code: 500 (no)");
  const auto refused = run_operator_debug({"-address=ftp://a"});
  CHECK(refused.error().what.starts_with("Error creating API client: Error initializing client: "));
}
