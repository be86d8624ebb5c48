// /v1/openapi.json: the API described, from the route tables and the schema.
#include <set>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "actors/api/http/routes.hpp"
#include "actors/api/openapi/document.hpp"
#include "actors/api/openapi/operation_table.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/http/access_cases.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

boost::json::object whole_document() {
  Routes routes{nullptr};
  add_routes(routes, {});
  return openapi::document(routes.listed(), "1.6.5");
}

/// Every "$ref" below a value.
void collect_references(const boost::json::value& from, std::set<std::string>& found) {
  if (const auto* list = from.if_array())
    for (const auto& one : *list)
      collect_references(one, found);
  if (const auto* members = from.if_object())
    for (const auto& member : *members) {
      if (member.key() == "$ref") found.insert(member.value().as_string().c_str());
      collect_references(member.value(), found);
    }
}

}  // namespace

TEST_CASE("openapi: every route is described, with the methods that it takes") {
  Routes routes{nullptr};
  add_routes(routes, {});
  REQUIRE(routes.listed().size() > 100);
  const auto all = openapi::document(routes.listed(), "1.6.5");
  const auto& paths = all.at("paths").as_object();
  ApiFixture fixture;
  for (const auto& [route, needed] : routes.listed()) {
    const auto path = route.substr(route.find(' ') + 1);
    const auto& shown = route;
    CAPTURE(shown);
    REQUIRE(paths.contains(openapi::template_of(path)));
    const auto& item = paths.at(openapi::template_of(path)).as_object();
    CHECK(item.contains(route.starts_with("GET ")      ? "get"
                        : route.starts_with("DELETE ") ? "delete"
                                                       : "put"));
    if (!route.starts_with("PUT ")) continue;
    const bool takes_post = fixture.send("POST", some_path(route), "{}").status != 405;
    CHECK(item.contains("post") == takes_post);
  }
  CHECK(paths.contains("/v1/openapi.json"));
}

TEST_CASE("openapi: each row of the table is of a route of its own") {
  Routes routes{nullptr};
  add_routes(routes, {});
  std::set<std::string> known;
  for (const auto& one : routes.listed())
    known.insert(one.first);
  for (const auto& row : openapi::rows())
    CHECK_MESSAGE(known.erase(std::string{row.route}) == 1, row.route);
}

TEST_CASE("openapi: what is referred to is there, and operations have names of their own") {
  const auto all = whole_document();
  std::set<std::string> references;
  collect_references(all, references);
  REQUIRE(references.size() > 50);
  for (const auto& one : references) {
    CAPTURE(one);
    REQUIRE(one.starts_with("#/"));
    const boost::json::value whole = all;
    boost::system::error_code failure;
    CHECK(whole.find_pointer(std::string_view{one}.substr(1), failure) != nullptr);
  }
  std::set<std::string> names;
  for (const auto& path : all.at("paths").as_object())
    for (const auto& method : path.value().as_object()) {
      const std::string name{method.value().at("operationId").as_string()};
      CHECK_MESSAGE(names.insert(name).second, name);
    }
}

TEST_CASE("openapi: objects are described as the schema has them") {
  const auto all = whole_document();
  const auto& job = all.at("components").at("schemas").at("Job").at("properties");
  CHECK(job.at("ID") == boost::json::value{{"type", "string"}});
  CHECK(boost::json::serialize(job.at("TaskGroups"))
        == R"({"type":["array","null"],"items":{"$ref":"#/components/schemas/TaskGroup"}})");
  CHECK(
      boost::json::serialize(all.at("paths").at("/v1/job/{id}").at("get").at("responses").at("200"))
      == R"({"description":"OK","content":{"application/json":{"schema":)"
         R"({"$ref":"#/components/schemas/Job"}}}})");
  const auto registration = boost::json::serialize(
      all.at("paths").at("/v1/jobs").at("put").at("requestBody").at("content"));
  CHECK(registration
        == R"({"application/json":{"schema":{"type":"object","properties":{"Job":)"
           R"({"$ref":"#/components/schemas/Job"}},"required":["Job"]}}})");
}

TEST_CASE("openapi: what has no body, is of another type or is not here is said so") {
  const auto all = whole_document();
  const auto responses = [&](std::string_view path, std::string_view method) {
    auto found = all.at("paths").at(path).at(method).at("responses").as_object();
    found.erase("default");
    return boost::json::serialize(found);
  };
  const std::string nothing = R"({"200":{"description":"OK"}})";
  for (const auto* path : {"/v1/namespace/{id}", "/v1/acl/token/{id}", "/v1/service/{id}"})
    CHECK(responses(path, "delete") == nothing);
  for (const auto* path : {"/v1/namespace", "/v1/system/gc", "/v1/client/gc"})
    CHECK(responses(path, "put") == nothing);
  CHECK(responses("/v1/operator/license", "get") == R"({"204":{"description":"OK"}})");
  CHECK(responses("/v1/operator/snapshot", "get")
        == R"({"200":{"description":"OK","content":{"application/x-gzip":{}}}})");
  CHECK(responses("/v1/metrics", "get")
        == R"({"200":{"description":"OK","content":{"application/json":{},"text/plain":{}}}})");
  CHECK(responses("/v1/recommendations", "get")
        == R"({"501":{"description":"Nomad Enterprise has it",)"
           R"("content":{"text/plain":{"schema":{"type":"string"}}}}})");
  CHECK(
      responses("/v1/var/{id}", "delete")
      == R"({"204":{"description":"OK"},"409":{"description":"It was changed meanwhile: as it is",)"
         R"("content":{"application/json":{"schema":{"$ref":"#/components/schemas/Variable"}}}}})");
}

TEST_CASE("openapi: parameters are those of the route, and those that all reads have") {
  const auto all = whole_document();
  const auto names = [&](std::string_view path, std::string_view method) {
    std::string out;
    for (const auto& one : all.at("paths").at(path).at(method).at("parameters").as_array()) {
      const auto& whole = one.as_object();
      const std::string text{whole.contains("$ref") ? whole.at("$ref").as_string()
                                                    : whole.at("name").as_string()};
      out += text.substr(text.rfind('/') + 1) + ' ';
    }
    return out;
  };
  CHECK(names("/v1/job/{id}/plan", "put") == "id region pretty namespace ");
  CHECK(names("/v1/jobs", "get")
        == "region pretty namespace index wait stale prefix per_page next_token filter reverse "
           "fields meta ");
  CHECK(names("/v1/openapi.json", "get") == "region pretty ");
  CHECK(names("/v1/job/{id}/versions/{tag}/tag", "delete") == "id tag region pretty namespace ");
}

TEST_CASE("openapi: the agent answers it to everybody") {
  ApiFixture fixture;
  const auto answer = fixture.get("/v1/openapi.json");
  CHECK(answer.status == 200);
  CHECK(answer.header("Content-Type") == "application/json");
  CHECK(boost::json::parse(answer.body).at("openapi") == "3.1.0");
}
