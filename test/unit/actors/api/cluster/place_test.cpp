// /v1/namespace and /v1/node/pool: writing them, and what they ask of jobs.
#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

/// A job with one task, as its JSON; `more` are members of it.
std::string registration(const std::string& more = "", const std::string& driver = "raw_exec") {
  return R"({"Job":{"ID":"web","Datacenters":["dc1"],"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":")"
         + driver + R"(","Config":{"command":"/bin/true"}}]}])" + more + "}}";
}

std::string put(ApiFixture& fixture, const std::string& path, const std::string& body) {
  const auto answer = fixture.send("PUT", path, body);
  if (answer.status != 200) return std::to_string(answer.status) + ' ' + answer.body;
  CHECK(answer.body.empty());
  CHECK(answer.header("X-Nomad-Index") == std::to_string(fixture.state().index));
  return {};
}

}  // namespace

TEST_CASE("node pools: are put, read, and deleted when nothing needs them") {
  ApiFixture fixture;
  CHECK(put(fixture, "/v1/node/pools",
            R"({"Name":"gpu","Description":"fast","Meta":{"k":"v"},)"
            R"("SchedulerConfiguration":{"SchedulerAlgorithm":"spread",)"
            R"("MemoryOversubscriptionEnabled":true}})")
            .empty());
  const auto pool = fixture.json("/v1/node/pool/gpu").as_object();
  CHECK(pool.at("Description") == "fast");
  CHECK(pool.at("Meta").at("k") == "v");
  CHECK(pool.at("SchedulerConfiguration").at("SchedulerAlgorithm") == "spread");
  CHECK(pool.at("SchedulerConfiguration").at("MemoryOversubscriptionEnabled") == true);
  CHECK(pool.at("Hash").as_string().size() == 44);
  CHECK(put(fixture, "/v1/node/pool/gpu",
            R"({"Name":"gpu","SchedulerConfiguration":{"SchedulerAlgorithm":""}})")
            .empty());
  CHECK(fixture.json("/v1/node/pool/gpu")
            .at("SchedulerConfiguration")
            .at("MemoryOversubscriptionEnabled")
            .is_null());

  CHECK(put(fixture, "/v1/node/pool/x", R"({"Name":"gpu"})")
        == "400 Node pool name does not match request path");
  CHECK(put(fixture, "/v1/node/pools", R"({"Name":"all"})")
        == "400 modifying node pool \"all\" is not allowed");
  CHECK(put(fixture, "/v1/node/pools", "{}").starts_with("400 invalid node pool \"\": "));
  CHECK(put(fixture, "/v1/node/pools", R"({"Name":5})").starts_with("400 json: cannot unmarshal"));

  fixture.state().register_node({.id = own_node, .pool = "gpu"});
  CHECK(fixture.refusal("DELETE", "/v1/node/pool/gpu", "")
        == "400 1 error occurred:\n\t* node pool \"gpu\" has nodes in regions: [global]\n\n");
  CHECK(fixture.refusal("DELETE", "/v1/node/pool/all", "")
        == "400 deleting node pool \"all\" is not allowed");
  CHECK(fixture.refusal("DELETE", "/v1/node/pool/none", "") == "404 node pool none not found");
  CHECK(put(fixture, "/v1/node/pools", R"({"Name":"empty"})").empty());
  CHECK(fixture.send("DELETE", "/v1/node/pool/empty").status == 200);
  CHECK(texts_of(fixture.json("/v1/node/pools"), "Name") == "all,default,gpu");
}

TEST_CASE("node pools: list their jobs and nodes") {
  ApiFixture fixture;
  fixture.add_namespace("team");
  put(fixture, "/v1/node/pools", R"({"Name":"gpu"})");
  fixture.state().register_job({.id = "a", .pool = "gpu"});
  fixture.state().register_job({.id = "b"});
  fixture.state().register_job({.id = "c", .ns = "team", .pool = "gpu"});
  CHECK(texts_of(fixture.json("/v1/node/pool/gpu/jobs"), "ID") == "a");
  CHECK(texts_of(fixture.json("/v1/node/pool/gpu/jobs?namespace=*"), "ID") == "a,c");
  CHECK(texts_of(fixture.json("/v1/node/pool/gpu/jobs?namespace=*&filter=ID+%3D%3D+%22c%22"), "ID")
        == "c");
  CHECK(fixture.json("/v1/node/pool/none/jobs").as_array().empty());
  CHECK(fixture.refusal("/v1/node/pool/gpu/jobs?prefix=a") == "400 prefix argument not allowed");
  CHECK(fixture.refusal("/v1/node/pool/gpu/nodes?prefix=a") == "400 prefix argument not allowed");
  CHECK(fixture.json("/v1/node/pool/gpu/nodes").as_array().empty());
}

