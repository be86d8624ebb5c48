// Nomad's own service discovery over HTTP: lists, pages, filters, choices, deletions.
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

/// Three registrations of "http" in namespace "default", one of "db", one of "http" in "prod".
struct ServicesApi : ApiFixture {
  ServicesApi() {
    add_namespace("prod");
    for (const auto* ns : {"default", "prod"})
      state().register_job({.id = "web", .ns = ns, .groups = {{"api", 3}}});
    state().place({{.id = uuid(11)}, {.id = uuid(12)}, {.id = uuid(13)}});
    state().place({{.id = uuid(14), .ns = "prod"}});
    offer("default", "http", "s1", 11, {"b", "c"});
    offer("default", "http", "s2", 12, {"a", "c"});
    offer("default", "http", "s3", 13, {});
    offer("default", "db", "s4", 11, {"sql"});
    offer("prod", "http", "s5", 14, {});
  }

  void offer(const char* ns,
             const char* name,
             const char* id,
             unsigned alloc,
             const std::vector<std::string>& tags) {
    state().run([&](auto command) {
      auto service = command.initServiceUpsert().initServices(1)[0];
      service.setId(id);
      service.setNamespace(ns);
      service.setServiceName(name);
      service.setJobId("web");
      service.setNodeId("node");
      service.setAllocId(text(uuid(alloc)));
      service.setAddress("10.0.0.1");
      service.setPort(8000 + alloc);
      auto list = service.initTags(static_cast<unsigned>(tags.size()));
      for (unsigned i = 0; i < tags.size(); ++i)
        list.set(i, text(tags[i]));
    });
  }

  std::string ids(const std::string& target) { return texts_of(json(target), "ID"); }
};

}  // namespace

TEST_CASE_FIXTURE(ServicesApi, "services: names with the union of their tags") {
  CHECK(json::serialize(json("/v1/services"))
        == R"([{"Namespace":"default","Services":[{"ServiceName":"db","Tags":["sql"]},)"
           R"({"ServiceName":"http","Tags":["a","b","c"]}]}])");
  CHECK(texts_of(json("/v1/services?namespace=*"), "Namespace") == "default,prod");
  CHECK(json::serialize(json("/v1/services?prefix=d"))
        == R"([{"Namespace":"default","Services":[{"ServiceName":"db","Tags":["sql"]}]}])");
  const auto page = get("/v1/services?namespace=*&per_page=1");
  CHECK(page.header("X-Nomad-Nexttoken") == "prod");
  CHECK(texts_of(json("/v1/services?namespace=*&next_token=prod"), "Namespace") == "prod");
  CHECK(json("/v1/services?namespace=none").as_array().empty());
  CHECK(refusal("/v1/services?filter=(").starts_with("400 "));
}

TEST_CASE_FIXTURE(ServicesApi, "services: a registration as it is in Nomad") {
  const auto shown = json("/v1/service/db").as_array();
  REQUIRE(shown.size() == 1);
  CHECK(json::serialize(shown[0])
        == R"({"Address":"10.0.0.1","AllocID":")" + uuid(11) + R"(","CreateIndex":)"
               + std::to_string(state().index - 1)
               + R"(,"Datacenter":"","ID":"s4","JobID":"web","ModifyIndex":)"
               + std::to_string(state().index - 1)
               + R"(,"Namespace":"default","NodeID":"node","Port":8011,"ServiceName":"db",)"
                 R"("Tags":["sql"]})");
}

