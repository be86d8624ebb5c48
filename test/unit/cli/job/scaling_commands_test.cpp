// scaling policy list and info, job scale and job scaling-events: what is asked, refused and
// printed.
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string first_policy = "11111111-2222-3333-4444-555555555555";
const std::string second_policy = "11aaaaaa-2222-3333-4444-555555555555";

std::string policy(const std::string& id, const std::string& job) {
  return R"({"ID":")" + id
         + R"(","Enabled":true,"Type":"horizontal","Target":{"Namespace":)"
           R"("default","Job":")"
         + job
         + R"(","Group":"api"},"Min":1,"Max":5,)"
           R"("Policy":{"cooldown":"1m"},"CreateIndex":3,"ModifyIndex":4})";
}

struct Scaling : test::FakeAgent {
  Scaling() {
    answer("GET /v1/scaling/policies", "[" + policy(first_policy, "web") + "]");
    answer("GET /v1/scaling/policy/" + first_policy, policy(first_policy, "web"));
    answer("GET /v1/jobs", R"([{"ID":"web","Namespace":"default"}])");
    groups({"api"});
    answer("PUT /v1/job/web/scale", R"({"EvalID":"eval-1","Warnings":""})");
  }

  void groups(const std::vector<std::string>& names) {
    std::string list;
    for (const auto& name : names)
      list += (list.empty() ? "" : ",") + (R"({"Name":")" + name + R"("})");
    answer("GET /v1/job/web", R"({"ID":"web","Namespace":"default","TaskGroups":[)" + list + "]}");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Scaling, "scaling policy list: sorted by what is scaled") {
  answer("GET /v1/scaling/policies",
         "[" + policy(second_policy, "web") + "," + policy(first_policy, "api") + "]");
  CHECK(run(run_scaling_policy_list, {"-job", "web", "-type", "horizontal"}) == 0);
  CHECK(asked.at(0) == "GET /v1/scaling/policies?type=horizontal&job=web");
  CHECK(out
        == "ID        Enabled  Type        Target\n"
           "11111111  true     horizontal  Namespace:default,Job:api,Group:api\n"
           "11aaaaaa  true     horizontal  Namespace:default,Job:web,Group:api\n");
  CHECK(run(run_scaling_policy_list, {"-verbose"}) == 0);
  CHECK(out.find("\n" + first_policy + "  true") != std::string::npos);
  answer("GET /v1/scaling/policies", "[]");
  CHECK(run(run_scaling_policy_list, {}) == 0);
  CHECK(out == "No policies found\n");
  CHECK(run(run_scaling_policy_list, {"extra"}) == 1);
}

TEST_CASE_FIXTURE(Scaling, "scaling policy info: by its id or its beginning") {
  CHECK(run(run_scaling_policy_info, {"1111"}) == 0);
  CHECK(asked.at(0) == "GET /v1/scaling/policies?prefix=1111");
  CHECK(out
        == "ID      = 11111111\nEnabled = true\n"
           "Target  = Namespace:default,Job:web,Group:api\nMin     = 1\nMax     = 5\n\n"
           "Policy:\n{\n    \"cooldown\": \"1m\"\n}\n");
  CHECK(run(run_scaling_policy_info, {"-json", first_policy}) == 0);
  CHECK(out.find("\"Namespace\": \"\",\n    \"Policy\"") != std::string::npos);
  answer("GET /v1/scaling/policies",
         "[" + policy(first_policy, "web") + "," + policy(second_policy, "api") + "]");
  CHECK(run(run_scaling_policy_info, {"11"}) == 1);
  CHECK(err.starts_with("Prefix matched multiple scaling policies\n\nID "));
}

TEST_CASE_FIXTURE(Scaling, "scaling policy info: what is no policy is said") {
  CHECK(run(run_scaling_policy_info, {"1"}) == 1);
  CHECK(err == "Identifier must contain at least two characters.");
  answer("GET /v1/scaling/policies", "[]");
  CHECK(run(run_scaling_policy_info, {"zz"}) == 1);
  CHECK(err == "No scaling policies with prefix or id \"zz\" found");
  for (const auto& arguments : std::vector<std::vector<std::string>>{{}, {"a", "b"}}) {
    CHECK(run(run_scaling_policy_info, arguments) == 1);
    CHECK(err.starts_with("This command takes one of the following argument conditions:"));
  }
  CHECK(run(run_scaling_policy_info, {"-json"}) == 0);
  CHECK(out == "[]\n");
}

TEST_CASE_FIXTURE(Scaling, "job scale: the only group, or the one that is named") {
  CHECK(run(run_job_scale, {"-detach", "web", "3"}) == 0);
  CHECK(written()
        == R"(PUT /v1/job/web/scale {"Count":3,"Target":{"Group":"api"},)"
           R"("Message":"submitted using nomadctl"})");
  CHECK(out == "Evaluation ID: eval-1\n");
  groups({"api", "db"});
  CHECK(run(run_job_scale, {"-detach", "web", "db", "0"}) == 0);
  CHECK(written().find(R"("Count":0,"Target":{"Group":"db"})") != std::string::npos);
  CHECK(run(run_job_scale, {"-detach", "web", "3"}) == 1);
  CHECK(written().empty());
}

TEST_CASE_FIXTURE(Scaling, "job scale: what is no count or no call of it is said") {
  CHECK(run(run_job_scale, {"web", "x"}) == 1);
  CHECK(err
        == "Failed to convert count string to int: strconv.Atoi: parsing \"x\": invalid syntax");
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{}, {"web"}, {"web", "api", "3", "more"}}) {
    CHECK(run(run_job_scale, arguments) == 1);
    CHECK(err == "Command requires at least two arguments and no more than three");
  }
  answer("PUT /v1/job/web/scale", "job scaling blocked due to active deployment", 400);
  CHECK(run(run_job_scale, {"web", "3"}) == 1);
  CHECK(err
        == "Error submitting scaling request: Unexpected response code: 400 (job scaling blocked "
           "due to active deployment)");
}

TEST_CASE_FIXTURE(Scaling, "job scaling-events: the newest first, of all groups") {
  answer("GET /v1/job/web/scale",
         R"({"TaskGroups":{"api":{"Events":[{"Count":3,"PreviousCount":1,"Time":1000000000}]},)"
         R"("db":{"Events":[{"Count":2,"PreviousCount":1,"Time":2000000000,"Message":"more",)"
         R"("Error":false,"EvalID":"eval-2"}]}}})");
  CHECK(run(run_job_scaling_events, {"web"}) == 0);
  CHECK(out.starts_with("Task Group  Count  PrevCount  Date\ndb          2      1          1970"));
  CHECK(out.find("\napi         3      1          1970") != std::string::npos);
  CHECK(run(run_job_scaling_events, {"-verbose", "web"}) == 0);
  CHECK(out.find("Message  Eval ID  Date\n") != std::string::npos);
  CHECK(run(run_job_scaling_events, {}) == 1);
  CHECK(err.starts_with("This command takes one argument: <job_id>"));
  answer("GET /v1/job/web/scale", R"({"TaskGroups":{"api":{"Events":[]}}})");
  CHECK(run(run_job_scaling_events, {"web"}) == 0);
  CHECK(out == "No events found\n");
}
