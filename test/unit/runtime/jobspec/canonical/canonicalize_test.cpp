// From what clients send to what servers store.
#include "runtime/jobspec/canonical/canonicalize.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/schema.hpp"
#include "runtime/object/json_codec.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using boost::json::object;
using boost::json::value;
using namespace nomad::jobspec;
using nomad::to_json;

namespace {

object parsed(std::string_view text) {
  return boost::json::parse(text).as_object();
}

std::string type_error(std::string_view text, std::string_view path = "Job") {
  const auto draft = JobDraft::decode(parsed(text), path);
  REQUIRE(draft.has_error());
  return draft.error().what;
}

object tree_of(JobDraft& draft) {
  return nomad::jobspec::tree_of(draft.job(), block_types().job);
}

value& first_task(object& job) {
  return job.at("TaskGroups").at(0).at("Tasks").at(0);
}

std::string constraints(object job) {
  return to_text(stored(std::move(job)).at("TaskGroups").at(0).at("Constraints"));
}

}  // namespace

TEST_CASE("the table of jobs") {
  const value table = load_json("canonicalize.json");
  int checked = 0;
  for (const value& row : table.at("cases").as_array()) {
    CAPTURE(std::string{row.at("name").as_string()});
    JobDraft draft = drafted(row.at("job").as_object());
    canonicalize(draft.job());
    object completed = tree_of(draft);
    complete(completed);
    CHECK(to_text(without_zero(completed)) == to_text(row.at("canonical")));
    AdmissionOptions options;
    options.default_node_pool = "";
    to_server_form(draft.job(), options);
    CHECK(to_text(without_zero(tree_of_stored(draft))) == to_text(row.at("stored")));
    ++checked;
  }
  CHECK(checked == 41);
}

TEST_CASE("canonicalizing and storing a second time changes nothing") {
  const value table = load_json("canonicalize.json");
  for (const value& row : table.at("cases").as_array()) {
    CAPTURE(std::string{row.at("name").as_string()});
    JobDraft draft = drafted(row.at("job").as_object());
    canonicalize(draft.job());
    const object once = tree_of(draft);
    canonicalize(draft.job());
    CHECK(to_text(tree_of(draft)) == to_text(once));
  }
}

TEST_CASE("names are matched without regard to case, unknown ones dropped") {
  JobDraft draft
      = drafted(parsed(R"({"id": "j", "TASKGROUPS": [{"name": "g", "cOUNT": 2, "Nonsense": {}}],
                          "meta": {"KEY": "v"}, "Bogus": 1})"));
  CHECK(to_text(tree_of(draft))
        == R"({"ID":"j","Meta":{"KEY":"v"},"TaskGroups":[{"Count":2,"Name":"g"}]})");
}

TEST_CASE("values of the wrong type are named as clients know it") {
  CHECK(type_error(R"({"Priority": "high"})")
        == "json: cannot unmarshal string into Go struct field Job.Job.Priority of type int");
  CHECK(type_error(R"({"Priority": 1.5})", "")
        == "json: cannot unmarshal number 1.5 into Go struct field "
           "Job.Priority of type int");
  CHECK(type_error(R"({"TaskGroups": {}})").find("Job.TaskGroups") != std::string::npos);
  CHECK(type_error(R"({"Meta": {"a": 1}})").find("Job.Meta") != std::string::npos);
}

TEST_CASE("complete adds what is missing, and only that") {
  object job = small_job();
  complete(job);
  CHECK(job.at("Priority").is_null());
  CHECK(job.at("ID") == "j");
  CHECK(job.at("TaskGroups").at(0).as_object().contains("Scaling"));
}

TEST_CASE("defaults of the server") {
  JobDraft draft = drafted(small_job());
  canonicalize(draft.job());
  AdmissionOptions options;
  options.default_priority = 30;
  to_server_form(draft.job(), options);
  const object job = tree_of(draft);
  CHECK(job.at("NodePool") == "default");
  CHECK(to_text(job.at("Datacenters")) == R"(["*"])");
  CHECK(job.at("Namespace") == "default");
  CHECK(job.at("Priority") == 50);  // clients have their own default

  JobDraft bare = drafted(parsed(R"({"Priority": 0})"));
  to_server_form(bare.job(), options);
  CHECK(bare.job().number("Priority") == 30);
}

