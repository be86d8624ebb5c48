// deployment list, status and what steers a deployment: what is asked, refused and printed.
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string deployment_id = "11111111-2222-3333-4444-555555555555";
const std::string other_deployment = "11111111-aaaa-3333-4444-555555555555";

std::string deployment(const std::string& which) {
  return R"({"ID":")" + which
         + R"(","Namespace":"ops","JobID":"web","JobVersion":2,)"
           R"("Status":"running","StatusDescription":"Deployment is running","EvalPriority":50,)"
           R"("TaskGroups":{"api":{"AutoPromote":false,"AutoRevert":false,"Promoted":false,)"
           R"("DesiredCanaries":0,"DesiredTotal":3,"PlacedAllocs":2,"HealthyAllocs":1,)"
           R"("UnhealthyAllocs":0,"ProgressDeadline":0}},"CreateIndex":3,"ModifyIndex":4})";
}

struct Deployments : test::FakeAgent {
  Deployments() {
    answer("GET /v1/deployments", "[" + deployment(deployment_id) + "]");
    answer("GET /v1/deployment/" + deployment_id, deployment(deployment_id));
    for (const auto* action : {"pause", "unblock", "fail", "promote"})
      answer("PUT /v1/deployment/" + std::string{action} + "/" + deployment_id,
             R"({"EvalID":"eval-1","RevertedJobVersion":null})");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Deployments, "deployment unblock: names the evaluation that follows") {
  CHECK(run(run_deployment_unblock, {"-detach", "1111"}) == 0);
  CHECK(written()
        == "PUT /v1/deployment/unblock/" + deployment_id + "?namespace=ops {\"DeploymentID\":\""
               + deployment_id + "\"}");
  CHECK(out == "Deployment \"" + deployment_id + "\" unblocked\nEvaluation ID: eval-1\n");
  answer("PUT /v1/deployment/unblock/" + deployment_id, "can't unblock non-blocked deployment",
         500);
  CHECK(run(run_deployment_unblock, {deployment_id}) == 1);
  CHECK(err
        == "Error unblocking deployment: Unexpected response code: 500 (can't unblock non-blocked "
           "deployment)");
}

TEST_CASE_FIXTURE(Deployments, "deployment pause and resume: say what becomes of it") {
  CHECK(run(run_deployment_pause, {deployment_id}) == 0);
  CHECK(written().find(R"({"DeploymentID":")" + deployment_id + R"(","Pause":true})")
        != std::string::npos);
  CHECK(out == "Deployment \"" + deployment_id + "\" paused\n");
  CHECK(run(run_deployment_resume, {"-detach", deployment_id}) == 0);
  CHECK(written().find(R"("Pause":false})") != std::string::npos);
  CHECK(out == "Deployment \"" + deployment_id + "\" resumed\nEvaluation ID: eval-1\n");
}

TEST_CASE_FIXTURE(Deployments, "deployment promote: all groups, or those that are named") {
  CHECK(run(run_deployment_promote, {"-detach", deployment_id}) == 0);
  CHECK(written().find(R"({"DeploymentID":")" + deployment_id + R"(","All":true})")
        != std::string::npos);
  CHECK(run(run_deployment_promote, {"-detach", "-group", "api", "-group", "db", deployment_id})
        == 0);
  CHECK(written().find(R"("All":false,"Groups":["api","db"]})") != std::string::npos);
}

TEST_CASE_FIXTURE(Deployments, "deployment fail: names the version that its job goes back to") {
  CHECK(run(run_deployment_fail, {"-detach", deployment_id}) == 0);
  CHECK(out == "Deployment \"" + deployment_id + "\" failed\nEvaluation ID: eval-1\n");
  answer("PUT /v1/deployment/fail/" + deployment_id,
         R"({"EvalID":"eval-1","RevertedJobVersion":1})");
  CHECK(run(run_deployment_fail, {"-detach", deployment_id}) == 0);
  CHECK(out.starts_with("Deployment \"" + deployment_id
                        + "\" failed. Auto-reverted to job version 1.\n"));
}

TEST_CASE_FIXTURE(Deployments, "deployments: an id that means none or several is said") {
  for (const auto command : {run_deployment_pause, run_deployment_resume, run_deployment_unblock,
                             run_deployment_fail, run_deployment_promote}) {
    CHECK(run(command, {}) == 1);
    CHECK(err.starts_with("This command takes one argument: <deployment id>"));
    CHECK(run(command, {"1"}) == 1);
    CHECK(err.starts_with("Identifier must contain at least two characters."));
    CHECK(written().empty());
  }
  answer("GET /v1/deployments",
         "[" + deployment(deployment_id) + "," + deployment(other_deployment) + "]");
  CHECK(run(run_deployment_pause, {"1111"}) == 1);
  CHECK(err.starts_with("Prefix matched multiple deployments\n\nID "));
  answer("GET /v1/deployments", "[]");
  CHECK(run(run_deployment_status, {"abc"}) == 1);
  CHECK(err == "Error retrieving deployment: Deployment ID \"ab\" matched no deployments");
}

TEST_CASE_FIXTURE(Deployments, "deployment list and status: tables, or objects as Nomad has them") {
  CHECK(run(run_deployment_list, {"-filter", "Status == \"running\""}) == 0);
  CHECK(asked.at(0).find("filter=Status") != std::string::npos);
  CHECK(out
        == "ID        Job ID  Job Version  Status   Description\n"
           "11111111  web     2            running  Deployment is running\n");
  CHECK(run(run_deployment_status, {"-json", deployment_id}) == 0);
  CHECK(out.find("\"JobID\": \"web\"") != std::string::npos);
  CHECK(out.find("EvalPriority") == std::string::npos);
  CHECK(out.find("AutoPromote") == std::string::npos);
  CHECK(run(run_deployment_status, {deployment_id}) == 0);
  CHECK(out.find("Task Group  Desired  Placed  Healthy  Unhealthy") != std::string::npos);
  CHECK(run(run_deployment_list, {"extra"}) == 1);
}

TEST_CASE_FIXTURE(Deployments, "deployment status: one that can't be followed any more says so") {
  then("GET /v1/deployment/" + deployment_id, "no leader", 500);
  CHECK(run(run_deployment_status, {"-monitor", deployment_id}) == 1);
  CHECK(err == "Error reading deployment: Unexpected response code: 500 (no leader)\n");
}
