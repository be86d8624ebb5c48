// volume …, plugin status -type csi: what they ask and print.
#include <fstream>

#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;

namespace {

constexpr auto csi_volumes
    = R"([{"ID":"data","Name":"disk","Namespace":"default","PluginID":"p","Schedulable":true,)"
      R"("AccessMode":""},{"ID":"dat2","Name":"","Namespace":"default","PluginID":"p",)"
      R"("Schedulable":false,"AccessMode":"single-node-writer"}])";
constexpr auto csi_plugins
    = R"([{"ID":"p","Provider":"disks","ControllersHealthy":1,"ControllersExpected":1,)"
      R"("NodesHealthy":2,"NodesExpected":3},{"ID":"p2","Provider":"disks","ControllersHealthy":0,)"
      R"("ControllersExpected":0,"NodesHealthy":0,"NodesExpected":0}])";

/// An agent that answers by path, and refuses what it does not know.
struct Agent {
  test::TempDir dir;
  net::HttpServer server;

  static net::HttpServer start() {
    net::HttpRouter router;
    router.handle_rest([](net::Responder responder) {
      const std::string path{responder.request().path};
      net::Response response;
      response.content_type = "application/json";
      const auto prefix = responder.request().parameter_or_empty("prefix");
      if (path == "/v1/volumes")
        response.body = prefix == "none" ? "[]" : csi_volumes;
      else if (path == "/v1/plugins")
        response.body = prefix == "none" ? "[]" : csi_plugins;
      else if (path == "/v1/volume/csi/data")
        response.body = R"({"ID":"data","Namespace":"default","Allocations":[],"Topologies":[]})";
      else if (path == "/v1/plugin/csi/p")
        response.body = R"({"ID":"p","Provider":"disks","Allocations":[]})";
      else
        response.status = 404;
      responder.send(std::move(response));
    });
    net::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    return *net::HttpServer::start(std::move(options), std::move(router));
  }

  Agent() : server{start()} {}

  std::vector<std::string> with(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-address", "http://" + server.addresses().front()});
    return words;
  }

  std::string file(const std::string& text) const {
    const auto path = dir.path() + "/volume.hcl";
    std::ofstream{path} << text;
    return path;
  }
};

/// What a command says went wrong.
std::string problem(const Result<int>& done) {
  return done ? "" : done.error().what;
}

}  // namespace

TEST_CASE("volume status: lists, and one with who uses it") {
  const Agent agent;
  {
    const test::Capture printed;
    CHECK(cli::run_volume_status(agent.with({})).value() == 0);
    CHECK(printed.out()
          == "Container Storage Interface\n"
             "ID    Name    Namespace  Plugin ID  Schedulable  Access Mode\n"
             "data  disk    default    p          true         <none>\n"
             "dat2  <none>  default    p          false        single-node-writer\n");
  }
  const test::Capture printed;
  CHECK(cli::run_volume_status(agent.with({"data"})).value() == 0);
  CHECK(printed.out().find("No allocations placed") != std::string::npos);
  CHECK(problem(cli::run_volume_status(agent.with({"none"})))
        == "No volumes(s) with prefix or ID \"none\" found");
  CHECK(problem(cli::run_volume_status(agent.with({"dat"})))
            .starts_with("Prefix matched multiple volumes"));
  CHECK(problem(cli::run_volume_status(agent.with({"dat2"}))).starts_with("Error querying volume"));
}

TEST_CASE("plugin status: CSI plugins") {
  const Agent agent;
  const test::Capture printed;
  CHECK(cli::run_plugin_status(agent.with({"-type", "csi"})).value() == 0);
  CHECK(printed.out().find("p   disks     1/1                           2/3") != std::string::npos);
  CHECK(cli::run_plugin_status(agent.with({"-type", "csi", "p"})).value() == 0);
  CHECK(problem(cli::run_plugin_status(agent.with({"-type", "csi", "none"})))
        == "No plugins(s) with prefix or ID \"none\" found");
  CHECK(problem(cli::run_plugin_status(agent.with({"-type", "csi", "q"})))
            .starts_with("Prefix matched multiple plugins"));
}

TEST_CASE("volume init: writes an example that can be read") {
  const test::TempDir dir;
  const test::Capture printed;
  const auto path = dir.path() + "/v.hcl";
  CHECK(cli::run_volume_init({path}).value() == 0);
  CHECK(printed.out() == "Example volume specification written to " + path + "\n");
}

TEST_CASE("volume commands: what the agent refuses is said with what was tried") {
  const Agent agent;
  const auto file = agent.file("id = \"other\"\nplugin_id = \"p\"\n");
  const auto says = [](const Result<int>& done, const std::string& begin) {
    CHECK(problem(done).starts_with(begin));
  };
  says(cli::run_volume_register(agent.with({file})), "Error registering volume: ");
  says(cli::run_volume_create(agent.with({file})), "Error creating volume: ");
  says(cli::run_volume_deregister(agent.with({"other"})), "Error deregistering volume: ");
  says(cli::run_volume_delete(agent.with({"other"})), "Error deleting volume: ");
  says(cli::run_volume_snapshot_create(agent.with({"other"})), "Error snapshotting volume: ");
  says(cli::run_volume_snapshot_delete(agent.with({"p", "s"})), "Error deleting snapshot: ");
  says(cli::run_volume_snapshot_list(agent.with({"-plugin", "p"})),
       "Error querying CSI external snapshots: ");
  says(cli::run_volume_register(agent.with({"/none"})), "Error reading volume specification: ");
  says(cli::run_volume_register(agent.with({agent.file("x = 1")})),
       "Error parsing the volume specification: ");
  says(cli::run_volume_register(agent.with({agent.file("name = \"x\"")})),
       "Error: the volume specification has no id");
  const test::Capture printed;
  CHECK(cli::run_volume_snapshot_list(agent.with({})).value() == 1);
  CHECK(printed.err().find("-plugin is needed: the id of a CSI plugin") != std::string::npos);
}

TEST_CASE("volume commands: an agent that is not there") {
  const auto nobody = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"-address", "http://127.0.0.1:1"});
    return words;
  };
  CHECK(problem(cli::run_volume_status(nobody({}))).starts_with("Error querying CSI volumes: "));
  CHECK(problem(cli::run_volume_status(nobody({"x"}))).starts_with("Error querying volumes: "));
  CHECK(problem(cli::run_plugin_status(nobody({"-type", "csi"})))
            .starts_with("Error querying CSI plugins: "));
}
