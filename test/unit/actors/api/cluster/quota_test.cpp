// /v1/quota: writing quotas, naming them, and reading what is in use of them.
#include <doctest/doctest.h>

#include "actors/api/http/presented.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string small_quota
    = R"({"Name":"small","Description":"little","Limits":[{"Region":"global","RegionLimit":)"
      R"({"CPU":2500,"Cores":null,"MemoryMB":-1,"Devices":[{"Name":"nvidia/gpu","Count":2}]},)"
      R"("VariablesLimit":null},{"Region":"north","VariablesLimit":3}]})";

std::string put_quota(ApiFixture& fixture, const std::string& body) {
  const auto answer = fixture.send("PUT", "/v1/quota", body);
  return answer.status == 200 ? "" : std::to_string(answer.status) + ' ' + answer.body;
}

}  // namespace

TEST_CASE("quotas: are put, read, named by namespaces, and deleted when none does") {
  ApiFixture fixture;
  CHECK(put_quota(fixture, small_quota).empty());
  const auto quota = fixture.json("/v1/quota/small");
  CHECK(quota.at("Description") == "little");
  const auto& limit = quota.at("Limits").at(0);
  CHECK(limit.at("Region") == "global");
  CHECK(limit.at("RegionLimit").at("CPU") == 2500);
  CHECK(limit.at("RegionLimit").at("Cores") == 0);
  CHECK(limit.at("RegionLimit").at("MemoryMB") == -1);
  CHECK(limit.at("RegionLimit").at("Devices").at(0).at("Name") == "nvidia/gpu");
  CHECK(limit.at("Hash").as_string().size() == 44);
  CHECK(quota.at("Limits").at(1).at("VariablesLimit") == 3);
  CHECK(quota.at("Limits").at(1).at("RegionLimit").at("CPU") == 0);
  CHECK(texts_of(fixture.json("/v1/quotas?prefix=s"), "Name") == "small");

  CHECK(fixture.refusal("PUT", "/v1/namespace", R"({"Name":"dev","Quota":"none"})")
        == "400 namespace \"dev\" names quota \"none\", which does not exist");
  CHECK(fixture.send("PUT", "/v1/namespace", R"({"Name":"dev","Quota":"small"})").status == 200);
  CHECK(fixture.json("/v1/namespace/dev").at("Quota") == "small");
  CHECK(fixture.refusal("DELETE", "/v1/quota/small", "")
        == "400 quota \"small\" is in use by namespaces");
  CHECK(fixture.send("PUT", "/v1/namespace", R"({"Name":"dev"})").status == 200);
  CHECK(fixture.send("DELETE", "/v1/quota/small").status == 200);
  CHECK(fixture.refusal("/v1/quota/small") == "404 quota not found");
  CHECK(fixture.refusal("DELETE", "/v1/quota/small", "") == "404 quota not found");
  CHECK(fixture.refusal("/v1/quota/usage/small") == "404 quota not found");
  CHECK(fixture.refusal("/v1/quota/") == "400 Missing quota name");
}

TEST_CASE("quotas: what makes no sense is refused, all of it at once") {
  ApiFixture fixture;
  const auto mistakes = [&](const std::string& limits) {
    return put_quota(fixture, R"({"Name":"q","Limits":[)" + limits + "]}");
  };
  CHECK(put_quota(fixture, R"({"Name":"a b"})")
        == "400 invalid quota \"a b\": 2 errors occurred:\n"
           "\t* invalid name \"a b\". Must match regex ^[a-zA-Z0-9-]{1,128}$\n"
           "\t* must provide at least one quota limit\n\n");
  CHECK(mistakes(R"({},{"Region":"a"},{"Region":"a"})")
        == "400 invalid quota \"q\": 2 errors occurred:\n"
           "\t* a limit names no region\n\t* region \"a\" has two limits\n\n");
  CHECK(mistakes(R"({"Region":"a","RegionLimit":{"Devices":[{"Name":"x"},{"Name":"x"},{}]}})")
        == "400 invalid quota \"q\": 2 errors occurred:\n"
           "\t* region \"a\" limits device \"x\" twice\n"
           "\t* region \"a\" limits a device without a name\n\n");
  CHECK(put_quota(fixture, R"({"Name":"q","Description":")" + std::string(257, 'd')
                               + R"(","Limits":[{"Region":"a"}]})")
        == "400 invalid quota \"q\": 1 error occurred:\n\t* description longer than 256\n\n");
  std::string limits = R"({"Region":"r"})";
  for (int i = 0; i < 64; ++i)
    limits += R"(,{"Region":"r)" + std::to_string(i) + "\"}";
  CHECK(mistakes(limits)
        == "400 invalid quota \"q\": 1 error occurred:\n\t* more than 64 limits\n\n");
  std::string devices = R"({"Name":"d"})";
  for (int i = 0; i < 64; ++i)
    devices += R"(,{"Name":"d)" + std::to_string(i) + "\"}";
  CHECK(mistakes(R"({"Region":"a","RegionLimit":{"Devices":[)" + devices + "]}}")
        == "400 invalid quota \"q\": 1 error occurred:\n"
           "\t* region \"a\" limits more than 64 devices\n\n");
  CHECK(fixture.refusal("PUT", "/v1/quota/other", small_quota)
        == "400 Quota name does not match request path");
}

TEST_CASE("quotas: who may not look into a namespace does not see its quota") {
  ApiFixture fixture{[](ApiOptions& options) {
    options.authenticator
        = test::allowing([](access::Capability needed, const access::Target& target) {
            if (access::is_namespaced(needed)) return target.ns != "secret";
            return needed != access::Capability::none;
          });
  }};
  put_quota(fixture, small_quota);
  CHECK(fixture.get("/v1/quota/small").status == 200);
  fixture.state().run([](schema::Command::Builder command) {
    auto ns = command.initNamespaceUpsert();
    ns.setName("secret");
    ns.setQuota("small");
  });
  CHECK(fixture.refusal("/v1/quota/small") == "403 Permission denied");
  CHECK(fixture.refusal("/v1/quota/usage/small") == "403 Permission denied");
  CHECK(fixture.json("/v1/quotas").as_array().empty());
  CHECK(fixture.json("/v1/quota-usages").as_array().empty());
}

TEST_CASE("quotas: what is in use is told by the hash of the limit") {
  ApiFixture fixture;
  put_quota(fixture, small_quota);
  fixture.send("PUT", "/v1/namespace", R"({"Name":"default","Quota":"small"})");
  fixture.state().register_job();
  fixture.state().place({{.id = "a"}, {.id = "b"}});
  const auto hash
      = std::string{fixture.json("/v1/quota/small").at("Limits").at(0).at("Hash").as_string()};
  const auto usage = fixture.json("/v1/quota/usage/small");
  CHECK(usage.at("Name") == "small");
  CHECK(usage.at("Used").as_object().size() == 1);
  const auto& used = usage.at("Used").at(hash);
  CHECK(used.at("Region") == "global");
  CHECK(used.at("RegionLimit").at("CPU") == 200);
  CHECK(used.at("RegionLimit").at("MemoryMB") == 512);
  CHECK(used.at("RegionLimit").at("Allocations") == 2);
  CHECK(used.at("RegionLimit").at("Devices").at(0).at("Count") == 0);
  CHECK(fixture.json("/v1/quota-usages").at(0) == usage);
}
