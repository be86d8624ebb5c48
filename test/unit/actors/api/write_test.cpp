// Writes and actions: what reaches the actors, what comes back, and what is refused before.
#include <doctest/doctest.h>

#include "runtime/object/json_codec.hpp"
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

TEST_CASE("write: a job is canonicalized and written") {
  ApiFixture fixture;
  fixture.add_namespace("team");

  const auto response = fixture.send("PUT", "/v1/jobs?namespace=team",
                                     job_body("web", R"(,"EnforceIndex":true,"JobModifyIndex":0)"));

  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  const auto index = std::to_string(fixture.state().index);
  CHECK(response.header("X-Nomad-Index") == index);
  CHECK(response.header("X-Nomad-Knownleader") == "");
  const auto job = fixture.state().now().job("team", "web");
  REQUIRE(job);
  std::string eval;
  const auto snapshot = fixture.state().now();
  for (const auto& entry : snapshot.evals_by_job("team", "web"))
    eval = copy(entry.value()->getId());
  CHECK(response.body
        == R"({"EvalCreateIndex":)" + index + R"(,"EvalID":")" + eval + R"(","Index":)" + index
               + R"(,"KnownLeader":false,"LastContact":0,"NextToken":"","JobModifyIndex":)" + index
               + R"(,"Warnings":""})");
  CHECK(view(job->getName()) == "web");
  CHECK(view(job->getType()) == "service");
  CHECK(job->getPriority() == 50);
  CHECK(job->getTaskGroups()[0].getCount() == 1);
  CHECK(job->getSubmitTime() > 0);
  CHECK(fixture
            .refusal("PUT", "/v1/jobs?namespace=team",
                     job_body("web", R"(,"EnforceIndex":true,"JobModifyIndex":7)"))
            .starts_with("409 Enforcing job modify index 7"));
}

