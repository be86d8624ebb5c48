// What a user is told whose name of an object is none: the one that is like it.
#include "cli/did_you_mean.hpp"

#include "cli/lookup.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

TEST_CASE("did you mean: the nearest name is told, a swap of two letters is one slip") {
  CHECK(meant_among("wbe", {"api", "web"}) == "; did you mean \"web\"?");
  CHECK(meant_among("web", {"web"}).empty());  // it is not that
  CHECK(meant_among("payments", {"web", "api"}).empty());
  CHECK(meant_among("", {"web"}).empty());
}

TEST_CASE_FIXTURE(test::FakeAgent, "did you mean: jobs, of the kind that is asked for") {
  // The list by prefix is asked for first.
  answer("GET /v1/jobs", "[]");
  then("GET /v1/jobs", R"([{"ID":"web"},{"ID":"nightly","Periodic":true}])");
  CHECK(run(run_job_status, {"wbe"}) == 1);
  CHECK(err == "No job(s) with prefix or ID \"wbe\" found; did you mean \"web\"?");
  CHECK(asked.back() == "GET /v1/jobs?per_page=5000");

  answer("GET /v1/jobs", "[]");
  then("GET /v1/jobs", R"([{"ID":"web"},{"ID":"nightly","Periodic":true}])");
  CHECK(run(run_job_periodic_force, {"wbe"}) == 1);
  CHECK(trim(err) == "No periodic job(s) with prefix or ID \"wbe\" found");

  answer("GET /v1/jobs", "[]");
  then("GET /v1/jobs", "no list", 500);
  CHECK(run(run_job_status, {"wbe"}) == 1);
  CHECK(err == "No job(s) with prefix or ID \"wbe\" found");
}

TEST_CASE_FIXTURE(test::FakeAgent,
                  "did you mean: nodes are found by their names, and told by ids") {
  const std::string nodes = R"([{"ID":"a1b2c3d4-0000-0000-0000-000000000000","Name":"worker-1"},)"
                            R"({"ID":"b1b2c3d4-0000-0000-0000-000000000000","Name":"db"}])";
  const auto said = [&](const std::string& name) {
    answer("GET /v1/nodes", "[]");
    then("GET /v1/nodes", nodes);
    CHECK(run(run_node_status, {name}) == 1);
    return err;
  };
  CHECK(said("worker-1")
        == "No node(s) with prefix \"worker-1\" found; did you mean \"a1b2c3d4\", the id of that "
           "node?");
  CHECK(said("wroker-1")
        == "No node(s) with prefix \"wroker-1\" found; did you mean \"a1b2c3d4\", the id of node "
           "\"worker-1\"?");
  CHECK(said("a1b2c3e4")
        == "No node(s) with prefix \"a1b2c3e4\" found; did you mean \"a1b2c3d4\"?");
  CHECK(said("nothing-like-it") == "No node(s) with prefix \"nothing-like-it\" found");
}

TEST_CASE_FIXTURE(test::FakeAgent, "did you mean: namespaces, pools and policies") {
  answer("GET /v1/namespaces", "[]");
  then("GET /v1/namespaces", R"([{"Name":"prod"}])");
  CHECK(run(run_namespace_status, {"prdo"}) == 1);
  CHECK(err
        == "Error retrieving namespaces: Namespace \"prdo\" matched no namespaces; did you mean "
           "\"prod\"?");
  CHECK(run(run_namespace_delete, {"prdo"}) == 1);
  CHECK(err
        == "Error deleting namespace: Unexpected response code: 404 (not found); did you mean "
           "\"prod\"?");
  answer("GET /v1/node/pools", "[]");
  then("GET /v1/node/pools", R"([{"Name":"gpu-new"}])");
  CHECK(run(run_node_pool_info, {"gpu-nwe"}) == 1);
  CHECK(err
        == "Error retrieving node pool: No node pool with prefix \"gpu-nwe\" found; did you mean "
           "\"gpu-new\"?");
  answer("GET /v1/acl/policies", R"([{"Name":"developer"}])");
  CHECK(run(run_acl_policy_info, {"devleoper"}) == 1);
  CHECK(err
        == "Error fetching info on ACL policy: Unexpected response code: 404 (not found); did you "
           "mean \"developer\"?");
  answer("GET /v1/acl/policy/devleoper", "Permission denied", 403);
  CHECK(run(run_acl_policy_info, {"devleoper"}) == 1);
  CHECK(err
        == "Error fetching info on ACL policy: Unexpected response code: 403 (Permission denied)");
}
