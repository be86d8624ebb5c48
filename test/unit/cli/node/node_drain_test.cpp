// node drain: what it asks of the agent, what it refuses, and what its monitor prints.
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <regex>

#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;
using nomad::test::Capture;

namespace {

const std::string node_id = "11111111-2222-3333-4444-555555555555";

/// Answers a path's reads with its texts one after the other, the last one for good, and keeps what
/// is written.
class DrainAgent {
public:
  DrainAgent() {
    net::HttpRouter router;
    router.handle_rest([this](net::Responder responder) {
      const std::lock_guard lock{guard_};
      const auto& request = responder.request();
      net::Response response;
      response.content_type = "application/json";
      response.headers.push_back({"X-Nomad-Index", std::to_string(++index_)});
      if (request.method == "PUT") {
        written_.emplace_back(request.body);
        response.body = R"({"Index":7})";
        return responder.send(std::move(response));
      }
      auto& answers = answers_[request.path];
      if (answers.empty()) return responder.send({.status = 404, .body = "node not found"});
      response.body = answers.front();
      if (answers.size() > 1) answers.pop_front();
      responder.send(std::move(response));
    });
    net::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    auto started = net::HttpServer::start(std::move(options), std::move(router));
    REQUIRE(started.has_value());
    server_.emplace(std::move(*started));
    answer("/v1/nodes", {R"([{"ID":")" + node_id + R"("}])"});
    answer("/v1/agent/self", {R"({"stats":{"client":{"node_id":")" + node_id + R"("}}})"});
    node({"null"});
  }

  void answer(const std::string& path, std::deque<std::string> texts) {
    const std::lock_guard lock{guard_};
    answers_[path] = std::move(texts);
  }

  /// The node as it is read, with these drain strategies one after the other.
  void node(const std::deque<std::string>& strategies, const std::string& more = "") {
    std::deque<std::string> texts;
    for (const auto& strategy : strategies)
      texts.push_back(R"({"ID":")" + node_id
                      + R"(","Status":"ready","LastDrain":{"Meta":{"a":"b"}},)" + more
                      + R"("DrainStrategy":)" + strategy + "}");
    answer("/v1/node/" + node_id, std::move(texts));
  }

  void allocs(std::deque<std::string> texts) {
    answer("/v1/node/" + node_id + "/allocations", std::move(texts));
  }

  /// The exit code, and what was printed.
  std::pair<int, std::string> run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-address", "http://" + server_->addresses()[0]});
    const Capture printed;
    const auto code = cli::run_node_drain(arguments);
    static const std::regex stamp{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))"};
    const auto text = printed.out() + printed.err() + (code ? "" : code.error().what);
    return {code ? *code : 1, std::regex_replace(text, stamp, "TIME")};
  }

  std::vector<std::string> written() {
    const std::lock_guard lock{guard_};
    return written_;
  }

private:
  std::mutex guard_;
  std::map<std::string, std::deque<std::string>, std::less<>> answers_;
  std::vector<std::string> written_;
  int index_ = 0;
  std::optional<net::HttpServer> server_;
};

}  // namespace

TEST_CASE("node drain: flags that contradict each other are refused") {
  DrainAgent agent;
  const auto said = [&](const std::vector<std::string>& arguments) {
    const auto [code, text] = agent.run(arguments);
    CHECK(code == 1);
    return text.substr(0, text.find('\n'));
  };
  CHECK(said({"x"})
        == "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'");
  CHECK(said({"-enable", "-disable", "x"})
        == "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'");
  CHECK(said({"-enable", "-monitor", "x"})
        == "The -monitor flag cannot be used with the '-enable' or '-disable' flags");
  CHECK(said({"-enable"}) == "Node ID must be specified if -self isn't being used");
  CHECK(said({"-enable", "-self", "x"}) == "Node ID must be specified if -self isn't being used");
  CHECK(said({"-disable", "-force", "x"})
        == "-disable can't be combined with flags configuring drain strategy");
  CHECK(said({"-enable", "-deadline", "1h", "-force", "x"})
        == "-deadline can't be combined with -force or -no-deadline");
  CHECK(said({"-enable", "-no-deadline", "-force", "x"})
        == "-force and -no-deadline are mutually exclusive");
  CHECK(said({"-enable", "-deadline", "-1h", "xx"}) == "A positive drain duration must be given");
  CHECK(said({"-enable", "-deadline", "soon", "xx"})
            .starts_with("Failed to parse deadline \"soon\""));
  CHECK(said({"-enable", "1"}) == "Identifier must contain at least two characters.");
  CHECK(agent.written().empty());
}

