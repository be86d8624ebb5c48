// Jobs in a node pool that a policy denies, by every route that brings something into it.
#include <string>

#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

std::string job_in(const std::string& pool, const std::string& more = "") {
  return R"({"Job":{"ID":"web","Datacenters":["dc1"],"NodePool":")" + pool
         + R"(","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"raw_exec","Config":)"
           R"({"command":"/bin/true"}}]}])"
         + more + "}}";
}

struct Pools : Acls {
  Pools() {
    for (const char* pool : {"gpu", "cpu"})
      manage("PUT", "/v1/node/pools", R"({"Name":")" + std::string{pool} + "\"}");
  }

  /// The secret of a token that may write in the namespace, with these rules besides.
  std::string writer(const std::string& rules) {
    const auto name = "p" + std::to_string(++policies);
    manage("PUT", "/v1/acl/policy/" + name,
           R"({"Name":")" + name + R"(","Rules":"namespace \"default\" { policy = \"write\" } )"
               + rules + "\"}");
    return text_in(make_token(R"({"Type":"client","Policies":[")" + name + "\"]}"), "SecretID");
  }

  std::string sent(const std::string& token, const std::string& target, const std::string& body) {
    const auto answer = ask("PUT", target, body, token);
    return answer.status == 200 ? "200" : std::to_string(answer.status) + ' ' + answer.body;
  }

  int policies = 0;
};

const std::string denied = "403 Permission denied";

}  // namespace

TEST_CASE_FIXTURE(Pools, "pool rights: no rule denies nothing, as in Nomad") {
  const auto token = writer("");
  for (const char* pool : {"default", "gpu", "all"}) {
    CHECK(sent(token, "/v1/job/web/plan", job_in(pool)) == "200");
    CHECK(sent(token, "/v1/jobs", job_in(pool)) == "200");
  }
}

TEST_CASE_FIXTURE(Pools, "pool rights: a pool that is denied takes no job, by no route") {
  const auto token = writer(R"(node_pool \"gpu\" { policy = \"deny\" })");
  CHECK(sent(token, "/v1/jobs", job_in("cpu")) == "200");
  for (const char* pool : {"gpu", "all"}) {
    CHECK(sent(token, "/v1/job/web/plan", job_in(pool)) == denied);
    CHECK(sent(token, "/v1/jobs", job_in(pool)) == denied);
    CHECK(sent(token, "/v1/job/web", job_in(pool)) == denied);
  }

  manage("PUT", "/v1/jobs", job_in("gpu"));
  CHECK(sent(token, "/v1/job/web/scale", R"({"Count":2,"Target":{"Group":"g"}})") == denied);
  CHECK(sent(token, "/v1/job/web/evaluate", R"({"JobID":"web"})") == denied);
  manage("PUT", "/v1/jobs", job_in("cpu"));
  CHECK(sent(token, "/v1/job/web/revert", R"({"JobID":"web","JobVersion":1})") == denied);
  CHECK(sent(token, "/v1/job/web/revert", R"({"JobID":"web","JobVersion":0})") == "200");

  CHECK(ask("DELETE", "/v1/job/web", "", token).status == 200);
  CHECK(status_for(token, "/v1/acl/explain?capability=node-pool-use&node_pool=gpu")
            .find("the rule for node pool \\\"gpu\\\" denies")
        != std::string::npos);
}

TEST_CASE_FIXTURE(Pools, "pool rights: all are denied but one by a pattern and a name") {
  const auto token
      = writer(R"(node_pool \"*\" { policy = \"deny\" } node_pool \"gpu\" { policy = \"read\" })");
  CHECK(sent(token, "/v1/jobs", job_in("gpu")) == "200");
  CHECK(sent(token, "/v1/jobs", job_in("cpu")) == denied);
  CHECK(sent(token, "/v1/jobs", job_in("")) == denied);  // of the default pool
}

TEST_CASE_FIXTURE(Pools, "pool rights: who dispatches and launches is asked, too") {
  const auto token = writer(R"(node_pool \"gpu\" { policy = \"deny\" })");
  manage("PUT", "/v1/jobs", job_in("gpu", R"(,"Type":"batch","ParameterizedJob":{})"));
  CHECK(sent(token, "/v1/job/web/dispatch", "{}") == denied);
  manage("DELETE", "/v1/job/web?purge=true");
  manage(
      "PUT", "/v1/jobs",
      job_in("gpu",
             R"(,"Type":"batch","Periodic":{"Spec":"@daily","SpecType":"cron","Enabled":true})"));
  CHECK(sent(token, "/v1/job/web/periodic/force", "") == denied);
}