TEST_CASE_FIXTURE(ServicesApi, "services: one name, by page, filter and namespace") {
  CHECK(ids("/v1/service/http") == "s1,s2,s3");
  CHECK(ids("/v1/service/http?namespace=prod") == "s5");
  CHECK(ids("/v1/service/http?namespace=*") == "s1,s2,s3,s5");
  CHECK(ids("/v1/service/ht").empty());
  const auto page = get("/v1/service/http?per_page=1");
  CHECK(page.header("X-Nomad-Nexttoken") == "default.s2");
  CHECK(ids("/v1/service/http?next_token=default.s2") == "s2,s3");
  CHECK(ids("/v1/service/http?namespace=*&per_page=2&next_token=default.s3") == "s3,s5");
  CHECK(ids("/v1/service/http?filter=Tags+contains+%22c%22") == "s1,s2");
  CHECK(refusal("/v1/service/http?filter=(").starts_with("400 "));
  CHECK(refusal("/v1/service/http/x") == "405 Invalid method");
  CHECK(refusal("/v1/service/http/x/y") == "400 invalid URI");
  CHECK(refusal("/v1/service/") == "400 missing service name");
}

TEST_CASE_FIXTURE(ServicesApi, "services: who asks with a key is given the same ones") {
  const auto chosen = ids("/v1/service/http?choose=2%7Cme");
  CHECK(chosen.size() == 5);
  CHECK(ids("/v1/service/http?choose=2%7Cme&per_page=1") == chosen);
  CHECK(ids("/v1/service/http?choose=9%7Cme").size() == 8);
  CHECK(json("/v1/service/http?choose=0%7Cme").as_array().empty());
  CHECK(ids("/v1/service/http?choose=2%7Cme&filter=ID+==+%22s3%22") == "s3");
  for (const auto* wrong : {"2", "2%7C", "%7Cme", "x%7Cme", "-1%7Cme", "99999999999999999999%7Cme"})
    CHECK(refusal(std::string{"/v1/service/http?choose="} + wrong)
          == "400 failed to choose services: Parameter for choose must be in form "
             "'<number>|<key>'");
}

TEST_CASE_FIXTURE(ServicesApi, "services: of an allocation and of a job") {
  CHECK(ids("/v1/allocation/" + uuid(12) + "/services") == "s2");
  CHECK(ids("/v1/job/web/services") == "s1,s4,s2,s3");
  CHECK(ids("/v1/job/web/services?namespace=prod") == "s5");
  CHECK(refusal("/v1/job/none/services") == "404 job not found");
}

TEST_CASE_FIXTURE(ServicesApi, "services: a registration is deleted by name and id") {
  const auto done = send("DELETE", "/v1/service/http/s2");
  CHECK(done.status == 200);
  CHECK(done.body.empty());
  CHECK(done.header("X-Nomad-Index") == std::to_string(state().index));
  CHECK(ids("/v1/service/http") == "s1,s3");
  CHECK(refusal("DELETE", "/v1/service/http/s2", "") == "404 service registration not found");
  CHECK(refusal("DELETE", "/v1/service/db/s1", "") == "404 service registration not found");
  CHECK(refusal("DELETE", "/v1/service/http/s5", "") == "404 service registration not found");
  CHECK(refusal("DELETE", "/v1/service/http/a/b", "") == "404 service registration not found");
  CHECK(refusal("DELETE", "/v1/service/http", "") == "405 Invalid method");
  CHECK(refusal("DELETE", "/v1/service/http/", "") == "400 missing service id");
  CHECK(refusal("DELETE", "/v1/service/", "") == "405 Invalid method");
  CHECK(send("DELETE", "/v1/service/http/s5?namespace=prod").status == 200);
}

TEST_CASE_FIXTURE(ServicesApi, "services: who waits for a service or a job's services is woken") {
  for (const auto* target : {"/v1/service/http?index=", "/v1/job/web/services?index=",
                             "/v1/services?index=", "/v1/service/http?namespace=*&index="}) {
    CAPTURE(target);
    const auto asked = target + std::to_string(state().index) + "&wait=20s";
    const auto began = std::chrono::steady_clock::now();
    std::string woken;
    std::thread waiting{[&] { woken = get(asked).header("X-Nomad-Index"); }};
    REQUIRE(has_waiting(1));
    offer("default", "http", "s9", 11, {target});
    waiting.join();
    CHECK(woken == std::to_string(state().index));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{15});  // not its wait
  }
}