TEST_CASE("namespaces and node pools: what they hold has a bound") {
  ApiFixture fixture;
  const std::string long_text(70'000, 'm');
  const auto meta = R"({"Name":"a","Meta":{"k":")" + long_text + "\"}}";
  std::string drivers = R"({"Name":"a","Capabilities":{"EnabledTaskDrivers":["exec")";
  for (int i = 0; i < 10'000; ++i)
    drivers += R"(,"java")";

  for (const auto& [path, body] : {std::pair<std::string, std::string>{"/v1/namespace", meta},
                                   {"/v1/namespace", drivers + "]}}"},
                                   {"/v1/node/pools", meta}}) {
    const auto refused = put(fixture, path.c_str(), body);
    CHECK(refused.starts_with("400 "));
    CHECK(refused.find("limits.text_max_kb") != std::string::npos);
  }
}

TEST_CASE("namespaces: are put, read, and deleted when nothing is in them") {
  ApiFixture fixture;
  CHECK(put(fixture, "/v1/namespace",
            R"({"Name":"dev","Description":"d","Meta":{"k":"v"},)"
            R"("Capabilities":{"EnabledTaskDrivers":["raw_exec"]}})")
            .empty());
  const auto ns = fixture.json("/v1/namespace/dev").as_object();
  CHECK(ns.at("Capabilities").at("EnabledTaskDrivers").at(0) == "raw_exec");
  CHECK(ns.at("Capabilities").at("DisabledTaskDrivers").is_null());
  CHECK(ns.at("NodePoolConfiguration").is_null());
  CHECK(put(fixture, "/v1/namespace/x", R"({"Name":"dev"})")
        == "400 Namespace name does not match request path");
  CHECK(put(fixture, "/v1/namespace", R"({"Name":"a b"})")
            .starts_with("400 Invalid namespace \"a b\": "));
  CHECK(fixture.refusal("GET", "/v1/namespace/", "") == "400 Missing Namespace Name");
  CHECK(fixture.refusal("GET", "/v1/namespace", "") == "405 Invalid method");

  CHECK(fixture.refusal("DELETE", "/v1/namespace/default", "")
        == "400 can not delete default namespace");
  CHECK(fixture.refusal("DELETE", "/v1/namespace/none", "") == "404 namespace not found");
  fixture.state().register_job({.ns = "dev"}, {.ns = "dev"});
  CHECK(fixture.refusal("DELETE", "/v1/namespace/dev", "")
        == "400 1 error occurred:\n\t* namespace \"dev\" has non-terminal jobs in regions: "
           "[global]\n\n");
  put(fixture, "/v1/namespace", R"({"Name":"empty"})");
  CHECK(fixture.send("DELETE", "/v1/namespace/empty").status == 200);
  CHECK(texts_of(fixture.json("/v1/namespaces"), "Name") == "default,dev");
}

TEST_CASE("namespaces: their rules hold for jobs that are registered, planned and validated") {
  ApiFixture fixture;
  put(fixture, "/v1/node/pools", R"({"Name":"gpu"})");
  put(fixture, "/v1/node/pools", R"({"Name":"base"})");
  put(fixture, "/v1/namespace",
      R"({"Name":"dev","Capabilities":{"DisabledTaskDrivers":["docker"]},)"
      R"("NodePoolConfiguration":{"Default":"base","Denied":["g*"]}})");

  const auto docker = registration(R"(,"Namespace":"dev")", "docker");
  const std::string refused = "used task driver \"docker\" is not allowed in namespace \"dev\"";
  for (const auto* path : {"/v1/jobs?namespace=dev", "/v1/job/web/plan?namespace=dev"}) {
    const auto refusal = fixture.refusal("PUT", path, docker);
    CAPTURE(refusal);
    CHECK(refusal.starts_with("400 "));
    CHECK(refusal.find(refused) != std::string::npos);
  }
  CHECK(fixture.send("PUT", "/v1/validate/job", docker).body.find("is not allowed in namespace")
        != std::string::npos);
  CHECK(fixture.refusal("PUT", "/v1/jobs?namespace=dev", registration(R"(,"NodePool":"gpu")"))
            .find("namespace \"dev\" does not allow jobs to use node pool \"gpu\"")
        != std::string::npos);

  CHECK(fixture.send("PUT", "/v1/jobs?namespace=dev", registration()).status == 200);
  CHECK(view(fixture.state().now().job("dev", "web")->getNodePool()) == "base");
  CHECK(fixture.send("PUT", "/v1/jobs", registration(R"(,"NodePool":"gpu")")).status == 200);
}
