#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;

namespace {

constexpr auto plugins
    = R"([{"Name":"stamp","Version":"1.0.0","SDK":"C++ 1","Path":"/p/stamp.so","Isolated":true,)"
      R"("Status":"running","StatusDescription":"","StatusSince":1,"PID":7,"Restarts":2,)"
      R"("MessagesIn":3,"MessagesOut":4,"LogLinesDropped":0,"EventsDropped":0,"Delays":0,)"
      R"("Provides":{"TaskHooks":["stamp"],"AllocHooks":[],"Drivers":[],"Fingerprinters":[],)"
      R"("Actors":["a","b"],"Config":["file"]}}])";

Result<net::HttpServer> serve(std::string body) {
  net::HttpRouter router;
  router.handle("/v1/agent/plugins", [body](net::Responder responder) {
    net::Response response;
    response.content_type = "application/json";
    response.body = body;
    responder.send(std::move(response));
  });
  router.handle("/v1/plugins", [](net::Responder responder) {
    net::Response response;
    response.content_type = "application/json";
    response.body = "[]";
    responder.send(std::move(response));
  });
  net::ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  return net::HttpServer::start(std::move(options), std::move(router));
}

}  // namespace

TEST_CASE("plugin list: a row for each plugin, with what it brings") {
  auto agent = serve(plugins);
  REQUIRE(agent.has_value());
  const test::Capture printed;
  CHECK(cli::run_plugin_list({"-address", "http://" + agent->addresses().front()}).value() == 0);
  CHECK(printed.out()
        == "Name   Version  Status   Restarts  Provides\n"
           "stamp  1.0.0    running  2         Task Hooks: stamp; Actors: a,b\n");
}

TEST_CASE("plugin status: one plugin, and who is asked for one that is not there") {
  auto agent = serve(plugins);
  REQUIRE(agent.has_value());
  const auto address = "http://" + agent->addresses().front();
  {
    const test::Capture printed;
    CHECK(cli::run_plugin_status({"-address", address, "stamp"}).value() == 0);
    CHECK(printed.out().find("Mode              = isolated\n") != std::string::npos);
    CHECK(printed.out().find("PID               = 7\n") != std::string::npos);
  }
  const test::Capture printed;
  CHECK(cli::run_plugin_status({"-address", address, "other"}).error().code == Errc::not_found);
  CHECK(cli::run_plugin_status({"-address", address, "-type", "csi"}).value() == 0);
  CHECK(printed.out().find("No CSI plugins") != std::string::npos);
}

TEST_CASE("plugin list: an agent without plugins says where they would be") {
  auto agent = serve("[]");
  REQUIRE(agent.has_value());
  const test::Capture printed;
  CHECK(cli::run_plugin_list({"-address", "http://" + agent->addresses().front()}).value() == 0);
  CHECK(printed.out().find("plugin_dir") != std::string::npos);
}
