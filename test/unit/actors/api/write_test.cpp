// Writes and actions: what reaches the actors, what comes back, and what is refused before.
#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

const std::string group
    = R"([{"Name":"g","Tasks":[{"Name":"t","Driver":"raw_exec","Config":{"command":"/bin/true"}}]}])";

std::string job_body(const std::string& id, const std::string& more = "") {
  return R"({"Job":{"ID":")" + id + R"(","Datacenters":["dc1"],"TaskGroups":)" + group + "}" + more
         + "}";
}

}  // namespace

TEST_CASE("write: a job is canonicalized and handed to the server") {
  ApiFixture fixture;

  const auto response = fixture.send("PUT", "/v1/jobs?namespace=team",
                                     job_body("web", R"(,"EnforceIndex":true,"JobModifyIndex":7)"));

  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  CHECK(response.header("X-Nomad-Index") == "22");
  CHECK(response.header("X-Nomad-Knownleader") == "");
  CHECK(response.body
        == R"({"EvalCreateIndex":21,"EvalID":"eval-1","Index":22,"KnownLeader":false,)"
           R"("LastContact":0,"NextToken":"","JobModifyIndex":20,"Warnings":""})");
  REQUIRE(fixture.played->registered.size() == 1);
  const auto& asked = fixture.played->registered[0];
  CHECK(asked.enforce_index);
  CHECK(asked.job_modify_index == 7);
  CHECK(view(asked.job->getNamespace()) == "team");
  CHECK(view(asked.job->getName()) == "web");
  CHECK(view(asked.job->getType()) == "service");
  CHECK(asked.job->getPriority() == 50);
  CHECK(asked.job->getTaskGroups()[0].getCount() == 1);
  CHECK(asked.job->getSubmitTime() > 0);
}