TEST_CASE("write: a job as deep as requests may be is compared, shown and planned") {
  ApiFixture fixture;
  // {"Job":{"TaskGroups":[{"Tasks":[{"Config":{"list": are seven levels.
  const auto body = [](const std::string& word, int levels) {
    const auto lists = std::string(levels, '[') + '"' + word + '"' + std::string(levels, ']');
    return R"({"Job":{"ID":"deep","Datacenters":["dc1"],"TaskGroups":[{"Name":"g","Tasks":[{)"
           R"("Name":"t","Driver":"mock_driver","Config":{"list":)"
           + lists + R"(}}]}]},"Diff":true})";
  };
  const int most = static_cast<int>(FlatJson::request_depth) - 7;

  REQUIRE(fixture.send("PUT", "/v1/jobs", body("one", most)).status == 200);
  REQUIRE(fixture.send("PUT", "/v1/jobs", body("two", most)).status == 200);

  const auto versions = fixture.get("/v1/job/deep/versions?diffs=true");
  CHECK(versions.status == 200);
  CHECK(versions.body.find(R"("Old":"one","New":"two")") != std::string::npos);
  CHECK(parse_json(versions.body).has_value());
  const auto plan = fixture.send("PUT", "/v1/job/deep/plan", body("three", most));
  CHECK(plan.status == 200);
  CHECK(plan.body.find(R"("Old":"two","New":"three")") != std::string::npos);
  CHECK(fixture.refusal("PUT", "/v1/jobs", body("four", most + 1)).starts_with("400 "));
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
    const auto& shown = body;
    CAPTURE(shown);
    CHECK(fixture.refusal("PUT", "/v1/jobs", body) == expected);
  }
  CHECK(fixture.refusal("PUT", "/v1/job/other", job_body("web"))
        == "400 Job ID does not match name");
  CHECK(fixture.refusal("PUT", "/v1/jobs?region=mars", job_body("web")) == "400 No path to region");
  CHECK(fixture.refusal("PUT", "/v1/jobs", R"({"Job":{"ID":"web"}})").starts_with("400 "));
  CHECK(
      fixture
          .refusal(
              "PUT", "/v1/jobs",
              R"({"Job":{"ID":"web","TaskGroups":[{"Name":"g","Count":1099511627776,"Tasks":[{"Name":"t","Driver":"d"}]}]}})")
          .starts_with("400 "));
  CHECK(fixture.refusal("PUT", "/v1/jobs", std::string(100'000, '[')).starts_with("400 "));
  CHECK(fixture.state().job_status("web") == "absent");
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

  CHECK(refuse(Errc::no_leader, "No cluster leader") == "500 No cluster leader");
  CHECK(refuse(Errc::rejected, "a rule forbids it: Permission denied")
        == "400 a rule forbids it: Permission denied");
  CHECK(refuse(Errc::invalid_argument, "no") == "400 no");
  CHECK(refuse(Errc::permission_denied, "Permission denied") == "403 Permission denied");
  CHECK(refuse(Errc::overloaded, "too much") == "429 too much");
}

TEST_CASE("write: a job whose id ends as a route does is meant by its encoded id") {
  ApiFixture fixture;
  for (const char* id : {"x/plan", "x/allocations"})
    REQUIRE(fixture.send("PUT", "/v1/jobs", job_body(id)).status == 200);
  CHECK(json::parse(fixture.get("/v1/job/x%2Fplan").body).as_object().at("ID") == "x/plan");
  CHECK(json::parse(fixture.get("/v1/job/x%2Fallocations?stale").body).as_object().at("ID")
        == "x/allocations");
  CHECK(fixture.get("/v1/job/x%2Fallocations/allocations").body == "[]");
  REQUIRE(fixture.send("DELETE", "/v1/job/x%2Fplan?purge=true").status == 200);
  CHECK_FALSE(fixture.state().now().job("default", "x/plan"));
}

TEST_CASE("write: jobs are stopped and evaluated") {
  ApiFixture fixture;
  fixture.add_namespace("team");
  REQUIRE(fixture.send("PUT", "/v1/jobs?namespace=team", job_body("a/b")).status == 200);
  REQUIRE(fixture.send("PUT", "/v1/jobs", job_body("web")).status == 200);

  const auto stopped = fixture.send("DELETE", "/v1/job/a%2Fb?purge=true&namespace=team");
  CHECK(json::parse(stopped.body).as_object().at("VolumeEvalID") == "");
  CHECK_FALSE(fixture.state().now().job("team", "a/b"));
  CHECK(fixture.refusal("DELETE", "/v1/job/web?purge=x", "")
        == "400 Failed to parse value of \"purge\" (x) as a bool: strconv.ParseBool: parsing "
           "\"x\": invalid syntax");
  CHECK(fixture.refusal("DELETE", "/v1/job/web?purge=%1b%ff%00%C2%85%C3%BC%0A", "")
            .starts_with("400 Failed to parse value of \"purge\" (\\x1b\\xff\\x00\\u0085ü\n) as"));
  CHECK(fixture.refusal("DELETE", "/v1/job/web?eval_priority=x", "")
        == "400 failed to parse value of \"eval_priority\" (x) as an int");
  CHECK(fixture.refusal("DELETE", "/v1/job/web?eval_priority=101", "").starts_with("400 "));

  const auto before = fixture.state().index;
  CHECK(fixture.send("PUT", "/v1/job/web/evaluate").status == 200);
  CHECK(fixture
            .send("PUT", "/v1/job/web/evaluate",
                  R"({"JobID":"web","EvalOptions":{"ForceReschedule":true}})")
            .status
        == 200);
  CHECK(fixture.state().index == before + 2);
  CHECK(fixture.refusal("PUT", "/v1/job/none/evaluate", "").starts_with("404 job not found"));
  CHECK(fixture.refusal("PUT", "/v1/job/web/evaluate", R"({"JobID":"x"})")
        == "400 JobID not same as job name");
  CHECK(fixture.refusal("POST", "/v1/job/web/revert", R"({"JobID":"x"})")
        == "400 Job ID does not match");
  CHECK(
      fixture.send("POST", "/v1/job/web/stable", R"({"JobID":"web","JobVersion":0,"Stable":true})")
          .body
      == R"({"Index":)" + std::to_string(before + 3) + "}");
  CHECK(fixture.state().now().job("default", "web")->getStable());
}

TEST_CASE("write: parameterized jobs are dispatched") {
  ApiFixture fixture;
  const std::string job
      = R"({"Job":{"ID":"sum","Type":"batch","Datacenters":["dc1"],"ParameterizedJob":{"Payload":"optional","MetaOptional":["a"]},"TaskGroups":)"
        + group + "}}";
  REQUIRE(fixture.send("PUT", "/v1/jobs", job).status == 200);

  const auto dispatched = fixture.send("POST", "/v1/job/sum/dispatch?idempotency_token=k",
                                       R"({"Payload":"aGVsbG8=","Meta":{"a":"b"}})");

  CAPTURE(dispatched.body);
  const auto answer = json::parse(dispatched.body).as_object();
  const std::string id{answer.at("DispatchedJobID").as_string()};
  CHECK(id.starts_with("sum/dispatch-"));
  CHECK(answer.at("JobCreateIndex") == fixture.state().index);
  const auto child = fixture.state().now().job("default", id);
  REQUIRE(child);
  CHECK(child->getPayload().asChars() == kj::StringPtr{"hello"}.asArray());
  REQUIRE(child->getMeta().size() == 1);
  CHECK(view(child->getMeta()[0].getValue()) == "b");
  const auto again
      = json::parse(fixture.send("POST", "/v1/job/sum/dispatch?idempotency_token=k", "{}").body)
            .as_object();
  CHECK(again.at("DispatchedJobID").as_string() == id);
  CHECK(again.at("EvalID") == "");
  CHECK(again.at("JobCreateIndex") == answer.at("JobCreateIndex"));
  CHECK(child->getPriority() == 50);
  const auto urgent
      = json::parse(fixture.send("POST", "/v1/job/sum/dispatch", R"({"Priority":70})").body);
  const std::string urgent_id{urgent.at("DispatchedJobID").as_string()};
  CHECK(fixture.state().now().job("default", urgent_id)->getPriority() == 70);
  CHECK(fixture.state().now().eval(std::string{urgent.at("EvalID").as_string()})->getPriority()
        == 70);
  for (const char* priority : {"-1", "101"})
    CHECK(fixture.refusal("POST", "/v1/job/sum/dispatch",
                          R"({"Priority":)" + std::string{priority} + "}")
          == "400 job priority must be between [1, 100]");
  CHECK(fixture.refusal("POST", "/v1/job/sum/dispatch", R"({"Payload":"%"})").starts_with("400 "));
  CHECK(fixture.refusal("POST", "/v1/job/sum/dispatch", R"({"IdPrefixTemplate":"a\u0000"})")
        == "400 IdPrefixTemplate contains a null character");
  CHECK(fixture
            .refusal("POST", "/v1/job/sum/dispatch",
                     R"({"IdPrefixTemplate":")" + std::string(2'000, 'x') + R"("})")
            .starts_with("400 IdPrefixTemplate has more than 1024 bytes"));
  CHECK(fixture
            .refusal("POST", "/v1/job/sum/dispatch",
                     R"({"Meta":{"a":")" + std::string(100'000, 'x') + R"("}})")
            .starts_with("400 Meta has 100001 bytes"));
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
            .at("g")
            .as_object()
            .at("Place")
        == 1);
  CHECK(plan.at("FailedTGAllocs").as_object().at("g").as_object().at("NodesEvaluated") == 0);
  CHECK(plan.at("Diff").as_object().at("Type") == "Added");
  CHECK(plan.at("NextPeriodicLaunch").is_null());
  CHECK(plan.at("Placements").is_null());
  CHECK(plan.at("CreatedEvals").as_array().size() == 1);  // blocked: there is no node
  CHECK(fixture.state().job_status("web") == "absent");
  CHECK(fixture.refusal("PUT", "/v1/job/web/plan", "{\"Job\":{}}")
        == "400 Job must have a valid ID");
}

TEST_CASE("write: a plan supposes circumstances, and refuses what is none") {
  ApiFixture fixture;
  const auto plan = [&](const std::string& with) {
    return fixture.refusal(
        "PUT", "/v1/job/web/plan",
        R"({"Job":{"ID":"web","Type":"batch","Datacenters":["dc1"],"TaskGroups":)" + group
            + R"(},"With":)" + with + "}");
  };
  CHECK(plan(R"([{"Drain":"nobody"}])")
        == "404 there is no node \"nobody\" to suppose anything of: node status lists those that "
           "there are");
  for (const auto* wrong :
       {"[{}]", "[7]", R"([{"Drain":"a","Remove":"a"}])", R"([{"Add":1}])", R"([{"Like":"a"}])",
        R"([{"Add":1001,"Like":"a"}])", R"([{"Add":1,"Drain":"a"}])"}) {
    CAPTURE(wrong);
    CHECK(plan(wrong).starts_with("400 each of With must be one of"));
  }
  CHECK(plan(R"([{"Add":-1,"Like":"a"}])").starts_with("400 json: cannot unmarshal"));
  CHECK(plan(R"({"Drain":"a"})").starts_with("400 json: cannot unmarshal object"));
  std::string many = R"([{"Drain":"a"})";
  for (int i = 0; i < 100; ++i)
    many += R"(,{"Drain":"a"})";
  CHECK(plan(many + "]") == "400 a plan may suppose 100 circumstances, not 101");
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

TEST_CASE("write: allocations and nodes") {
  ApiFixture fixture;
  auto& state = fixture.state();
  state.register_node({.id = own_node});
  state.register_job({}, {});
  state.place({{.id = own_alloc, .node = own_node}});

  const auto stopped
      = fixture.send("PUT", "/v1/allocation/" + own_alloc + "/stop?no_shutdown_delay=true");
  const auto answer = json::parse(stopped.body).as_object();
  CHECK(answer.at("Index") == state.index);
  CHECK(state.now().eval(std::string{answer.at("EvalID").as_string()}));
  CHECK(state.now().alloc(own_alloc)->alloc->transition().getNoShutdownDelay().getValue());
  CHECK(fixture.refusal("PUT", "/v1/allocation/x/stop?no_shutdown_delay=maybe", "")
            .starts_with("400 no_shutdown_delay value is not a boolean: "));

  const auto ineligible = fixture.send("PUT", "/v1/node/" + own_node + "/eligibility",
                                       R"({"Eligibility":"ineligible"})");
  const auto index = std::to_string(state.index);
  CHECK(ineligible.body
        == R"({"EvalCreateIndex":0,"EvalIDs":null,"Index":)" + index + R"(,"NodeModifyIndex":)"
               + index + "}");
  CHECK(state.now().node(own_node)->getSchedulingEligibility()
        == schema::SchedulingEligibility::INELIGIBLE);
  CHECK(fixture.refusal("PUT", "/v1/node/" + own_node + "/eligibility", R"({"Eligibility":"x"})")
        == "400 invalid scheduling eligibility \"x\"");
  const auto evaluated
      = json::parse(fixture.send("PUT", "/v1/node/" + own_node + "/evaluate").body).as_object();
  CHECK(evaluated.at("EvalIDs").as_array().size() == 1);
  CHECK(evaluated.at("EvalCreateIndex") == state.index);
  CHECK(evaluated.at("Features") == 0);
  CHECK(evaluated.at("NumNodes") == 1);
  CHECK(evaluated.at("SchedulingEligibility") == "ineligible");
  CHECK(texts_of(evaluated.at("Servers"), "Datacenter") == "dc1");
  CHECK(fixture.send("PUT", "/v1/node/" + own_node + "/purge").status == 200);
  CHECK_FALSE(state.now().node(own_node));
}

TEST_CASE("write: a node's drain is set, changed and cancelled") {
  ApiFixture fixture;
  auto& state = fixture.state();
  state.register_node({.id = own_node});
  const auto path = "/v1/node/" + own_node + "/drain";

  const auto set = fixture.send(
      "POST", path,
      R"({"DrainSpec":{"Deadline":-1,"IgnoreSystemJobs":true},"Meta":{"message":"why"}})");
  const auto index = std::to_string(state.index);
  CHECK(set.status == 200);
  CHECK(set.body
        == R"({"EvalCreateIndex":0,"EvalIDs":null,"Index":)" + index + R"(,"NodeModifyIndex":)"
               + index + "}");
  auto node = fixture.json("/v1/node/" + own_node).as_object();
  CHECK(node.at("DrainStrategy").at("Deadline") == -1);
  CHECK(node.at("DrainStrategy").at("IgnoreSystemJobs") == true);
  CHECK(node.at("LastDrain").at("Status") == "draining");
  CHECK(node.at("LastDrain").at("Meta").at("message") == "why");
  CHECK(node.at("SchedulingEligibility") == "ineligible");
  CHECK(fixture.refusal("PUT", "/v1/node/" + own_node + "/eligibility",
                        R"({"Eligibility":"eligible"})")
        == "400 can not set node's scheduling eligibility to eligible while it is draining");

  CHECK(fixture.send("PUT", path, R"({"DrainSpec":null,"MarkEligible":true})").status == 200);
  node = fixture.json("/v1/node/" + own_node).as_object();
  CHECK(node.at("DrainStrategy").is_null());
  CHECK(node.at("LastDrain").at("Status") == "canceled");
  CHECK(node.at("SchedulingEligibility") == "eligible");
  CHECK(
      fixture.send("PUT", "/v1/node/" + own_node + "/eligibility", R"({"Eligibility":"eligible"})")
          .body
      == R"({"EvalCreateIndex":0,"EvalIDs":null,"Index":0,"NodeModifyIndex":0})");

  CHECK(fixture.refusal("PUT", "/v1/node/" + uuid(7) + "/drain", "{}") == "404 node not found");
  CHECK(fixture.refusal("PUT", path, "").starts_with("400 "));
  CHECK(fixture.refusal("PUT", path, R"({"DrainSpec":{"Deadline":"1h"}})").starts_with("400 "));
  CHECK(fixture.refusal("PUT", path, R"({"DrainSpec":{"Deadline":9223372036854775807}})")
            .starts_with("400 the deadline of a drain"));
  CHECK(fixture.refusal("PUT", path, R"({"Meta":{"a":1}})").starts_with("400 "));
}

TEST_CASE("write: the cluster's settings and its garbage") {
  ApiFixture fixture;
  auto& state = fixture.state();
  state.register_job({}, {.id = uuid(1), .status = schema::EvalStatus::COMPLETE});

  const auto collected = fixture.send("PUT", "/v1/system/gc");
  CHECK(collected.status == 200);
  CHECK(collected.body == "");
  CHECK(collected.header("Content-Type") == "");
  CHECK_FALSE(state.now().eval(uuid(1)));
  CHECK(fixture.refusal("POST", "/v1/system/gc", "") == "405 Invalid method");
  const auto before = state.index;
  const auto reconciled = fixture.send("PUT", "/v1/system/reconcile/summaries");
  CHECK(reconciled.status == 200);
  CHECK(reconciled.body == "");
  CHECK(state.index == before + 1);
  CHECK(fixture.json("/v1/operator/scheduler/configuration")
            .as_object()
            .at("SchedulerConfig")
            .as_object()
            .at("SchedulerAlgorithm")
        == "binpack");
  const std::string spread = R"({"SchedulerAlgorithm":"spread","PauseEvalBroker":true})";
  CHECK(fixture.send("PUT", "/v1/operator/scheduler/configuration?cas=5000", spread).body
        == R"({"Index":)" + std::to_string(state.index) + R"(,"Updated":false})");
  const auto updated = fixture.send("PUT", "/v1/operator/scheduler/configuration", spread);
  CHECK(updated.body == R"({"Index":)" + std::to_string(state.index) + R"(,"Updated":true})");
  CHECK(fixture.refusal("PUT", "/v1/operator/scheduler/configuration",
                        R"({"SchedulerAlgorithm":"zz"})")
        == "400 invalid scheduler algorithm: zz");

  std::string many = R"({"EvalIDs":["a")";
  for (int i = 0; i < 7281; ++i)
    many += R"(,"a")";
  CHECK(fixture.refusal("DELETE", "/v1/evaluations", many + "]}")
        == "400 request includes 7282 evaluation IDs, must be 7281 or fewer");
  CHECK(fixture.refusal("DELETE", "/v1/evaluations", R"({"EvalIDs":["a"],"Filter":"b"})")
        == "400 evals cannot be deleted by both ID and filter");
  CHECK(fixture.refusal("DELETE", "/v1/evaluations", R"({"EvalIDs":["a"]})")
        == "404 eval not found");
  state.put_eval({.id = uuid(2)});
  const auto deleted
      = fixture.send("DELETE", "/v1/evaluations", R"({"EvalIDs":[")" + uuid(2) + R"("]})");
  CHECK(deleted.body == R"({"Count":1,"Index":)" + std::to_string(state.index) + "}");
  CHECK_FALSE(state.now().eval(uuid(2)));
}

TEST_CASE("write: deployments are failed and paused") {
  ApiFixture fixture;
  auto& state = fixture.state();
  state.register_job();
  state.deploy(uuid(1), 1);

  const auto paused = json::parse(fixture
                                      .send("PUT", "/v1/deployment/pause/" + uuid(1),
                                            R"({"DeploymentID":")" + uuid(1) + R"(","Pause":true})")
                                      .body)
                          .as_object();
  CHECK(paused.at("DeploymentModifyIndex") == state.index);
  CHECK(paused.at("EvalID") == "");  // what is paused is nobody's to schedule
  const auto failed
      = json::parse(fixture.send("PUT", "/v1/deployment/fail/" + uuid(1)).body).as_object();
  CHECK(failed.at("EvalCreateIndex") == state.index);
  CHECK(failed.at("RevertedJobVersion").is_null());
  CHECK(state.now().deployment(uuid(1))->getStatus() == schema::DeploymentState::FAILED);
  CHECK(fixture.refusal("PUT", "/v1/deployment/pause/x", R"({"DeploymentID":"y"})")
        == "400 Deployment ID does not match");
}

TEST_CASE("write: a server that is not ready to lead writes nothing") {
  ApiFixture fixture;
  fixture.leader->set({.leads = true, .ready = false});

  CHECK(fixture.refusal("PUT", "/v1/jobs", job_body("web")) == "500 No cluster leader");
  CHECK(fixture.state().job_status("web") == "absent");
}
