// /v1/sentinel: policies of admission over HTTP, and what they do to jobs that come in.
#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string pinned
    = R"(rule \"pinned\" { condition = \"all job.TaskGroups as g { all g.Tasks as t { t.Config.command != `/bin/false` } }\", message = \"not that one\" })";

struct Admissions : Acls {
  std::string put(const std::string& level, const std::string& text = pinned) {
    return refused("PUT", "/v1/sentinel/policy/p",
                   R"({"Name":"p","Description":"d","Scope":"submit-job","EnforcementLevel":")"
                       + level + R"(","Policy":")" + text + "\"}");
  }

  static std::string job(const std::string& command, bool overrides = false) {
    return R"({"PolicyOverride":)" + std::string{overrides ? "true" : "false"}
           + R"(,"Job":{"ID":"web","Datacenters":["dc1"],"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"raw_exec","Config":{"command":")"
           + command + "\"}}]}]}}";
  }

  std::string submit(const std::string& command, bool overrides = false) {
    return refused("PUT", "/v1/jobs", job(command, overrides));
  }

  std::string plan(const std::string& command, bool overrides = false) {
    return refused("PUT", "/v1/job/web/plan", job(command, overrides));
  }
};

const std::string told = "the job is not admitted: 1 error occurred:\n\t* sentinel policy \"p\" (";

}  // namespace

TEST_CASE_FIXTURE(Admissions, "admission: policies are put, listed, read and removed by managers") {
  CHECK(put("advisory") == "200 ");
  const auto list = manage("GET", "/v1/sentinel/policies");
  REQUIRE(list.as_array().size() == 1);
  const auto& stub = list.at(0).as_object();
  CHECK(stub.at("Name") == "p");
  CHECK(stub.at("Description") == "d");
  CHECK(stub.at("Scope") == "submit-job");
  CHECK(stub.at("EnforcementLevel") == "advisory");
  CHECK(stub.at("Hash").as_string().size() == 44);
  CHECK_FALSE(stub.contains("Policy"));
  CHECK(manage("GET", "/v1/sentinel/policy/p")
            .at("Policy")
            .as_string()
            .starts_with("rule \"pinned\""));

  const auto token = text_in(make_token(R"({"Type":"client","Policies":["any"]})"), "SecretID");
  for (const auto* path : {"/v1/sentinel/policies", "/v1/sentinel/policy/p"})
    CHECK(status_for(token, path) == "403 Permission denied");
  CHECK(ask("DELETE", "/v1/sentinel/policy/p", "", token).status == 403);

  CHECK(refused("PUT", "/v1/sentinel/policy/q", R"({"Name":"p"})")
        == "400 Sentinel policy name does not match request path");
  CHECK(refused("PUT", "/v1/sentinel/policy/", R"({"Name":"p"})") == "400 Missing Policy Name");
  CHECK(put("never").starts_with("400 sentinel policy invalid: 1 error occurred:\n"));
  CHECK(put("advisory", R"(rule \"a\" { condition = \"Job.ID == a\" })")
            .starts_with(
                "400 sentinel policy invalid: 1 error occurred:\n\t* failed to parse policy: "
                "At 1:1: the condition of rule \"a\": "));
  CHECK(refused("DELETE", "/v1/sentinel/policy/p") == "200 ");
  CHECK(refused("GET", "/v1/sentinel/policy/p") == "404 sentinel policy not found");
  CHECK(refused("DELETE", "/v1/sentinel/policy/p") == "404 sentinel policy not found");
}

TEST_CASE_FIXTURE(Admissions, "admission: an advisory policy warns who registers and who plans") {
  CHECK(put("advisory") == "200 ");
  const std::string warning
      = R"("Warnings":"1 warning:\n\n* sentinel policy \"p\" (advisory): rule \"pinned\": not that one)";
  CHECK(submit("/bin/false").find(warning) != std::string::npos);
  CHECK(plan("/bin/false").find(warning) != std::string::npos);
  CHECK(submit("/bin/true").find(R"("Warnings":"")") != std::string::npos);
}

TEST_CASE_FIXTURE(Admissions, "admission: mandatory policies refuse jobs and their plans") {
  for (const std::string level : {"soft-mandatory", "hard-mandatory"}) {
    CHECK(put(level) == "200 ");
    for (const auto& answer : {submit("/bin/false"), plan("/bin/false")})
      CHECK(answer == "400 " + told + level + "): rule \"pinned\": not that one\n\n");
    CHECK(plan("/bin/true").starts_with("200 "));
    const bool passes = level.starts_with("soft");
    CHECK(submit("/bin/false", true).starts_with(passes ? "200 " : "400 "));
    CHECK(plan("/bin/false", true).starts_with(passes ? "200 " : "400 "));
  }
}

TEST_CASE_FIXTURE(Admissions, "admission: to pass over policies needs sentinel-override") {
  CHECK(put("soft-mandatory") == "200 ");
  for (const std::string more : {"", ", \\\"sentinel-override\\\""}) {
    manage("PUT", "/v1/acl/policy/dev",
           R"({"Name":"dev","Rules":"namespace \"default\" { capabilities = [\"submit-job\")"
               + (more.empty() ? "" : std::string{R"(, \"sentinel-override\")"}) + R"(] }"})");
    const auto token = text_in(make_token(R"({"Type":"client","Policies":["dev"]})"), "SecretID");
    const auto as = [&](const std::string& path, bool overrides) {
      return ask("PUT", path, job("/bin/false", overrides), token).status;
    };
    for (const std::string path : {"/v1/jobs", "/v1/job/web/plan"}) {
      CHECK(as(path, false) == 400);
      CHECK(as(path, true) == (more.empty() ? 403 : 200));
    }
  }
}
