// /v1/jobs/statuses: what is shown of a job, in which order, in pages, and of those that are named.
#include <future>

#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

std::string small_job(const std::string& id, const std::string& more = "") {
  return R"({"Job":{"ID":")" + id + R"(","Datacenters":["dc1"],)" + more
         + R"("TaskGroups":[{"Name":"g","Count":2,"Tasks":[{"Name":"t","Driver":"raw_exec",)"
         + R"("Config":{"command":"/bin/true"}}]}]}})";
}

void add(ApiFixture& fixture, const std::string& id, const std::string& more = "") {
  REQUIRE(fixture.send("PUT", "/v1/jobs", small_job(id, more)).status == 200);
}

/// The next page's token, or "".
std::string next_of(const net::ClientResponse& answer) {
  return std::string{answer.header("X-Nomad-NextToken")};
}

}  // namespace

TEST_CASE("job statuses: what changed last comes first, in pages") {
  ApiFixture fixture;
  for (const auto* id : {"a", "b", "c"})
    add(fixture, id);
  add(fixture, "a", R"("Priority":70,)");
  CHECK(texts_of(fixture.json("/v1/jobs/statuses"), "ID") == "a,c,b");
  CHECK(texts_of(fixture.json("/v1/jobs/statuses?reverse=true"), "ID") == "b,c,a");

  auto page = fixture.get("/v1/jobs/statuses?per_page=2");
  CHECK(texts_of(json::parse(page.body), "ID") == "a,c");
  page = fixture.get("/v1/jobs/statuses?per_page=2&next_token=" + next_of(page));
  CHECK(texts_of(json::parse(page.body), "ID") == "b");
  CHECK(next_of(page).empty());
  page = fixture.get("/v1/jobs/statuses?per_page=1&reverse=true");
  page = fixture.get("/v1/jobs/statuses?per_page=2&reverse=true&next_token=" + next_of(page));
  CHECK(texts_of(json::parse(page.body), "ID") == "c,a");
  CHECK(texts_of(fixture.json("/v1/jobs/statuses?filter=Priority%20%3D%3D%2070"), "ID") == "a");
}

TEST_CASE("job statuses: a job shows its groups' counts, and a parent its children") {
  ApiFixture fixture;
  add(fixture, "web", R"("Meta":{"pack.name":"p"},)");
  add(fixture, "work", R"("Type":"batch","ParameterizedJob":{"Payload":"optional"},)");
  REQUIRE(fixture.send("PUT", "/v1/job/work/dispatch", "{}").status == 200);
  const auto all = fixture.json("/v1/jobs/statuses").as_array();
  REQUIRE(all.size() == 2);
  const auto& parent = all[0].as_object();
  CHECK(parent.at("ID") == "work");
  CHECK(parent.at("Allocs").is_null());
  CHECK(json::serialize(parent.at("ChildStatuses")) == R"(["pending"])");
  CHECK(parent.at("LatestDeployment").is_null());
  const auto& web = all[1].as_object();
  CHECK(web.at("GroupCountSum") == 2);
  CHECK(web.at("IsPack") == true);
  CHECK(web.at("ChildStatuses").is_null());
  CHECK(web.at("Allocs").as_array().empty());
  CHECK(web.at("Status") == "pending");
  const auto with_children = fixture.json("/v1/jobs/statuses?include_children=true").as_array();
  REQUIRE(with_children.size() == 3);
}

TEST_CASE("job statuses: who names jobs waits for those alone") {
  ApiFixture fixture;
  add(fixture, "a");
  add(fixture, "b");
  const std::string body = R"({"Jobs":[{"ID":"a"}]})";
  const std::string index{fixture.send("POST", "/v1/jobs/statuses", body).header("X-Nomad-Index")};
  const auto path = "/v1/jobs/statuses?wait=60s&index=" + index;
  auto later = std::async(std::launch::async, [&] { return fixture.send("POST", path, body); });
  REQUIRE(fixture.has_waiting(1));
  add(fixture, "b", R"("Priority":60,)");
  CHECK(fixture.has_waiting(1));
  CHECK(later.wait_for(std::chrono::seconds{0}) == std::future_status::timeout);
  add(fixture, "a", R"("Priority":60,)");
  const auto answer = later.get();
  CHECK(answer.status == 200);
  CHECK(answer.header("X-Nomad-Index") != index);
}

TEST_CASE("job statuses: those that are named, and what is asked wrongly") {
  ApiFixture fixture;
  fixture.add_namespace("team");
  add(fixture, "a");
  add(fixture, "b");
  REQUIRE(fixture.send("PUT", "/v1/jobs?namespace=team", small_job("c")).status == 200);
  const auto named = [&](const std::string& body) {
    const auto answer = fixture.send("POST", "/v1/jobs/statuses?namespace=*", body);
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
    return texts_of(json::parse(answer.body), "ID");
  };
  CHECK(
      named(
          R"({"Jobs":[{"ID":"a","Namespace":"default"},{"ID":"c","Namespace":"team"},{"ID":"none"}]})")
      == "c,a");
  CHECK(named(R"({"Jobs":[{"ID":"b"}]})") == "b");
  CHECK(named("{}") == "c,b,a");
  CHECK(texts_of(fixture.json("/v1/jobs/statuses"), "ID") == "b,a");
  CHECK(fixture.refusal("POST", "/v1/jobs/statuses", R"({"Jobs":7})").starts_with("400 "));
  CHECK(fixture.refusal("POST", "/v1/jobs/statuses", R"({"Jobs":[{"ID":7}]})").starts_with("400 "));
  CHECK(fixture.refusal("/v1/jobs/statuses?include_children=maybe").find("include_children") < 60);
  std::string many = R"({"Jobs":[)";
  for (int at = 0; at <= 10'000; ++at)
    many += R"({"ID":"job-)" + std::to_string(at) + R"("},)";
  many.back() = ']';
  CHECK(fixture.refusal("POST", "/v1/jobs/statuses", many + '}')
        == "400 Jobs names more than 10000 jobs; ask for them in parts");
}
