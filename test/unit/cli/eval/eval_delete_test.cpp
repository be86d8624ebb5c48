// What eval delete asks the agent, its user, and for.
#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/unit/cli/capture.hpp"
#include "test/unit/cli/typed.hpp"

using namespace nomad;

namespace {

const std::string whole_id = "11111111-2222-3333-4444-555555555555";

/// An agent with one evaluation, and a user at the terminal.
struct EvalTerminal {
  std::string paused = "true";
  std::string deleted;  ///< The body of the deletion.
  std::string output;

  Result<int> run(std::vector<std::string> arguments, const std::string& typed = "") {
    net::HttpRouter router;
    router.handle_rest([this](net::Responder responder) {
      const auto& request = responder.request();
      net::Response response;
      response.content_type = "application/json";
      const std::string eval = R"({"ID":")" + whole_id + R"(","Namespace":"ops"})";
      if (request.method == "DELETE") {
        deleted = request.body;
        response.body = R"({"Count":3,"Index":7})";
      } else if (request.path == "/v1/operator/scheduler/configuration") {
        response.body = R"({"SchedulerConfig":{"PauseEvalBroker":)" + paused + "}}";
      } else if (request.path == "/v1/evaluations/count") {
        response.body = R"({"Count":3})";
      } else {
        response.body = request.path == "/v1/evaluations" ? "[" + eval + "]" : eval;
      }
      responder.send(std::move(response));
    });
    net::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    auto agent = net::HttpServer::start(std::move(options), std::move(router));
    REQUIRE(agent.has_value());
    arguments.insert(arguments.begin(), {"-address", "http://" + agent->addresses().front()});
    const test::Typed input{typed};
    const test::Capture printed;
    auto code = cli::run_eval_delete(arguments);
    output = printed.out();
    return code;
  }
};

}  // namespace

TEST_CASE_FIXTURE(EvalTerminal, "eval delete: says how to pause the broker that works") {
  paused = "false";
  CHECK(run({whole_id}).error().what == "Eval broker is not paused");
  CHECK(output.find("set-config -pause-eval-broker=true") != std::string::npos);
  CHECK(deleted.empty());
}

TEST_CASE_FIXTURE(EvalTerminal, "eval delete: one by its whole id, without asking") {
  CHECK(run({whole_id}).value() == 0);
  CHECK(deleted == R"({"EvalIDs":[")" + whole_id + R"("]})");
  CHECK(output == "Successfully deleted 1 evaluation\n");
}

TEST_CASE_FIXTURE(EvalTerminal,
                  "eval delete: one by the beginning of its id, once that is agreed to") {
  CHECK(run({"1111"}, "n\n").value() == 0);
  CHECK(deleted.empty());
  CHECK(output.find("delete evaluation " + whole_id + "? [y/N]") != std::string::npos);
  CHECK(run({"1111"}, "y\n").value() == 0);
  CHECK_FALSE(deleted.empty());
}

TEST_CASE_FIXTURE(EvalTerminal, "eval delete: by a filter, after the number was shown") {
  CHECK(run({"-filter", "Status == \"pending\""}, "y\n").value() == 0);
  CHECK(deleted == R"({"Filter":"Status == \"pending\""})");
  CHECK(output
        == "Are you sure you want to delete 3 evals? [y/N] Successfully deleted 3 evaluations\n");
}

TEST_CASE_FIXTURE(EvalTerminal, "eval delete: only an exact y is a yes") {
  CHECK(run({"-filter", "x == 1"}, "yes\n").value() == 0);
  CHECK(run({"-filter", "x == 1"}, "maybe\n").value() == 1);
  CHECK(run({"-filter", "x == 1"}, "").value() == 0);
  CHECK(deleted.empty());
  CHECK(run({"-filter", "x == 1", "-yes"}).value() == 0);
  CHECK_FALSE(deleted.empty());
}

TEST_CASE_FIXTURE(EvalTerminal, "eval delete: wants an id or a filter, and one of them") {
  CHECK(run({}).has_error());
  CHECK(run({whole_id, "-filter", "x == 1"}).has_error());
  CHECK(run({whole_id, whole_id}).error().what
        == "Error validating command args and flags: expected 1 argument, got 2");
}
