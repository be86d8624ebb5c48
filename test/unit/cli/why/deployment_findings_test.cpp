#include "test/unit/cli/why/why_fixture.hpp"

using namespace nomad;
using namespace nomad::cli;
using namespace nomad::cli::why;
using boost::json::parse;

namespace {

std::string deployment(const std::string& status,
                       const std::string& says,
                       const std::string& more = "") {
  return R"({"ID":"dddddddd-1","JobVersion":3,"CreateIndex":5,"ModifyIndex":8,"Status":")" + status
         + R"(","StatusDescription":")" + says
         + R"(","TaskGroups":{"g":{"DesiredTotal":2,"PlacedAllocs":1,"HealthyAllocs":1,)"
           R"("UnhealthyAllocs":0)"
         + more + "}}}";
}

std::string told_of(const std::string& deployments) {
  auto facts = test::facts_of_web();
  facts.deployments = parse("[" + deployments + "]");
  return test::told(diagnose(facts));
}

}  // namespace

TEST_CASE("why: how the newest deployment stands") {
  const std::string group = "  Group \"g\": 2 wanted, 1 placed, 1 healthy, 0 unhealthy";
  CHECK(told_of(deployment("failed", "Failed due to progress deadline"))
        == "! Deployment dddddddd of version 3 failed: Failed due to progress deadline\n" + group
               + "\n  $ nomadctl deployment status dddddddd\n  $ nomadctl job history -p web\n");
  CHECK(told_of(deployment("paused", "Deployment is paused"))
        == "~ Deployment dddddddd of version 3 is paused: Deployment is paused\n" + group
               + "\n  $ nomadctl deployment resume dddddddd\n");
  CHECK(told_of(deployment("running", "Deployment is running"))
        == ". Deployment dddddddd of version 3 is running: Deployment is running\n" + group
               + "\n  $ nomadctl deployment status -monitor dddddddd\n");
  CHECK(told_of(deployment("running", "x", R"(,"DesiredCanaries":1,"Promoted":false)"))
        == "~ Deployment dddddddd of version 3 waits to be promoted\n" + group
               + ", 1 canaries, not promoted\n  $ nomadctl deployment promote dddddddd\n"
                 "  $ nomadctl deployment fail dddddddd\n");
  CHECK(told_of(deployment("successful", "x")).empty());
  CHECK(told_of(deployment("cancelled", "x")).empty());
}

TEST_CASE("why: canaries that are not healthy yet wait for themselves") {
  CHECK(told_of(deployment("running", "x", R"(,"DesiredCanaries":2,"Promoted":false)"))
            .starts_with(". Deployment dddddddd of version 3 is running"));
}

TEST_CASE("why: a rollback is told with the allocations that led to it") {
  auto facts = test::facts_of_web();
  facts.job.as_object()["Version"] = 4;
  facts.job.as_object()["JobModifyIndex"] = 7;  // Health that was reported later came at 8.
  facts.deployments = parse(
      "["
      + deployment("failed", "Failed due to unhealthy allocations - rolling back to job version 1")
      + R"(,{"ID":"eeeeeeee-1","JobVersion":4,"CreateIndex":9,"Status":"successful"}])");
  facts.allocations
      = parse("["
              + test::failed_stub("11111111", R"([{"Type":"Terminated","ExitCode":1}])",
                                  R"(,"DesiredStatus":"stop","DeploymentStatus":{"Healthy":false})")
              + "]");
  const auto found = diagnose(facts);
  REQUIRE(found.size() == 2);
  CHECK(found[0].weight == Weight::warning);
  CHECK(found[0].what.ends_with("task \"t\" exited with code 1"));
  CHECK(found[1].weight == Weight::warning);
  CHECK(found[1].what
        == "Deployment dddddddd of version 3 failed: Failed due to unhealthy allocations - rolling "
           "back to job version 1");

  // A version that went well since.
  facts.job.as_object()["Version"] = 5;
  facts.job.as_object()["JobModifyIndex"] = 12;
  facts.deployments.as_array().push_back(
      parse(R"({"ID":"ffffffff-1","JobVersion":5,"CreateIndex":12,"Status":"successful"})"));
  CHECK(diagnose(facts).empty());
}