TEST_CASE("write: bad registrations are refused before the server sees them") {
  ApiFixture fixture;
  const std::pair<std::string, std::string> cases[] = {
      {"", "400 Request body is empty"},
      {"x", "400 invalid character 'x' looking for beginning of value (byte 0)"},
      {R"({"Job":)", "400 unexpected EOF"},
      {"[]", "400 json: cannot unmarshal array into Go value of a request"},
      {"{}", "400 Job must be specified"},
      {R"({"Job":5})",
       "400 json: cannot unmarshal number into Go struct field JobRegisterRequest.Job of type "
       "object"},
      {R"({"Job":{"ID":"web","Priority":"high"}})",
       "400 json: cannot unmarshal string into Go struct field Job.Job.Priority of type int"},
      {R"({"Job":{}})", "400 Job ID hasn't been provided"},
      {job_body("web", R"(,"EvalPriority":101)"),
       "400 Eval priority must be between 1 and 100 inclusively"},
      {job_body("web", R"(,"EnforceIndex":"yes")"),
       "400 json: cannot unmarshal string into Go struct field JobRegisterRequest.EnforceIndex of "
       "type bool"},
  };
  for (const auto& [body, expected] : cases) {
    CAPTURE(body);
    CHECK(fixture.refusal("PUT", "/v1/jobs", body) == expected);
  }
  CHECK(fixture.refusal("PUT", "/v1/job/other", job_body("web"))
        == "400 Job ID does not match name");
  CHECK(fixture.refusal("PUT", "/v1/jobs?region=mars", job_body("web")) == "500 No path to region");
  CHECK(fixture.refusal("PUT", "/v1/jobs", R"({"Job":{"ID":"web"}})").starts_with("500 "));
  CHECK(
      fixture
          .refusal(
              "PUT", "/v1/jobs",
              R"({"Job":{"ID":"web","TaskGroups":[{"Name":"g","Count":1099511627776,"Tasks":[{"Name":"t","Driver":"d"}]}]}})")
          .starts_with("500 "));
  CHECK(fixture.refusal("PUT", "/v1/jobs", std::string(100'000, '[')).starts_with("400 "));
  CHECK(fixture.played->registered.empty());
}

TEST_CASE("write: huge bodies and half requests are refused") {
  ApiFixture fixture{[](ApiOptions& options) { options.http.body_bytes = 100'000; }};

  CHECK(fixture.send("PUT", "/v1/jobs", std::string(100'001, ' ')).status == 413);
  CHECK(fixture.send("PUT", "/v1/jobs", job_body("web")).status == 200);
}

TEST_CASE("write: the server's errors keep their words and get their status") {
  ApiFixture fixture;
  const auto refuse = [&](Errc code, const std::string& what) {
    {
      const std::lock_guard lock{fixture.played->guard};
      fixture.played->refusal = Error{code, what};
    }
    return fixture.refusal("PUT", "/v1/jobs", job_body("web"));
  };

  CHECK(refuse(Errc::unavailable, "No cluster leader") == "500 No cluster leader");
  CHECK(refuse(Errc::rejected, "Enforcing job modify index 0: job already exists")
        == "500 Enforcing job modify index 0: job already exists");
  CHECK(refuse(Errc::invalid_argument, "no") == "400 no");
  CHECK(refuse(Errc::permission_denied, "x: Permission denied") == "403 Permission denied");
  CHECK(refuse(Errc::overloaded, "too much") == "429 too much");
}

TEST_CASE("write: jobs are stopped, evaluated, dispatched") {
  ApiFixture fixture;

  const auto stopped = fixture.send("DELETE", "/v1/job/a%2Fb?purge=true&namespace=team");
  CHECK(json::parse(stopped.body).as_object().at("VolumeEvalID") == "");
  CHECK(fixture.played->deregistered.at(0).job_id == "a/b");
  CHECK(fixture.played->deregistered.at(0).ns == "team");
  CHECK(fixture.played->deregistered.at(0).purge);
  CHECK(fixture.refusal("DELETE", "/v1/job/web?purge=x", "")
        == "500 Failed to parse value of \"purge\" (x) as a bool: strconv.ParseBool: parsing "
           "\"x\": invalid syntax");

  CHECK(fixture.send("PUT", "/v1/job/web/evaluate").status == 200);
  CHECK(fixture
            .send("PUT", "/v1/job/web/evaluate",
                  R"({"JobID":"web","EvalOptions":{"ForceReschedule":true}})")
            .status
        == 200);
  CHECK_FALSE(fixture.played->evaluated.at(0).force_reschedule);
  CHECK(fixture.played->evaluated.at(1).force_reschedule);
  CHECK(fixture.refusal("PUT", "/v1/job/web/evaluate", R"({"JobID":"x"})")
        == "400 JobID not same as job name");

  const auto dispatched = fixture.send("POST", "/v1/job/web/dispatch?idempotency_token=k",
                                       R"({"Payload":"aGVsbG8=","Meta":{"a":"b"}})");
  CHECK(json::parse(dispatched.body).as_object().at("DispatchedJobID") == "web/dispatch-1");
  CHECK(fixture.played->dispatched.at(0).payload == "hello");
  CHECK(fixture.played->dispatched.at(0).meta.at(0).second == "b");
  CHECK(fixture.played->dispatched.at(0).idempotency_token == "k");
  CHECK(fixture.refusal("POST", "/v1/job/web/dispatch", R"({"Payload":"%"})").starts_with("400 "));
  CHECK(fixture.refusal("POST", "/v1/job/web/revert", R"({"JobID":"x"})")
        == "400 Job ID does not match");
  CHECK(fixture.send("POST", "/v1/job/web/stable", R"({"JobID":"web","JobVersion":1})").body
        == R"({"Index":41})");
}

TEST_CASE("write: a plan shows what would happen and why not") {
  ApiFixture fixture;

  const auto response = fixture.send("PUT", "/v1/job/web/plan", job_body("web", R"(,"Diff":true)"));

  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  const auto plan = json::parse(response.body).as_object();
  CHECK(plan.at("Annotations")
            .as_object()
            .at("DesiredTGUpdates")
            .as_object()
            .at("web")
            .as_object()
            .at("Place")
        == 2);
  CHECK(plan.at("FailedTGAllocs").as_object().at("web").as_object().at("NodesEvaluated") == 3);
  CHECK(plan.at("Diff").as_object().at("Type") == "Added");
  CHECK(plan.at("NextPeriodicLaunch").is_null());
  CHECK(plan.at("CreatedEvals").is_null());
  CHECK(fixture.refusal("PUT", "/v1/job/web/plan", "{\"Job\":{}}")
        == "400 Job must have a valid ID");
}

TEST_CASE("write: job files are parsed and jobs validated") {
  ApiFixture fixture;

  CHECK(fixture.refusal("POST", "/v1/jobs/parse", "{}") == "400 Job spec is empty");
  CHECK(fixture.refusal("POST", "/v1/jobs/parse", R"({"JobHCL":"job {"})")
            .starts_with("400 Failed to parse job: input.hcl:1,"));
  const auto parsed = fixture.send(
      "POST", "/v1/jobs/parse",
      R"({"JobHCL":"job \"web\" {\n group \"g\" {\n task \"t\" {\n driver = \"raw_exec\"\n }\n }\n }","Canonicalize":true})");
  CAPTURE(parsed.body);
  CHECK(json::parse(parsed.body).as_object().at("ID") == "web");
  CHECK(json::parse(parsed.body).as_object().at("Priority") == 50);

  const auto good
      = json::parse(fixture.send("PUT", "/v1/validate/job", job_body("web")).body).as_object();
  CHECK(good.at("ValidationErrors").is_null());
  const auto bad
      = json::parse(fixture.send("PUT", "/v1/validate/job", R"({"Job":{"ID":"web"}})").body)
            .as_object();
  CHECK(bad.at("ValidationErrors").as_array().size() >= 1);
  CHECK(bad.at("Error").as_string().starts_with("1 error occurred"));
}

TEST_CASE("write: allocations, nodes and the cluster") {
  ApiFixture fixture;

  const auto stopped
      = fixture.send("PUT", "/v1/allocation/" + own_alloc + "/stop?no_shutdown_delay=true");
  CHECK(stopped.body == R"({"EvalID":"eval-1","Index":43})");
  CHECK(fixture.played->stopped.at(0).no_shutdown_delay);
  CHECK(fixture.refusal("PUT", "/v1/allocation/x/stop?no_shutdown_delay=maybe", "")
            .starts_with("500 no_shutdown_delay value is not a boolean: "));

  const auto eligible = fixture.send("PUT", "/v1/node/" + own_node + "/eligibility",
                                     R"({"Eligibility":"ineligible"})");
  CHECK(eligible.body
        == R"({"EvalCreateIndex":45,"EvalIDs":["eval-1"],"Index":45,"NodeModifyIndex":0})");
  CHECK_FALSE(fixture.played->eligibility.at(0).eligible);
  CHECK(fixture.refusal("PUT", "/v1/node/" + own_node + "/eligibility", R"({"Eligibility":"x"})")
        == "500 invalid scheduling eligibility \"x\"");
  CHECK(fixture.send("PUT", "/v1/node/" + own_node + "/purge").status == 200);

  const auto collected = fixture.send("PUT", "/v1/system/gc");
  CHECK(collected.status == 200);
  CHECK(collected.body == "");
  CHECK(collected.header("Content-Type") == "");
  CHECK(fixture.refusal("POST", "/v1/system/gc", "") == "405 Invalid method");
  CHECK(fixture.json("/v1/operator/scheduler/configuration")
            .as_object()
            .at("SchedulerConfig")
            .as_object()
            .at("SchedulerAlgorithm")
        == "binpack");
  CHECK(fixture
            .send("PUT", "/v1/operator/scheduler/configuration?cas=5",
                  R"({"SchedulerAlgorithm":"spread"})")
            .body
        == R"({"Index":51,"Updated":true})");
  CHECK(fixture.refusal("PUT", "/v1/operator/scheduler/configuration",
                        R"({"SchedulerAlgorithm":"zz"})")
        == "400 invalid scheduler algorithm: zz");
  CHECK(
      fixture.send("PUT", "/v1/deployment/fail/" + uuid(1)).body
      == R"({"DeploymentModifyIndex":48,"EvalCreateIndex":48,"EvalID":"eval-1","Index":48,"RevertedJobVersion":null})");
  CHECK(fixture.refusal("PUT", "/v1/deployment/pause/x", R"({"DeploymentID":"y"})")
        == "400 Deployment ID does not match");
  CHECK(fixture.refusal("DELETE", "/v1/evaluations", R"({"EvalIDs":["a"],"Filter":"b"})")
        == "400 evals cannot be deleted by both ID and filter");
  CHECK(fixture.send("DELETE", "/v1/evaluations", R"({"EvalIDs":["a"]})").body
        == R"({"Count":1,"Index":44})");
}
