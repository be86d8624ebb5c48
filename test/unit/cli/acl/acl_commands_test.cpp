// What our commands about access do better than Nomad's, or besides.
#include <cstdlib>
#include <fstream>

#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string stored_token
    = R"({"AccessorID":"acc","SecretID":"5ec2e7","Name":"ci","Type":"client","Policies":["deploy"],)"
      R"("Roles":null,"Global":true,"Hash":"aA==","CreateTime":"2026-01-02T03:04:05Z",)"
      R"("ExpirationTime":"2026-01-02T04:04:05Z","ExpirationTTL":"1h0m0s","CreateIndex":5,"ModifyIndex":6})";

const std::string stored_method
    = R"({"Name":"sso","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"1h0m0s","Default":true,)"
      R"("Config":{"OIDCClientSecret":"redacted"},"CreateIndex":5,"ModifyIndex":6})";

struct Access : test::FakeAgent {
  test::TempDir dir;

  std::string file(const std::string& text) const {
    std::ofstream{dir.file("input")} << text;
    return dir.file("input");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Access,
                  "acl bootstrap: what can't be shown is not made, and what is made is shown") {
  answer("PUT /v1/acl/bootstrap", stored_token);
  CHECK(run(run_acl_bootstrap, {"-json", "-t", "x"}) == 1);
  CHECK(asked.empty());
  CHECK(run(run_acl_bootstrap, {"-t", "{{.NoSuch}}"}) == 1);
  CHECK(out.find("Secret ID    = 5ec2e7\n") != std::string::npos);
  CHECK(run(run_acl_bootstrap, {"/dev/zero"}) == 1);
  CHECK(asked.empty());
}

TEST_CASE_FIXTURE(Access, "acl token update: sends no secret, and leaves alone what is not given") {
  answer("GET /v1/acl/token/acc", stored_token);
  answer("PUT /v1/acl/token/acc", stored_token);
  CHECK(run(run_acl_token_update, {"-name", "ci2", "acc"}) == 0);
  CHECK(written().find("5ec2e7") == std::string::npos);
  CHECK(written().find(R"("Name":"ci2")") != std::string::npos);
  CHECK(written().find(R"("Global":true)") != std::string::npos);
  CHECK(written().find(R"("ExpirationTime":"2026-01-02T04:04:05Z")") != std::string::npos);
  CHECK(out.find("Expiry Time  = 2026-01-02 04:04:05 +0000 UTC\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Access, "acl token list: says which have expired") {
  answer("GET /v1/acl/tokens",
         "[" + stored_token
             + R"(,{"AccessorID":"b","Name":"","Type":"client","Global":false,)"
               R"("ExpirationTime":"2999-01-01T00:00:00Z"}])");
  CHECK(run(run_acl_token_list, {}) == 0);
  CHECK(out
        == "Name    Type    Global  Accessor ID  Expired\nci      client  true    acc          true\n"
           "<none>  client  false   b            false\n");
}

TEST_CASE_FIXTURE(Access, "acl token info: templates find no expiry where there is none") {
  answer("GET /v1/acl/token/b", R"({"AccessorID":"b","Type":"client"})");
  CHECK(run(run_acl_token_info, {"-t", "{{.AccessorID}} {{if .ExpirationTime}}ends{{end}}", "b"})
        == 0);
  CHECK(out == "b \n");
  answer("GET /v1/acl/tokens", R"([{"AccessorID":"b","ExpirationTime":null}])");
  CHECK(run(run_acl_token_list, {"-json"}) == 0);
  CHECK(out.find("ExpirationTime") == std::string::npos);
  CHECK(run(run_acl_token_list, {"-t", "{{range .}}{{if .ExpirationTime}}ends{{end}}{{end}}"})
        == 0);
}

TEST_CASE_FIXTURE(Access, "acl policy apply: NOMAD_NAMESPACE attaches a policy to nothing") {
  answer("PUT /v1/acl/policy/reader", "");
  ::setenv("NOMAD_NAMESPACE", "prod", 1);
  CHECK(run(run_acl_policy_apply, {"reader", file("")}) == 0);
  ::unsetenv("NOMAD_NAMESPACE");
  CHECK(written().find("JobACL") == std::string::npos);
  CHECK(run(run_acl_policy_apply, {"-namespace", "prod", "reader", file("")}) == 1);
  CHECK(err == "-job is required if -namespace is set");
  CHECK(asked.empty());
}

TEST_CASE_FIXTURE(Access, "acl policy apply: shows the place of a mistake in the file") {
  const auto said = [this](const std::string& complaint, const std::string& rules) {
    answer("PUT /v1/acl/policy/p", complaint, 400);
    CHECK(run(run_acl_policy_apply, {"p", file(rules)}) == 1);
    const auto end = err.find("(" + complaint + ")");
    REQUIRE(end != std::string::npos);
    return err.substr(end + complaint.size() + 2);
  };
  const std::string rules = "namespace \"a\" {\n\tcapabilities = [\"sbmit-job\"]\n}\n";
  CHECK(said("Invalid capability 'sbmit-job' (line 2, column 18). Did you mean \"submit-job\"?",
             rules)
        == "\n\n  2 | \tcapabilities = [\"sbmit-job\"]\n    | \t                ^");
  CHECK(said("Failed to parse ACL Policy: At 3:2: expected", rules) == "\n\n  3 | }\n    |  ^");
  for (const std::string complaint :
       {"no place", "(line 9, column 1)", "(line 2, column 99)", "(line 0, column 0)", "At x:y",
        "(line 99999999999999999999, column 1)", "(line 2)", "At 2", "At 4:2"}) {
    CAPTURE(complaint);
    CHECK(said(complaint, rules).empty());
  }
  CHECK(said("(line 1, column 3)", std::string(5000, 'x')).empty());
}

TEST_CASE_FIXTURE(
    Access, "acl policy self: to management there are none, to others the list is their own") {
  answer("GET /v1/acl/token/self", stored_token);
  answer("GET /v1/acl/policies", R"([{"Name":"deploy","Description":""}])");
  CHECK(run(run_acl_policy_self, {}) == 0);
  CHECK(out == "Name    Description\ndeploy  <none>\n");
  answer("GET /v1/acl/token/self", R"({"Type":"management"})");
  CHECK(run(run_acl_policy_self, {}) == 0);
  CHECK(out == "This is a management token. No individual policies are assigned.\n");
}

TEST_CASE_FIXTURE(Access,
                  "acl auth-method update: a configuration that was read is not sent back") {
  answer("GET /v1/acl/auth-method/sso", stored_method);
  answer("PUT /v1/acl/auth-method/sso", stored_method);
  CHECK(run(run_acl_auth_method_update, {"-max-token-ttl", "30m", "sso"}) == 0);
  CHECK(written()
        == R"(PUT /v1/acl/auth-method/sso {"Name":"sso","Default":true,"MaxTokenTTL":"30m0s"})");
  CHECK(run(run_acl_auth_method_update, {"-type", "jwt", "-default=false", "sso"}) == 0);
  CHECK(written() == R"(PUT /v1/acl/auth-method/sso {"Name":"sso","Default":false,"Type":"JWT"})");
}

TEST_CASE_FIXTURE(Access,
                  "acl auth-method create: a misspelt member of the configuration is an error") {
  answer("PUT /v1/acl/auth-method", stored_method);
  const auto create = [this](const std::string& config) {
    return run(run_acl_auth_method_create,
               {"-name", "x", "-type", "JWT", "-token-locality", "local", "-max-token-ttl", "1h",
                "-config", "@" + file(config)});
  };
  CHECK(create(R"({"BoundAudience":["nomad"]})") == 1);
  CHECK(
      err
      == "Unable to parse config: unknown member \"BoundAudience\"; did you mean BoundAudiences?");
  CHECK(asked.empty());
  CHECK(create(R"({"ClockSkewLeeway":"1 minute"})") == 1);
  CHECK(err.starts_with("Unable to parse config: ClockSkewLeeway: time: "));
  CHECK(create(
            R"({"boundaudiences":["nomad"],"ClockSkewLeeway":90000000000,"ExpirationLeeway":"2m"})")
        == 0);
  CHECK(
      written().find(
          R"("Config":{"BoundAudiences":["nomad"],"ClockSkewLeeway":"1m30s","ExpirationLeeway":"2m0s"})")
      != std::string::npos);
}

TEST_CASE_FIXTURE(Access, "acl commands: an error says what was done") {
  struct Case {
    Command command;
    std::vector<std::string> arguments;
    std::string refused, said;
  };

  answer("GET /v1/acl/token/self", stored_token);
  answer("GET /v1/acl/auth-method/sso", stored_method);
  answer("GET /v1/acl/binding-rule/r", R"({"ID":"r","AuthMethod":"sso","BindType":"management"})");
  for (const auto& one : std::vector<Case>{
           {run_acl_auth_method_update,
            {"-max-token-ttl", "30m", "sso"},
            "PUT /v1/acl/auth-method/sso",
            "Error updating ACL auth method"},
           {run_acl_binding_rule_update,
            {"-description", "x", "r"},
            "PUT /v1/acl/binding-rule/r",
            "Error updating ACL binding rule"},
           {run_acl_policy_self, {}, "GET /v1/acl/policies", "Error listing ACL policies"},
           {run_acl_whoami, {}, "GET /v1/acl/whoami", "Error querying who the caller is"},
           {run_sentinel_apply,
            {"p", file("x")},
            "PUT /v1/sentinel/policy/p",
            "Error writing Sentinel policy"},
           {run_sentinel_read,
            {"p"},
            "GET /v1/sentinel/policy/p",
            "Error querying Sentinel policy"},
           {run_login, {}, "GET /v1/acl/auth-methods", "Error listing ACL auth methods"}}) {
    CAPTURE(one.said);
    answer(one.refused, "it burns", 500);
    CHECK(run(one.command, one.arguments) == 1);
    CHECK(err == one.said + ": Unexpected response code: 500 (it burns)");
  }
}

TEST_CASE("acl auth-method create: a configuration that can't be read is none") {
  const auto create = [](const std::string& config) {
    const auto code
        = run_acl_auth_method_create({"-name", "x", "-type", "JWT", "-token-locality", "local",
                                      "-max-token-ttl", "1h", "-config", config});
    return code ? "done" : code.error().what;
  };
  CHECK(create("@/nowhere").starts_with("Error loading configuration: Failed to read file: "));
  const auto input = test::Typed::opened("/");
  CHECK(create("-").starts_with("Error loading configuration: Failed to read stdin: "));
  CHECK(create("[]").starts_with("Unable to parse config: "));
}

TEST_CASE_FIXTURE(Access, "acl commands: a name can't leave its place in the path") {
  for (const auto* name : {"a/b", "..", "a?b", "a%2Fb"}) {
    CAPTURE(name);
    run(run_acl_policy_delete, {name});
    REQUIRE(asked.size() == 1);
    const auto& path = asked[0];
    CHECK(path.starts_with("DELETE /v1/acl/policy/"));
    CHECK(path.find('/', std::string_view{"DELETE /v1/acl/policy/"}.size()) == std::string::npos);
    CHECK(path.find('?') == std::string::npos);
  }
}

TEST_CASE_FIXTURE(Access, "acl commands: names with control characters forge no lines") {
  answer("GET /v1/acl/token/acc",
         R"({"AccessorID":"acc","Name":"x\nType = management","Type":"client"})");
  CHECK(run(run_acl_token_info, {"acc"}) == 0);
  CHECK(out.find("\nType = management") == std::string::npos);
}

TEST_CASE_FIXTURE(Access, "sentinel: policies are written, listed, read and removed") {
  const std::string policy
      = R"({"Name":"p","Description":"d","Scope":"submit-job","EnforcementLevel":"advisory",)"
        R"("Policy":"rule \"a\" {}"})";
  answer("PUT /v1/sentinel/policy/p", "");
  answer("GET /v1/sentinel/policy/p", policy);
  answer("GET /v1/sentinel/policies", "[" + policy + "]");
  answer("DELETE /v1/sentinel/policy/p", "");

  CHECK(run(run_sentinel_apply, {"p", file("rule \"a\" {}")}) == 0);
  CHECK(out == "Successfully wrote \"p\" Sentinel policy!\n");
  CHECK(
      written()
      == R"(PUT /v1/sentinel/policy/p {"Name":"p","Description":"","Scope":"submit-job","EnforcementLevel":"advisory",)"
         R"("Policy":"rule \"a\" {}"})");
  CHECK(run(run_sentinel_apply, {"-description", "d", "-level", "hard-mandatory", "p", file("x")})
        == 0);
  CHECK(written().find(
            R"("Description":"d","Scope":"submit-job","EnforcementLevel":"hard-mandatory")")
        != std::string::npos);
  for (const auto* whole :
       {"policy \"p\" { enforcement = \"advisory\" }", R"({"policy":{"p":{}}})"}) {
    CHECK(run(run_sentinel_apply, {"p", file(whole)}) == 0);
    CHECK(written().find(R"("Scope":"","EnforcementLevel":"")") != std::string::npos);
  }
  CHECK(run(run_sentinel_apply, {"p"}) == 1);
  CHECK(run(run_sentinel_list, {}) == 0);
  CHECK(out == "Name  Scope       Enforcement Level  Description\n"
               "p     submit-job  advisory           d\n");
  CHECK(run(run_sentinel_read, {"p"}) == 0);
  CHECK(out == "Name              = p\nScope             = submit-job\n"
               "Enforcement Level = advisory\nDescription       = d\nPolicy:\nrule \"a\" {}\n");
  CHECK(run(run_sentinel_read, {"-raw", "p"}) == 0);
  CHECK(out == "rule \"a\" {}\n");
  CHECK(run(run_sentinel_delete, {"p"}) == 0);
  CHECK(out == "Successfully deleted \"p\" Sentinel policy!\n");

  answer("GET /v1/sentinel/policies", "[]");
  CHECK(run(run_sentinel_list, {}) == 0);
  CHECK(out == "No policies found\n");
}
