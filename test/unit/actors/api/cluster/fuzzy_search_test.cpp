#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

json::object search(ApiFixture& fixture, const std::string& body, const std::string& query = "") {
  const auto answer = fixture.send("PUT", "/v1/search/fuzzy" + query, body);
  CHECK(answer.status == 200);
  return json::parse(answer.body).as_object();
}

/// What was found of one kind, as JSON; "" if the answer has nothing of it.
std::string found(const json::object& answer, const std::string& kind) {
  const auto* matches = answer.at("Matches").as_object().if_contains(kind);
  return matches == nullptr ? "" : json::serialize(*matches);
}

void register_shop(ApiFixture& fixture) {
  const auto answer = fixture.send("PUT", "/v1/jobs", R"({"Job":{
    "ID":"shop-1","Name":"Shop","Type":"service","Datacenters":["dc1"],
    "TaskGroups":[{"Name":"shopfront","Count":1,
      "Services":[{"Name":"shop-web","Provider":"nomad"}],
      "Tasks":[
        {"Name":"shop-server","Driver":"docker","Config":{"image":"registry/shop:1"},
         "Services":[{"Name":"shop-admin","Provider":"nomad"}]},
        {"Name":"log","Driver":"raw_exec","Config":{"command":"/usr/bin/shoplog","args":["shop"]}},
        {"Name":"import","Driver":"java","Config":{"class":"org.Shop","jar_path":"x.jar"}}]}]}})");
  REQUIRE(answer.status == 200);
}

void register_small(ApiFixture& fixture, const std::string& id, const std::string& ns) {
  const auto job = R"({"Job":{"ID":")" + id + R"(","Name":")" + id + R"(","Namespace":")" + ns
                   + R"(","Type":"service","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t",)"
                     R"("Driver":"raw_exec","Config":{"command":"x"}}]}]}})";
  REQUIRE(fixture.send("PUT", "/v1/jobs", job).status == 200);
}

}  // namespace

TEST_CASE("fuzzy search: a job is found with all that is in it") {
  ApiFixture fixture;
  register_shop(fixture);

  const auto all = search(fixture, R"({"Text":"SHOP","Context":"all"})");

  CHECK(found(all, "jobs") == R"([{"ID":"Shop","Scope":["default","shop-1"]}])");
  CHECK(found(all, "groups") == R"([{"ID":"shopfront","Scope":["default","shop-1"]}])");
  CHECK(found(all, "services")
        == R"([{"ID":"shop-web","Scope":["default","shop-1","shopfront"]},)"
           R"({"ID":"shop-admin","Scope":["default","shop-1","shopfront","shop-server"]}])");
  CHECK(found(all, "tasks")
        == R"([{"ID":"shop-server","Scope":["default","shop-1","shopfront"]}])");
  CHECK(found(all, "images")
        == R"([{"ID":"registry/shop:1","Scope":["default","shop-1","shopfront","shop-server"]}])");
  CHECK(found(all, "commands")
        == R"([{"ID":"/usr/bin/shoplog","Scope":["default","shop-1","shopfront","log"]}])");
  CHECK(found(all, "classes")
        == R"([{"ID":"org.Shop","Scope":["default","shop-1","shopfront","import"]}])");
  CHECK(found(all, "evals") == "[]");
  CHECK(found(all, "nodes").empty());
  CHECK(all.at("Truncations").as_object().at("nodes") == false);
  CHECK(all.at("KnownLeader") == true);
  CHECK(all.at("Index").to_number<std::uint64_t>() > 0);
}

TEST_CASE("fuzzy search: a context is searched alone, and what it tells of itself goes with it") {
  ApiFixture fixture;
  register_shop(fixture);
  auto& state = fixture.state();
  state.register_node({.id = own_node});
  state.register_job({.id = "web"}, {.id = uuid(1), .job = "web"});
  state.place({{.id = uuid(11), .node = own_node, .eval = uuid(1)}});

  const auto allocs = search(fixture, R"({"Text":"web","Context":"allocs"})");
  CHECK(allocs.at("Matches").as_object().size() == 1);
  CHECK(allocs.at("Matches").as_object().at("allocs").as_array().at(0).at("Scope")
        == json::array{"default", uuid(11)});
  CHECK(json::serialize(allocs.at("Truncations")) == R"({"allocs":false})");
  CHECK(found(search(fixture, R"({"Text":"efau","Context":"namespaces"})"), "namespaces")
        == R"([{"ID":"default"}])");
  CHECK(found(search(fixture, R"({"Text":"efau","Context":"node_pools"})"), "node_pools")
        == R"([{"ID":"default","Scope":["default"]}])");
  CHECK(found(search(fixture, R"({"Text":")" + uuid(1).substr(0, 8) + R"(","Context":"evals"})"),
              "evals")
            .starts_with(R"([{"ID":")" + uuid(1)));
}

TEST_CASE("fuzzy search: other namespaces are searched where they are asked for") {
  ApiFixture fixture;
  fixture.add_namespace("other");
  register_small(fixture, "far", "other");

  const std::string body = R"({"Text":"far","Context":"jobs"})";
  CHECK(found(search(fixture, body), "jobs").empty());
  const auto scope = R"([{"ID":"far","Scope":["other","far"]}])";
  CHECK(found(search(fixture, body, "?namespace=other"), "jobs") == scope);
  CHECK(found(search(fixture, body, "?namespace=*"), "jobs") == scope);
}

TEST_CASE("fuzzy search: what is not looked at is told as missing") {
  ApiFixture fixture{[](ApiOptions& options) {
    options.search.most_objects = 2;
    options.search.most_matches = 1;
  }};
  for (const auto* id : {"web-a", "web-b", "web-c"})
    register_small(fixture, id, "default");

  const auto by_objects = search(fixture, R"({"Text":"-c","Context":"jobs"})");
  CHECK(found(by_objects, "jobs").empty());
  CHECK(by_objects.at("Truncations").as_object().at("jobs") == true);
  const auto by_matches = search(fixture, R"({"Text":"web","Context":"jobs"})");
  CHECK(found(by_matches, "jobs") == R"([{"ID":"web-a","Scope":["default","web-a"]}])");
}

TEST_CASE("fuzzy search: is refused with a reason") {
  ApiFixture fixture;
  CHECK(fixture.refusal("PUT", "/v1/search/fuzzy", R"({"Text":"a"})")
        == "400 fuzzy search query must be at least 2 characters, got 1");
  CHECK(fixture.refusal("POST", "/v1/search/fuzzy", R"({"Text":"ab","Context":"groups"})")
            .starts_with("400 context must be one of"));
  CHECK(fixture.refusal("POST", "/v1/search/fuzzy", R"({"Text":"ab"})")
            .ends_with(" or 'all' for all contexts; got \"\""));
  CHECK(fixture.refusal("PUT", "/v1/search/fuzzy", R"({"Text":1})").starts_with("400 json: "));
  CHECK(fixture.refusal("GET", "/v1/search/fuzzy", "") == "405 Invalid method");
  ApiFixture without{[](ApiOptions& options) { options.search.fuzzy = false; }};
  CHECK(without.refusal("PUT", "/v1/search/fuzzy", R"({"Text":"ab"})")
        == "400 fuzzy search is not enabled");
}
