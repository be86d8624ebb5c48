// Scaling of jobs: policies, events, and blocking on both.
#include <future>

#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

std::string scaled_job(const std::string& id, int most = 5) {
  return R"({"Job":{"ID":")" + id
         + R"(","Datacenters":["dc1"],"TaskGroups":[{"Name":"g","Count":1,"Scaling":{"Min":1,"Max":)"
         + std::to_string(most)
         + R"(,"Enabled":true,"Policy":{"cooldown":"1m"}},"Tasks":[{"Name":"t","Driver":"raw_exec",)"
         + R"("Config":{"command":"/bin/true"}}]}]}})";
}

std::string scale(ApiFixture& fixture, const std::string& body) {
  const auto answer = fixture.send("PUT", "/v1/job/web/scale", body);
  return std::to_string(answer.status) + ' ' + answer.body;
}

}  // namespace

TEST_CASE("scaling: policies are listed by job, type and namespace, and read by id") {
  ApiFixture fixture;
  fixture.add_namespace("team");
  REQUIRE(fixture.send("PUT", "/v1/jobs", scaled_job("web")).status == 200);
  REQUIRE(fixture.send("PUT", "/v1/jobs?namespace=team", scaled_job("other")).status == 200);

  const auto list = fixture.json("/v1/scaling/policies").as_array();
  REQUIRE(list.size() == 1);
  const auto& stub = list[0].as_object();
  CHECK(json::serialize(stub.at("Target")) == R"({"Group":"g","Job":"web","Namespace":"default"})");
  CHECK(stub.at("Type") == "horizontal");
  CHECK(stub.at("Enabled") == true);
  CHECK_FALSE(stub.contains("Policy"));
  const auto id = std::string{stub.at("ID").as_string().c_str()};
  const auto policy = fixture.json("/v1/scaling/policy/" + id).as_object();
  CHECK(policy.at("Min") == 1);
  CHECK(policy.at("Max") == 5);
  CHECK(json::serialize(policy.at("Policy")) == R"({"cooldown":"1m"})");
  CHECK(fixture.json("/v1/job/web").at("TaskGroups").at(0).at("Scaling").at("ID") == stub.at("ID"));

  const auto count = [&](const std::string& query) {
    return fixture.json("/v1/scaling/policies?" + query).as_array().size();
  };
  CHECK(count("namespace=*") == 2);
  CHECK(count("namespace=team&job=other") == 1);
  CHECK(count("job=other") == 0);
  CHECK(count("type=hor") == 1);
  CHECK(count("type=vertical_mem") == 0);
  CHECK(count("job=web&type=hor") == 0);
  CHECK(count("job=web&type=horizontal") == 1);
  CHECK(count("prefix=" + id.substr(0, 8)) == 1);
  CHECK(fixture.refusal("/v1/scaling/policy/" + uuid(9)) == "404 policy not found");
}

TEST_CASE("scaling: an autoscaler that waits hears of policies, and of nothing else") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", scaled_job("web")).status == 200);
  const std::string index{fixture.get("/v1/scaling/policies").header("X-Nomad-Index")};
  fixture.state().register_job({.id = "without"});
  CHECK(fixture.get("/v1/scaling/policies").header("X-Nomad-Index") == index);
  auto waiting = std::async(std::launch::async, [&] {
    return fixture.json("/v1/scaling/policies?wait=1m&index=" + index);
  });
  REQUIRE(fixture.has_waiting(1));
  REQUIRE(fixture.send("PUT", "/v1/jobs", scaled_job("second")).status == 200);
  CHECK(waiting.get().as_array().size() == 2);
}

