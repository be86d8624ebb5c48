// Job files in HCL1, beside what the real parser of Nomad 1.6.5 makes of them.
#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/parse/parse_job.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using namespace nomad::jobspec;

namespace {

ParsedJob parse_older(std::string text) {
  ParseOptions options;
  options.hcl1 = true;
  return parse_job("input.hcl", std::move(text), options);
}

boost::json::object task_of(const std::string& inner) {
  const auto parsed = parse_older("job \"j\" { group \"g\" { task \"t\" { " + inner + " } } }");
  REQUIRE_MESSAGE(parsed.ok(), parsed.error);
  return parsed.job.at("TaskGroups").at(0).at("Tasks").at(0).as_object();
}

}  // namespace

TEST_CASE("hcl1 job: what HCL2 refuses is read") {
  const auto task = task_of(R"(
    driver = "docker", user = "x"
    "env" { "a.b-c" = "1", D = true E = 2.5 F = "${attr.kernel.name} ${file("x")}" }
    env = { G = "two" }
    meta { a.b = "1" } meta { "c" = 0x10 }
    resources { cpu = 20, memory = 30 network { port "http" {} } }
    kill_timeout = "7s"
    config {
      image = "i" args = ["a", 1, true] volumes = "one"
      port_map { http = 80 } port_map = { "x.y" = 1 }
      mounts = [ { type = "bind", options { ro = true } } ]
    })");
  CHECK(task.at("Driver") == "docker");
  CHECK(task.at("User") == "x");
  CHECK(task.at("KillTimeout") == 7'000'000'000);
  CHECK(to_text(task.at("Env"))
        == R"({"D":"1","E":"2.5","F":"${attr.kernel.name} ${file(\"x\")}","G":"two","a.b-c":"1"})");
  CHECK(to_text(task.at("Meta")) == R"({"a.b":"1","c":"16"})");
  CHECK(task.at("Resources").at("CPU") == 20);
  CHECK(task.at("Resources").at("MemoryMB") == 30);
  CHECK(to_text(task.at("Config"))
        == R"({"args":["a",1,true],"image":"i","mounts":[{"options":[{"ro":true}],"type":"bind"}],)"
           R"("port_map":[{"http":80},{"x.y":1}],"volumes":"one"})");
}

TEST_CASE("hcl1 job: values need not have their field's type") {
  const auto parsed = parse_older(R"("job" "j" { datacenters = "dc1"
    constraint { attribute = "x" value = true }
    constraint { distinct_hosts = "true" } })");
  REQUIRE_MESSAGE(parsed.ok(), parsed.error);
  CHECK(to_text(parsed.job.at("Datacenters")) == R"(["dc1"])");
  const auto& constraints = parsed.job.at("Constraints");
  CHECK(constraints.at(0).at("RTarget") == "1");
  CHECK(constraints.at(1).at("Operand") == "distinct_hosts");
  CHECK(constraints.at(1).at("RTarget") == "");
}

TEST_CASE("hcl1 job: it is no HCL2, and mistakes have their place") {
  CHECK(parse_older("variable \"x\" {}\njob \"j\" {}").error.find("variable") != std::string::npos);
  CHECK(parse_older("job \"j\" {\n  tpye = \"x\"\n}").error.find("input.hcl:2,3-7") == 0);
  CHECK(parse_older("job \"j\" { name = upper(\"x\") }").error.find("Invalid HCL1")
        != std::string::npos);
  CHECK(parse_older("job \"j\" { update {} update {} }").error.find("Duplicate update block")
        != std::string::npos);
  CHECK(parse_older("").error.find("Missing job block") != std::string::npos);
}

TEST_CASE("hcl1 job: what begins with a brace is JSON, whose strings are no templates") {
  const auto parsed = parse_older(R"(
 {"job": {"web4": {"datacenters": ["dc1"], "meta": {"a.b": "1"}, "group": {"g": {"count": "2",
  "task": {"t": {"driver": "raw_exec", "env": {"K": "${attr.kernel.name} %{x $${y}", "N": 1},
    "config": {"command": "a", "args": ["${NOMAD_PORT_x}", "%{"]},
    "resources": [{"cpu": 20, "network": [{"port": {"http": {}}}]}]}}}}}}})");
  REQUIRE_MESSAGE(parsed.ok(), parsed.error);
  CHECK(parsed.job.at("ID") == "web4");
  CHECK(parsed.job.at("Meta").at("a.b") == "1");
  const auto& group = parsed.job.at("TaskGroups").at(0);
  CHECK(group.at("Count") == 2);
  const auto& task = group.at("Tasks").at(0);
  CHECK(task.at("Env").at("K") == "${attr.kernel.name} %{x $${y}");
  CHECK(task.at("Env").at("N") == "1");
  CHECK(task.at("Config").at("args").at(1) == "%{");
  CHECK(task.at("Resources").at("Networks").at(0).at("DynamicPorts").at(0).at("Label") == "http");
  CHECK_FALSE(parse_older(R"({"job": {"w": {"group": }}})").ok());
  CHECK_FALSE(parse_older("{").ok());
  CHECK_FALSE(parse_older(R"({"ID": "web"})").ok());
}