TEST_CASE("constraints that services imply") {
  object job = small_job();
  job.at("TaskGroups").at(0).as_object()["Services"]
      = boost::json::parse(R"([{"Name": "s", "Provider": "nomad"}])");
  CHECK(constraints(job)
        == R"([{"LTarget":"${attr.nomad.service_discovery}","Operand":"=","RTarget":"true"}])");

  job.at("TaskGroups").at(0).at("Services").at(0).as_object()["Checks"]
      = boost::json::parse(R"([{"Type": "tcp"}])");
  CHECK(constraints(job).find(R"("${attr.nomad.version}","Operand":"semver","RTarget":">= 1.4.0")")
        != std::string::npos);

  job.at("TaskGroups").at(0).at("Services").at(0).as_object()["Provider"] = "consul";
  CHECK(constraints(job)
        == R"([{"LTarget":"${attr.consul.version}","Operand":"semver","RTarget":">= 1.7.0"}])");

  job.at("TaskGroups").at(0).at("Services").at(0).as_object()["Provider"] = "filesd";
  CHECK(constraints(job)
        == R"([{"LTarget":"${attr.service_provider.filesd}","Operand":"=","RTarget":"true"}])");
}

TEST_CASE("constraints that signals and vault imply") {
  object job = small_job();
  object& task = first_task(job).as_object();
  task["KillSignal"] = "SIGUSR2";
  task["Templates"] = boost::json::parse(
      R"([{"DestPath": "x", "ChangeMode": "signal", "ChangeSignal": "sighup"}])");
  CHECK(constraints(job)
        == R"([{"LTarget":"${attr.os.signals}","Operand":"set_contains",)"
           R"("RTarget":"SIGHUP,SIGUSR2"}])");

  object with_vault = small_job();
  first_task(with_vault).as_object()["Vault"] = boost::json::parse(R"({"Policies": ["p"]})");
  CHECK(constraints(with_vault)
        == R"([{"LTarget":"${attr.vault.version}","Operand":"semver","RTarget":">= 0.6.1"}])");
  with_vault.at("TaskGroups").at(0).as_object()["Constraints"] = boost::json::parse(
      R"([{"LTarget": "${attr.vault.version}", "Operand": "semver", "RTarget": ">= 1.0"}])");
  CHECK(constraints(with_vault)
        == R"([{"LTarget":"${attr.vault.version}","Operand":"semver","RTarget":">= 1.0"}])");
}

TEST_CASE("implied constraints are added once") {
  object job = small_job();
  first_task(job).as_object()["KillSignal"] = "SIGINT";
  JobDraft draft = admitted(job);
  const auto once = draft.freeze();
  add_implied_constraints(draft.job());
  CHECK(draft.freeze().equals(once));
}

TEST_CASE("the region of a request") {
  const auto region = [](std::string_view job, std::string_view query, std::string_view body) {
    const RequestRegion out = resolve_region(drafted(parsed(job)).job(), query, body, "eu");
    return out.request + "/" + out.job;
  };
  CHECK(region("{}", "", "") == "eu/eu");
  CHECK(region(R"({"Region": "us"})", "", "") == "us/us");
  CHECK(region(R"({"Region": "us"})", "asia", "") == "asia/asia");
  CHECK(region(R"({"Region": "us"})", "asia", "moon") == "moon/moon");
  CHECK(region(R"({"Region": "global"})", "", "") == "eu/eu");
  CHECK(region(R"({"Multiregion": {"Regions": [{"Name": "us"}]}})", "", "") == "us/global");
  CHECK(region(R"({"Multiregion": {"Regions": [{"Name": "us"}, {"Name": "eu"}]}})", "", "")
        == "eu/global");
  CHECK(region(R"({"Multiregion": {}})", "", "") == "eu/eu");
  CHECK(region(R"({"Multiregion": {"Regions": []}, "Region": "us"})", "", "") == "us/us");
}

TEST_CASE("the namespace of a request") {
  CHECK(resolve_namespace(drafted(parsed("{}")).job(), "", "") == "default");
  CHECK(resolve_namespace(drafted(parsed(R"({"Namespace": "a"})")).job(), "", "") == "a");
  CHECK(resolve_namespace(drafted(parsed(R"({"Namespace": "a"})")).job(), "", "b") == "b");
  CHECK(resolve_namespace(drafted(parsed(R"({"Namespace": "a"})")).job(), "c", "b") == "c");
}

TEST_CASE("equal jobs are equal bytes, however their maps are written") {
  const auto read = [](const char* text) { return to_json(*drafted(parsed(text)).freeze()); };

  CHECK(read(R"({"Meta":{"b":"1","a":"2"},"TaskGroups":[{"Tasks":[{"Env":{"y":"1","x":"2"},
        "Config":{"z":[{"d":1,"c":2}],"a":{"f":1,"e":2}}}]}]})")
        == read(R"({"Meta":{"a":"2","b":"1"},"TaskGroups":[{"Tasks":[{"Env":{"x":"2","y":"1"},
        "Config":{"a":{"e":2,"f":1},"z":[{"c":2,"d":1}]}}]}]})"));
}
