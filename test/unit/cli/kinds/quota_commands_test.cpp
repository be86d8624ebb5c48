// quota apply, delete, init, inspect, list, status: what is asked, refused and printed.
#include <fstream>

#include "runtime/base/files/bounded.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string listed_quota
    = R"({"Name":"dev","Description":"Dev","Hash":"eA==","Limits":[{"Region":"global","Hash":"aGFzaA==",)"
      R"("RegionLimit":{"CPU":2500,"Cores":0,"MemoryMB":-1,"MemoryMaxMB":0,"Allocations":5,)"
      R"("Devices":[{"Name":"nvidia/gpu","Count":2}]},"VariablesLimit":9}],"CreateIndex":5,"ModifyIndex":6})";

struct Quotas : test::FakeAgent {
  Quotas() {
    answer("GET /v1/quotas", "[" + listed_quota + "]");
    answer("PUT /v1/quota", "");
    answer(
        "GET /v1/quota/usage/dev",
        R"({"Name":"dev","Used":{"aGFzaA==":{"Region":"global","RegionLimit":{"CPU":1500,"Cores":1,)"
        R"("MemoryMB":300,"MemoryMaxMB":300,"Allocations":3,"Devices":[{"Name":"nvidia/gpu","Count":1}]},)"
        R"("VariablesLimit":2}}})");
  }

  test::TempDir dir;

  std::string file(const std::string& name, const std::string& text) const {
    const auto path = dir.path() + "/" + name;
    std::ofstream{path} << text;
    return path;
  }
};

const std::string shown_limits
    = "\nQuota Limits\n"
      "Region  CPU Usage    Core Usage  Memory Usage  Memory Max Usage  Allocation Usage  "
      "Variables "
      "Usage\n"
      "global  1500 / 2500  1 / inf     300 / 0       300 / inf         3 / 5             2 / 9\n"
      "\nQuota Device Limits\n"
      "Region  Device Name  Device Usage\n"
      "global  nvidia/gpu   1 / 2\n";

}  // namespace

TEST_CASE_FIXTURE(Quotas, "quota list: a table") {
  CHECK(run(run_quota_list, {}) == 0);
  CHECK(out == "Name  Description\ndev   Dev\n");
  answer("GET /v1/quotas", "[]");
  CHECK(run(run_quota_list, {}) == 0);
  CHECK(out == "No quotas found\n");
}

TEST_CASE_FIXTURE(Quotas, "quota status: the limits with what is in use of them") {
  CHECK(run(run_quota_status, {"d"}) == 0);
  CHECK(asked.at(0) == "GET /v1/quotas?prefix=d");
  CHECK(asked.at(1) == "GET /v1/quota/usage/dev?region=global");
  CHECK(out == "Name        = dev\nDescription = Dev\nLimits      = 1\n" + shown_limits);
  answer("GET /v1/quota/usage/dev", "gone", 500);
  CHECK(run(run_quota_status, {"dev"}) == 1);
  CHECK(out.find("- / 2500") != std::string::npos);
  CHECK(err.find("\nLookup Failures\n  * Failed to retrieve quota usage for region \"global\": ")
        == 0);
  answer("GET /v1/quotas", "[]");
  CHECK(run(run_quota_status, {"x"}) == 1);
  CHECK(err == "Error retrieving quota: Quota \"x\" matched no quotas");
}

TEST_CASE_FIXTURE(Quotas, "quota inspect: the quota and what is in use of it") {
  CHECK(run(run_quota_inspect, {"dev"}) == 0);
  CHECK(out.find("\"Spec\": {") != std::string::npos);
  CHECK(out.find("\"UsageLookupErrors\": {}") != std::string::npos);
  CHECK(out.find("\"CPU\": 1500") != std::string::npos);
}

TEST_CASE_FIXTURE(Quotas, "namespace status: shows the quota's limits") {
  answer("GET /v1/namespaces", R"([{"Name":"team","Quota":"dev"}])");
  answer("GET /v1/quota/dev", listed_quota);
  CHECK(run(run_namespace_status, {"team"}) == 0);
  CHECK(out.ends_with(shown_limits));
}

