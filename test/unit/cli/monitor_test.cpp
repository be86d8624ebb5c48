// What commands print of an agent's answers, and the exit codes that follow. The agent is an HTTP
// server with answers from a script.
#include "cli/monitor.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <regex>

#include <doctest/doctest.h>

#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;
using namespace nomad::cli;
using nomad::test::Capture;

namespace {

/// Answers a path's requests with its texts one after the other; the last one for good.
class Agent {
public:
  Agent() {
    net::HttpRouter router;
    router.handle_rest([this](net::Responder responder) {
      const auto path = responder.request().path;
      const std::lock_guard lock{guard_};
      const auto found = answers_.find(path);
      if (found == answers_.end()) {
        responder.send({.status = 404, .body = "not found"});
        return;
      }
      const auto index = std::to_string(++index_);
      net::Response response;
      response.content_type = "application/json";
      response.headers.push_back({"X-Nomad-Index", index});
      response.body = found->second.front();
      if (found->second.size() > 1) found->second.pop_front();
      responder.send(std::move(response));
    });
    net::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    auto started = net::HttpServer::start(std::move(options), std::move(router));
    REQUIRE(started.has_value());
    server_.emplace(std::move(*started));
  }

  void answer(const std::string& path, std::deque<std::string> texts) {
    const std::lock_guard lock{guard_};
    answers_[path] = std::move(texts);
  }

  Api api() {
    CommonFlags flags;
    flags.address = "http://" + server_->addresses()[0];
    auto made = Api::make(flags);
    REQUIRE(made.has_value());
    return std::move(*made);
  }

private:
  std::mutex guard_;
  std::map<std::string, std::deque<std::string>, std::less<>> answers_;
  int index_ = 0;
  std::optional<net::HttpServer> server_;
};

std::string without_times(const std::string& text) {
  static const std::regex stamp{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))"};
  return std::regex_replace(text, stamp, "TIME");
}

}  // namespace

TEST_CASE("monitor: an evaluation that places everything ends with 0") {
  Agent agent;
  agent.answer("/v1/evaluation/e0000000-1",
               {R"({"ID":"e0000000-1","Status":"pending","JobID":"web"})",
                R"({"ID":"e0000000-1","Status":"complete","JobID":"web"})"});
  const std::string alloc = R"([{"ID":"a0000000-1","NodeID":"n0000000-1","TaskGroup":"app",
      "CreateIndex":5,"ModifyIndex":5,"ClientStatus":)";
  agent.answer(
      "/v1/evaluation/e0000000-1/allocations",
      {alloc + R"("pending"}])", alloc + R"("running","ClientDescription":"Tasks are running"}])"});
  auto api = agent.api();
  const Capture capture;

  CHECK(monitor_evaluation(api, "e0000000-1", {}) == 0);

  CHECK(without_times(capture.out())
        == "==> TIME: Monitoring evaluation \"e0000000\"\n"
           "    TIME: Evaluation triggered by job \"web\"\n"
           "    TIME: Allocation \"a0000000\" created: node \"n0000000\", group \"app\"\n"
           "    TIME: Allocation \"a0000000\" status changed: \"pending\" -> \"running\" (Tasks are "
           "running)\n"
           "    TIME: Evaluation status changed: \"pending\" -> \"complete\"\n"
           "==> TIME: Evaluation \"e0000000\" finished with status \"complete\"\n");
}

TEST_CASE("monitor: failed placements are listed and end with 2") {
  Agent agent;
  agent.answer("/v1/evaluation/e1", {R"({"ID":"e1","Status":"complete","JobID":"web",
      "BlockedEval":"b1","FailedTGAllocs":{"app":{"NodesEvaluated":1,"NodesExhausted":1,
      "DimensionExhausted":{"cpu":1}}}})"});
  agent.answer("/v1/evaluation/e1/allocations", {"[]"});
  agent.answer("/v1/job/web/explain", {R"({"Summary":"Group \"app\": none of 1 node fits",
      "Groups":[{"Queued":1}]})"});
  auto api = agent.api();
  const Capture capture;

  CHECK(monitor_evaluation(api, "e1", {}) == 2);

  const auto text = without_times(capture.out());
  CHECK(text.find("finished with status \"complete\" but failed to place all allocations:\n")
        != text.npos);
  CHECK(text.find("Task Group \"app\" (failed to place 1 allocation):\n") != text.npos);
  CHECK(text.find("* Dimension \"cpu\" exhausted on 1 nodes\n") != text.npos);
  CHECK(text.find("Evaluation \"b1\" waiting for additional capacity to place remainder\n"
                  "    TIME: Group \"app\": none of 1 node fits\n"
                  "    TIME: Node by node, and what would help: nomadctl job explain web\n")
        != text.npos);
}