TEST_CASE("node drain: what is asked of the agent") {
  DrainAgent agent;
  const auto asked = [&](std::vector<std::string> arguments, const std::string& said) {
    arguments.insert(arguments.begin(), {"-yes", "-detach"});
    const auto [code, text] = agent.run(arguments);
    CHECK(code == 0);
    CHECK(text == "Node \"" + node_id + "\" drain strategy " + said + "\n");
    return agent.written().back();
  };
  const auto body = [](const std::string& spec, const char* eligible, const std::string& meta) {
    return R"({"NodeID":")" + node_id + R"(","DrainSpec":)" + spec + R"(,"MarkEligible":)"
           + eligible + R"(,"Meta":)" + meta + "}";
  };
  CHECK(asked({"-enable", "11"}, "set")
        == body(R"({"Deadline":3600000000000,"IgnoreSystemJobs":false})", "true", "{}"));
  CHECK(
      asked({"-enable", "-self", "-force", "-ignore-system", "-m", "why", "-meta", "k=v=w"}, "set")
      == body(R"({"Deadline":-1000000000,"IgnoreSystemJobs":true})", "true",
              R"({"message":"why","k":"v=w"})"));
  CHECK(asked({"-enable", "-no-deadline", node_id}, "set")
        == body(R"({"Deadline":0,"IgnoreSystemJobs":false})", "true", "{}"));
  CHECK(asked({"-enable", "-deadline", "90s", node_id}, "set")
        == body(R"({"Deadline":90000000000,"IgnoreSystemJobs":false})", "true", "{}"));
  CHECK(asked({"-disable", "-keep-ineligible", "-m", "enough", node_id}, "unset")
        == body("null", "false", R"({"a":"b","cancel_message":"enough"})"));
}

TEST_CASE("node drain: the monitor tells of the node and of its allocations") {
  DrainAgent agent;
  const auto alloc = [](const char* status, const char* desired, const char* migrate) {
    return std::string{R"([{"ID":"a1","Job":{"Type":"service"},"ClientStatus":")"} + status
           + R"(","DesiredStatus":")" + desired + R"(","DesiredTransition":{"Migrate":)" + migrate
           + "}}]";
  };
  agent.allocs({alloc("running", "run", "null"), alloc("running", "run", "true"),
                alloc("running", "stop", "true"), alloc("complete", "stop", "true")});
  const std::string drain = R"({"Deadline":60,"ForceDeadline":"2030-01-01T00:00:00.5Z"})";
  agent.node({drain, drain, drain, "null"});

  const auto [code, text] = agent.run({"-enable", node_id});

  CHECK(code == 0);
  CHECK(
      text.starts_with("TIME: Ctrl-C to stop monitoring: will not cancel the node drain\n"
                       "TIME: Node \""
                       + node_id + "\" drain strategy set\n"));
  const auto has = [&shown = text](const std::string& line) {
    CAPTURE(shown);
    CHECK(shown.find("TIME: " + line + "\n") != std::string::npos);
  };
  has("Alloc \"a1\" marked for migration");
  has("Alloc \"a1\" draining");
  has("Alloc \"a1\" status running -> complete");
  has("Drain complete for node " + node_id);
  has("All allocations on node \"" + node_id + "\" have stopped");
}

TEST_CASE("node drain: monitoring only, and what is waited for") {
  DrainAgent agent;
  CHECK(agent.run({"-monitor", node_id})
        == std::pair<int, std::string>{0, "No drain strategy set\n"});
  agent.allocs({"[]"});
  agent.node({"{}", "{}", "null"},
             R"("Events":[{"Message":"Node drain waits for capacity elsewhere",)"
             R"("Details":{"job_id":"web","task_group":"api"}}],)");
  const auto [code, text] = agent.run({"-monitor", node_id});
  CHECK(code == 0);
  CHECK(
      text.starts_with("TIME: Monitoring node \"" + node_id + "\": Ctrl-C to detach monitoring\n"));
  CHECK(text.find("waits: nothing has room for group \"api\" of job \"web\"\n")
        != std::string::npos);
  CHECK(agent.written().empty());
}

TEST_CASE("node drain: a node that can't be followed any more ends the monitor with its reason") {
  DrainAgent agent;
  agent.answer(
      "/v1/node/" + node_id,
      {R"({"ID":")" + node_id + R"(","Status":"ready","DrainStrategy":{"Deadline":0}})", "{"});
  agent.allocs({"[]"});
  const auto [code, text] = agent.run({"-monitor", "11"});
  CHECK(text.find("TIME: Error monitoring node: GET /v1/node/" + node_id
                  + ": the answer is no JSON: byte 1: incomplete JSON\n")
        != std::string::npos);
}
