// namespace apply, delete, inspect, list, status: what is asked, refused and printed.
#include <fstream>

#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string dev_namespace
    = R"({"Name":"dev","Description":"Dev","Quota":"","Hash":"aGFzaA==","Meta":{"owner":"sre"},)"
      R"("Capabilities":{"EnabledTaskDrivers":["raw_exec","exec"],"DisabledTaskDrivers":["docker"]},)"
      R"("NodePoolConfiguration":{"Default":"gpu","Allowed":["gpu","all"],"Denied":null},)"
      R"("CreateIndex":5,"ModifyIndex":6})";

const std::string demo_namespace
    = R"({"Name":"demo","Description":"","CreateIndex":5,"ModifyIndex":6})";

struct Namespaces : test::FakeAgent {
  Namespaces() {
    answer("GET /v1/namespaces", "[" + dev_namespace + "]");
    answer("PUT /v1/namespace", "");
  }

  test::TempDir dir;

  std::string file(const std::string& name, const std::string& text) const {
    const auto path = dir.path() + "/" + name;
    std::ofstream{path} << text;
    return path;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Namespaces, "namespace list: a table, or the objects as Nomad prints them") {
  answer("GET /v1/namespaces", "[" + dev_namespace + "," + demo_namespace + "]");
  CHECK(run(run_namespace_list, {}) == 0);
  CHECK(out == "Name  Description\ndev   Dev\ndemo  <none>\n");
  CHECK(run(run_namespace_list, {"-json"}) == 0);
  CHECK(out.find("\"Name\": \"dev\"") != std::string::npos);
  CHECK(out.find("Hash") == std::string::npos);
  CHECK(run(run_namespace_list, {"-t", "{{range .}}{{.Name}} {{end}}"}) == 0);
  CHECK(out == "dev demo \n");
  CHECK(run(run_namespace_list, {"-json", "-t", "x"}) == 1);
  CHECK(run(run_namespace_list, {"extra"}) == 1);
  CHECK(err.starts_with("This command takes no arguments"));
  answer("GET /v1/namespaces", "[]");
  CHECK(run(run_namespace_list, {}) == 0);
  CHECK(out == "No namespaces found\n");
}

TEST_CASE_FIXTURE(Namespaces, "namespace status: everything that one says") {
  CHECK(run(run_namespace_status, {"de"}) == 0);
  CHECK(asked.at(0) == "GET /v1/namespaces?prefix=de");
  CHECK(out
        == "Name            = dev\nDescription     = Dev\nQuota           = <none>\n"
           "EnabledDrivers  = raw_exec,exec\nDisabledDrivers = docker\n\n"
           "Metadata\nowner = sre\n\n"
           "Node Pool Configuration\nDefault = gpu\nAllowed = gpu, all\n");
  answer("GET /v1/namespaces", "[" + demo_namespace + "]");
  CHECK(run(run_namespace_status, {"demo"}) == 0);
  CHECK(out.find("EnabledDrivers  = *\n") != std::string::npos);
  CHECK(out.find("Metadata") == std::string::npos);
}

TEST_CASE_FIXTURE(Namespaces, "namespace status: of a prefix the only one, of a name that one") {
  answer("GET /v1/namespaces", "[" + dev_namespace + "," + demo_namespace + "]");
  CHECK(run(run_namespace_status, {"de"}) == 1);
  CHECK(err.starts_with("Prefix matched multiple namespaces\n\nName  Description\n"));
  CHECK(run(run_namespace_status, {"demo"}) == 0);
  CHECK(out.starts_with("Name            = demo\n"));
  answer("GET /v1/namespaces", "[]");
  CHECK(run(run_namespace_status, {"x"}) == 1);
  CHECK(err == "Error retrieving namespaces: Namespace \"x\" matched no namespaces");
  CHECK(run(run_namespace_status, {}) == 1);
  CHECK(err.starts_with("This command takes one argument: <namespace>"));
}

TEST_CASE_FIXTURE(Namespaces, "namespace inspect: the object, or what a template makes of it") {
  CHECK(run(run_namespace_inspect, {"dev"}) == 0);
  CHECK(out.starts_with("{\n    \"Capabilities\": {"));
  CHECK(out.find("Hash") == std::string::npos);
  CHECK(run(run_namespace_inspect, {"-t", "{{.Description}}", "dev"}) == 0);
  CHECK(out == "Dev\n");
}

TEST_CASE_FIXTURE(Namespaces, "namespace apply: flags change what is stored and leave the rest") {
  answer("GET /v1/namespace/no-file", dev_namespace);
  CHECK(run(run_namespace_apply, {"-description", "New", "no-file"}) == 0);
  CHECK(out == "Successfully applied namespace \"dev\"!\n");
  CHECK(written().find(R"("Description":"New")") != std::string::npos);
  CHECK(written().find(R"("DisabledTaskDrivers":["docker"])") != std::string::npos);

  CHECK(run(run_namespace_apply, {"-description=", "-quota=", "new"}) == 0);
  CHECK(written() == R"(PUT /v1/namespace {"Name":"new","Description":"","Quota":""})");
}

TEST_CASE_FIXTURE(Namespaces, "namespace apply: files of HCL and JSON, and stdin") {
  const auto hcl = file("ns.hcl", R"(name = "two"
description = "Two"
meta {
  shard = 3
}
capabilities {
  enabled_task_drivers = ["exec"]
}
node_pool_config {
  default = "gpu"
  denied  = ["cpu"]
})");
  CHECK(run(run_namespace_apply, {"-description", "ignored", hcl}) == 0);
  CHECK(err == "Flags are ignored when a file is specified!\n");
  CHECK(written()
        == R"(PUT /v1/namespace {"Name":"two","Description":"Two","Meta":{"shard":"3"},)"
           R"("Capabilities":{"EnabledTaskDrivers":["exec"]},)"
           R"("NodePoolConfiguration":{"Default":"gpu","Denied":["cpu"]}})");

  CHECK(run(run_namespace_apply, {"-json", file("ns.json", R"({"Name":"three"})")}) == 0);
  CHECK(written() == R"(PUT /v1/namespace {"Name":"three"})");
  CHECK(run(run_namespace_apply, {"-"}, "name = \"four\"\n") == 0);
  CHECK(written() == R"(PUT /v1/namespace {"Name":"four"})");
}

TEST_CASE_FIXTURE(Namespaces, "namespace apply: what can't be is said, and nothing is written") {
  for (const auto& [arguments, complaint] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{file("a.hcl", "name = \"x\"\nnope = 1\n")},
            "Error parsing namespace specification: invalid key: nope"},
           {{file("b.hcl", "name = \"x\"\ncapabilities {\n  drivers = []\n}\n")},
            "Error parsing namespace specification: Capabilities: invalid key: drivers"},
           {{"-json", file("c.json", "[]")}, "Failed to parse namespace: expected an object"},
           {{""}, "Namespace name required"},
           {{}, "This command takes one argument: <input>"}}) {
    const auto& shown = complaint;
    CAPTURE(shown);
    CHECK(run(run_namespace_apply, arguments) == 1);
    CHECK(err.starts_with(complaint));
    CHECK(written().empty());
  }
  answer("PUT /v1/namespace", "Invalid namespace \"x_y\": 1 error occurred:\n\t* invalid\n\n", 400);
  CHECK(run(run_namespace_apply, {"x_y"}) == 1);
  CHECK(err
        == "Error applying namespace: Unexpected response code: 400 (Invalid namespace \"x_y\": "
           "1 error occurred:\n\t* invalid)");
}

TEST_CASE_FIXTURE(Namespaces, "namespace delete: one by its name") {
  answer("DELETE /v1/namespace/dev", "");
  CHECK(run(run_namespace_delete, {"dev"}) == 0);
  CHECK(out == "Successfully deleted namespace \"dev\"!\n");
  CHECK(run(run_namespace_delete, {"nope"}) == 1);
  CHECK(err == "Error deleting namespace: Unexpected response code: 404 (not found)");
  CHECK(run(run_namespace_delete, {"a", "b"}) == 1);
}