TEST_CASE("monitor: a deployment is followed to its end, and its failure ends with 1") {
  for (const auto& [end, code] : {std::pair{"successful", 0}, {"failed", 1}, {"cancelled", 1}}) {
    Agent agent;
    agent.answer("/v1/evaluation/e1",
                 {R"({"ID":"e1","Status":"complete","JobID":"web","DeploymentID":"d1"})"});
    agent.answer("/v1/evaluation/e1/allocations", {"[]"});
    const auto status = [](const std::string& name) {
      return R"({"ID":"d1","JobID":"web","TaskGroups":{"app":{"DesiredTotal":1}},"Status":")" + name
             + "\"}";
    };
    agent.answer("/v1/deployment/d1", {status("running"), status("running"), status(end)});
    auto api = agent.api();
    const Capture capture;

    CHECK(monitor_evaluation(api, "e1", {}) == code);

    const auto text = without_times(capture.out());
    CHECK(text.find("    TIME: Evaluation within deployment: \"d1\"\n") != text.npos);
    CHECK(text.find("==> TIME: Monitoring deployment \"d1\"\n") != text.npos);
    const auto first = text.find("Status      = running");
    CHECK(first != text.npos);
    CHECK(text.find("Status      = running", first + 1) == text.npos);  // shown once: no change
    CHECK(text.find(std::string{"Status      = "} + end) != text.npos);
  }
}

TEST_CASE("monitor: an evaluation that is gone ends with 1") {
  Agent agent;
  auto api = agent.api();
  const Capture capture;

  CHECK(monitor_evaluation(api, "e1", {}) == 1);
  CHECK(capture.err() == "Error reading evaluation: Unexpected response code: 404 (not found)\n");
}

TEST_CASE("lookup: none, several, and a prefix that is too short") {
  Agent agent;
  agent.answer("/v1/allocations",
               {R"([{"ID":"aa000000-1"},{"ID":"aa000000-2"},{"ID":"ab000000-1"}])"});
  agent.answer("/v1/allocation/ab000000-1", {R"({"ID":"ab000000-1","Namespace":"default"})"});
  auto api = agent.api();
  const auto complaint = [&api](const std::string& prefix) {
    return find_by_prefix(api, alloc_kind, prefix, false).error().what;
  };

  CHECK(complaint("a") == "Alloc ID must contain at least two characters.");
  CHECK(complaint("cc") == "No allocation(s) with prefix or id \"cc\" found");
  CHECK(complaint("aa").starts_with("Prefix matched multiple allocations\n\nID        Node ID"));
  const auto found = find_by_prefix(api, alloc_kind, "ab0", false);
  REQUIRE(found);
  CHECK(found->view()["ID"].text() == "ab000000-1");
}

TEST_CASE("lookup: a job's whole id wins over longer ones, and kinds are told apart") {
  Agent agent;
  agent.answer("/v1/jobs", {R"([{"ID":"web","Type":"service"},
      {"ID":"web-cron","Type":"batch","Periodic":true},
      {"ID":"web-cron/periodic-1","Type":"batch","Periodic":true,"ParentID":"web-cron"}])"});
  auto api = agent.api();

  CHECK(*find_job(api, "web") == "web");
  CHECK(*find_job(api, "w", only_periodic_jobs) == "web-cron");
  CHECK(find_job(api, "we").error().what.starts_with("Prefix \"we\" matched multiple jobs\n\n"));
  CHECK(find_job(api, "web", only_parameterized_jobs).error().what
        == "No parameterized job(s) with prefix or ID \"web\" found");
}