TEST_CASE("scaling: each request leaves an event, with or without a count") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", scaled_job("web")).status == 200);
  CHECK(fixture.json("/v1/job/web/scale").at("TaskGroups").at("g").at("Events").is_null());

  CHECK(
      scale(fixture, R"({"Count":3,"Message":"up","Meta":{"b":1,"a":"x"},"Target":{"Group":"g"}})")
          .starts_with("200 "));
  CHECK(fixture.state().now().job("default", "web")->getTaskGroups()[0].getCount() == 3);
  CHECK(scale(fixture, R"({"Message":"stuck","Error":true,"Target":{"Group":"g"}})")
            .find(R"("EvalID":"")")
        != std::string::npos);
  CHECK(fixture.state().now().job("default", "web")->getVersion() == 1);

  const auto status = fixture.json("/v1/job/web/scale").as_object();
  const auto& events = status.at("TaskGroups").at("g").at("Events").as_array();
  REQUIRE(events.size() == 2);
  CHECK(events[0].at("Message") == "stuck");
  CHECK(events[0].at("Error") == true);
  CHECK(events[0].at("Count").is_null());
  CHECK(events[0].at("EvalID").is_null());
  CHECK(events[1].at("Count") == 3);
  CHECK(events[1].at("PreviousCount") == 1);
  CHECK(events[1].at("EvalID").is_string());
  CHECK(json::serialize(events[1].at("Meta")) == R"({"a":"x","b":1})");
  CHECK(events[1].at("CreateIndex").as_int64() > 0);
}

TEST_CASE("scaling: what is refused leaves neither a version nor an event") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", scaled_job("web")).status == 200);
  const std::pair<const char*, const char*> cases[] = {
      {R"({"Count":2})", "400 missing task group name for scaling action"},
      {R"({"Count":-1,"Target":{"Group":"g"}})", "400 scaling action count can't be negative"},
      {R"({"Count":2,"Error":true,"Target":{"Group":"g"}})",
       "400 scaling action should not contain count if error is true"},
      {R"({"Count":9,"Target":{"Group":"g"}})",
       "400 group count was greater than scaling policy maximum: 9 > 5"},
      {R"({"Count":0,"Target":{"Group":"g"}})",
       "400 group count was less than scaling policy minimum: 0 < 1"},
      {R"({"Count":2,"Target":{"Group":"x"}})",
       "400 task group \"x\" specified for scaling does not exist in job"},
      {R"({"Count":2,"Target":{"Group":"g","Job":"x"}})",
       "400 job ID in payload did not match URL"},
      {R"({"Count":2,"Target":{"Group":"g","Namespace":"x"}})",
       "400 namespace in payload did not match header"},
      {R"({"Count":"2","Target":{"Group":"g"}})",
       "400 json: cannot unmarshal string into Go struct field ScalingRequest.Count of type int"}};
  for (const auto& [body, expected] : cases) {
    const auto& shown = body;
    CAPTURE(shown);
    CHECK(scale(fixture, body) == expected);
  }
  CHECK(fixture.state().now().job("default", "web")->getVersion() == 0);
  CHECK(fixture.json("/v1/job/web/scale").at("TaskGroups").at("g").at("Events").is_null());
  CHECK(fixture.refusal("PUT", "/v1/job/none/scale", R"({"Count":1,"Target":{"Group":"g"}})")
        == "404 job \"none\" not found");
}

TEST_CASE("scaling: messages and meta have a bound") {
  ApiFixture fixture;
  REQUIRE(fixture.send("PUT", "/v1/jobs", scaled_job("web")).status == 200);
  const auto large = std::string(100'000, 'x');
  CHECK(scale(fixture, R"({"Count":2,"Message":")" + large + R"(","Target":{"Group":"g"}})")
        == "400 Message has 100000 bytes, at most 65536 are taken (limits.text_max_kb)");
  CHECK(scale(fixture, R"({"Error":true,"Meta":{"a":")" + large + R"("},"Target":{"Group":"g"}})")
            .starts_with("400 Meta has 100008 bytes"));
  CHECK(fixture.json("/v1/job/web/scale").at("TaskGroups").at("g").at("Events").is_null());
}