TEST_CASE_FIXTURE(Quotas, "quota apply: files of HCL and JSON") {
  const auto hcl = file("q.hcl", R"(
name = "dev"
description = "Dev"
limit {
  region = "global"
  region_limit {
    cpu = 2500
    memory = -1
    device "nvidia/gpu" {
      count = 2
    }
  }
}
limit {
  region          = "north"
  variables_limit = 3
}
)");
  CHECK(run(run_quota_apply, {hcl}) == 0);
  CHECK(out == "Successfully applied quota specification \"dev\"!\n");
  CHECK(
      written()
      == R"(PUT /v1/quota {"Name":"dev","Description":"Dev","Limits":[{"Region":"global",)"
         R"("RegionLimit":{"CPU":2500,"MemoryMB":-1,"Devices":[{"Count":2,"Name":"nvidia/gpu"}]}},)"
         R"({"Region":"north","VariablesLimit":3}]})");
  CHECK(run(run_quota_apply, {"-json", file("q.json", R"({"Name":"x"})")}) == 0);
  CHECK(written() == R"(PUT /v1/quota {"Name":"x"})");
  CHECK(run(run_quota_apply, {file("bad.hcl", "limit {\n  regions = \"a\"\n}\n")}) == 1);
  CHECK(err == "Error parsing quota specification: limit: invalid key: regions");
}

TEST_CASE_FIXTURE(Quotas, "quotas: what is wrong is said") {
  const auto refused = [this](Command command, const std::vector<std::string>& arguments) {
    CHECK(run(command, arguments) == 1);
    return err;
  };
  const auto of_hcl = [&](const std::string& text) {
    return refused(run_quota_apply, {file("wrong.hcl", text)});
  };
  CHECK(of_hcl("limit = 3\n") == "Error parsing quota specification: limit: expected a block");
  CHECK(of_hcl("limit {\n  region_limit {\n    device = 3\n  }\n}\n")
        == "Error parsing quota specification: limit: device: expected a block");
  CHECK(of_hcl("limit {\n  region_limit {\n    device {\n      count = 3\n    }\n  }\n}\n")
        == "Error parsing quota specification: limit: device: expected a block with a name");
  CHECK(refused(run_quota_apply, {"-json", file("wrong.json", "[]")})
        == "Failed to parse quota: expected an object");
  CHECK(refused(run_quota_apply, {dir.path() + "/none"}).starts_with("Failed to read file: "));
  answer("GET /v1/quotas", R"([{"Name":"da"},{"Name":"db"}])");
  CHECK(refused(run_quota_status, {"d"})
        == "Prefix matched multiple quotas\n\nName  Description\nda    <none>\ndb    <none>");
  answer("GET /v1/quotas", "no", 500);
  CHECK(refused(run_quota_list, {})
        == "Error retrieving quotas: Unexpected response code: 500 (no)");
  answer("PUT /v1/quota", "no", 500);
  CHECK(refused(run_quota_apply, {"-json", file("q.json", "{}")})
        == "Error applying quota specification: Unexpected response code: 500 (no)");
  answer("GET /v1/namespaces", R"([{"Name":"team","Quota":"gone"}])");
  CHECK(refused(run_namespace_status, {"team"}).find("Error retrieving quota spec: ")
        != std::string::npos);
}

TEST_CASE_FIXTURE(Quotas, "quota init: writes what apply takes, over nothing") {
  const auto path = dir.path() + "/spec.hcl";
  CHECK(run(run_quota_init, {path}) == 1);  // it speaks to no agent
  CHECK(run_quota_init({path}).value_or(1) == 0);
  CHECK(run(run_quota_apply, {path}) == 0);
  CHECK(written().find(R"("VariablesLimit":1000)") != std::string::npos);
  CHECK_FALSE(run_quota_init({path}).has_value());
}
