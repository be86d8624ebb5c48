// Access control over HTTP: statuses and texts as Nomad's clients know them, and who may read what.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

namespace kind = state::kind;

std::string one_mistake(const std::string& noun, const std::string& what) {
  return "400 " + noun + " 0 invalid: 1 error occurred:\n\t* " + what + "\n\n";
}

}  // namespace

TEST_CASE("acl: where it is off, everything says so") {
  ApiFixture fixture;
  for (const auto* path :
       {"/v1/acl/policies", "/v1/acl/policy/p", "/v1/acl/tokens", "/v1/acl/token/self",
        "/v1/acl/token/x", "/v1/acl/roles", "/v1/acl/role/x", "/v1/acl/role/name/x",
        "/v1/acl/auth-methods", "/v1/acl/auth-method/x", "/v1/acl/binding-rules",
        "/v1/acl/binding-rule/x"})
    CHECK(fixture.refusal(path) == "400 ACL support disabled");
  for (const auto* path : {"/v1/acl/bootstrap", "/v1/acl/token", "/v1/acl/token/onetime",
                           "/v1/acl/token/onetime/exchange", "/v1/acl/role", "/v1/acl/auth-method",
                           "/v1/acl/binding-rule", "/v1/acl/policy/p", "/v1/acl/login"})
    CHECK(fixture.refusal("PUT", path, "{}") == "400 ACL support disabled");
}

TEST_CASE("acl: where it is on, what is no route is not found") {
  Acls fixture{false};
  CHECK(fixture.status_for("", "/v1/acl/none") == "404 ");
  CHECK(fixture.status_for("", "/v1/acl/") == "404 ");
}

TEST_CASE("acl bootstrap: happens once, with a secret that may be the operator's") {
  Acls fixture{false};
  CHECK(fixture.status_for("", "/v1/acl/tokens") == "403 Permission denied");
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap", R"({"BootstrapSecret":"x"})")
        == "400 invalid acl token");
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap", "x")
            .starts_with("400 failed to decode request body: "));
  const auto made
      = fixture.ask("PUT", "/v1/acl/bootstrap", R"({"BootstrapSecret":")" + no_such + R"("})");
  CAPTURE(made.body);
  REQUIRE(made.status == 200);
  const auto token = boost::json::parse(made.body);

  CHECK(token.at("SecretID") == no_such.c_str());
  CHECK(token.at("Name") == "Bootstrap Token");
  CHECK(token.at("Type") == "management");
  CHECK(token.at("Global") == true);
  CHECK(token.at("Policies").is_null());
  CHECK(token.at("ExpirationTTL") == "");
  CHECK(token.at("ExpirationTime").is_null());
  CHECK(token.at("Hash") == "BUJ3BerTfrqFVm1P+vZr1gz9ubOkd+JAvYjNAJyaU9Y=");  // as Nomad's
  const std::string index{made.header("X-Nomad-Index")};
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap")
        == "400 ACL bootstrap already done (reset index: " + index + ")");
  CHECK(fixture.status_for(no_such, "/v1/acl/tokens").starts_with("200 "));
}

TEST_CASE("acl bootstrap: the reset file allows one more, and is spent by it") {
  Acls fixture;
  const auto first = std::to_string(fixture.boot.at("ModifyIndex").as_int64());
  const auto write = [&fixture](const std::string& text) {
    std::ofstream{fixture.files.path() + "/acl-bootstrap-reset"} << text;
  };
  write("5\n");
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap")
        == "400 Invalid bootstrap reset index (specified 5, reset index: " + first + ")");
  write("five");
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap")
        == "400 ACL bootstrap already done (reset index: " + first + ")");
  write(" " + first + "\n");
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap").starts_with("200 "));
  const auto is_gone = [&fixture] {
    return !std::filesystem::exists(fixture.files.path() + "/acl-bootstrap-reset");
  };
  CHECK(test::succeeds(is_gone));  // or it would allow the same in a state from before
  CHECK(fixture.refused("PUT", "/v1/acl/bootstrap").starts_with("400 ACL bootstrap already done"));
  CHECK(fixture.manage("GET", "/v1/acl/tokens").as_array().size() == 2);
}

TEST_CASE("acl tokens: are made, listed without secrets, read, changed and removed") {
  Acls fixture;
  fixture.make_policy("p");
  const auto made = fixture.make_token(
      R"({"Name":"t","Type":"client","Policies":["p","nope"],"ExpirationTTL":"90s"})");
  const auto accessor = Acls::text_in(made, "AccessorID");
  const auto secret = Acls::text_in(made, "SecretID");
  CHECK(made.at("ExpirationTTL") == "1m30s");
  CHECK(made.at("ExpirationTime").is_string());
  CHECK(made.at("Roles").is_null());

  const auto list = fixture.manage("GET", "/v1/acl/tokens").as_array();
  REQUIRE(list.size() == 2);
  CHECK(list[1].at("AccessorID") == accessor.c_str());
  CHECK_FALSE(list[1].as_object().contains("SecretID"));
  CHECK_FALSE(list[1].as_object().contains("ExpirationTTL"));
  CHECK(fixture.manage("GET", "/v1/acl/token/" + accessor) == made);
  CHECK(fixture.status_for(secret, "/v1/acl/token/" + accessor).starts_with("200 "));
  CHECK(boost::json::parse(fixture.ask("GET", "/v1/acl/token/self", "", secret).body) == made);

  const auto changed = fixture.manage(
      "PUT", "/v1/acl/token/" + accessor,
      R"({"AccessorID":")" + accessor + R"(","Name":"u","Type":"client","Policies":["p"]})");
  CHECK(changed.at("Name") == "u");
  CHECK(changed.at("SecretID") == secret.c_str());
  CHECK(changed.at("ExpirationTime") == made.at("ExpirationTime"));  // it keeps its end
  CHECK(changed.at("ExpirationTTL") == "1m30s");
  CHECK(changed.at("CreateIndex") == made.at("CreateIndex"));

  CHECK(fixture.manage("DELETE", "/v1/acl/token/" + accessor).is_null());
  CHECK(fixture.refused("DELETE", "/v1/acl/token/" + accessor)
        == "400 Cannot delete nonexistent tokens: " + accessor);
  CHECK(fixture.refused("GET", "/v1/acl/token/" + accessor) == "404 ACL token not found");
  CHECK(fixture.status_for(secret, "/v1/acl/token/self") == "404 ACL token not found");
  CHECK(fixture.status_for(secret, "/v1/acl/policies") == "403 Permission denied");
}

TEST_CASE("acl tokens: what is wrong with one is told in Nomad's words") {
  Acls fixture;
  const auto put
      = [&](const std::string& body) { return fixture.refused("PUT", "/v1/acl/token", body); };
  CHECK(put(R"({"Type":"client"})")
        == one_mistake("token", "client token missing policies or roles"));
  CHECK(put(R"({"Type":"management","Policies":["p"]})")
        == one_mistake("token", "management token cannot be associated with policies or roles"));
  CHECK(put(R"({"Type":"x","Policies":["p"]})")
        == one_mistake("token", "token type must be client or management"));
  CHECK(put(R"({"Type":"management","Name":")" + std::string(257, 'n') + "\"}")
        == one_mistake("token", "token name too long"));
  CHECK(
      put(R"({"Type":"management","ExpirationTTL":"59s"})")
      == one_mistake("token", "expiration time cannot be less than 1m0s in the future (was 59s)"));
  CHECK(put(R"({"Type":"management","ExpirationTTL":"25h"})")
        == one_mistake("token",
                       "expiration time cannot be more than 24h0m0s in the future (was 25h0m0s)"));
  CHECK(put(R"({"Type":"management","ExpirationTTL":-1000000000})")
        == "400 token 0 invalid: 3 errors occurred:\n\t* token expiration TTL '-1s' should not be "
           "negative\n\t* expiration time cannot be before create time\n\t* expiration time cannot "
           "be less than 1m0s in the future (was -1s)\n\n");
  CHECK(put(R"({"Type":"management","ExpirationTTL":9223372036854775807})")
            .starts_with("400 token 0 invalid: 1 error occurred:\n\t* expiration time cannot be "
                         "more than 24h0m0s"));
  CHECK(put(R"({"Type":"management","ExpirationTTL":"x"})").starts_with("400 "));
  CHECK(put(R"({"Type":"client","Roles":[{"Name":"x"}]})") == "400 cannot find role x");
  CHECK(put(R"({"AccessorID":"x","Type":"management"})") == "400 cannot find token x");
  CHECK(fixture.refused("PUT", "/v1/acl/token/x", R"({"AccessorID":"y"})")
        == "400 ACL token accessor does not match request path");
  CHECK(fixture.refused("GET", "/v1/acl/token/") == "400 Missing Token Accessor");
  CHECK(fixture.refused("GET", "/v1/acl/token/x")
        == "500 acl token lookup failed: index error: UUID must be 36 characters");
  const auto accessor = Acls::text_in(fixture.boot, "AccessorID");
  CHECK(fixture.refused("PUT", "/v1/acl/token",
                        R"({"Type":"management","AccessorID":")" + accessor + "\"}")
        == one_mistake("token", "cannot toggle global mode"));
  CHECK(fixture.manage("GET", "/v1/acl/tokens").as_array().size() == 1);
}

TEST_CASE("acl tokens: pages go on where the last one ended, whatever the indexes' digits") {
  Acls fixture;
  while (fixture.state().index < 104)
    fixture.make_token(R"({"Type":"management"})");
  const auto all = texts_of(fixture.manage("GET", "/v1/acl/tokens"), "AccessorID");

  std::string paged;
  std::string next;
  do {
    const auto page
        = fixture.ask("GET", "/v1/acl/tokens?per_page=7&next_token=" + next, "", fixture.manager);
    REQUIRE(page.status == 200);
    paged += (paged.empty() ? "" : ",") + texts_of(boost::json::parse(page.body), "AccessorID");
    next = page.header("X-Nomad-NextToken");
  } while (!next.empty());

  CHECK(paged == all);
  CHECK(fixture.manage("GET", "/v1/acl/tokens?global=true").as_array().size() == 1);
  CHECK(fixture.manage("GET", "/v1/acl/tokens?filter=Type%20==%20client").as_array().empty());
  const auto first = Acls::text_in(fixture.boot, "AccessorID");
  CHECK(texts_of(fixture.manage("GET", "/v1/acl/tokens?prefix=" + first.substr(0, 8)), "AccessorID")
        == first);
  CHECK(fixture.manage("GET", "/v1/acl/tokens?reverse=true").as_array().back().at("AccessorID")
        == first.c_str());
}

TEST_CASE("acl: whoever does not manage sees what is his own, and no more") {
  Acls fixture;
  for (const auto* name : {"p", "q", "s", "anonymous"})
    fixture.make_policy(name);
  const auto role
      = fixture.manage("PUT", "/v1/acl/role", R"({"Name":"r","Policies":[{"Name":"q"}]})");
  fixture.manage("PUT", "/v1/acl/role", R"({"Name":"other","Policies":[{"Name":"s"}]})");
  const auto token = fixture.make_token(
      R"({"Type":"client","Policies":["p"],"Roles":[{"Name":"r"},{"Name":"r"}]})");
  const auto secret = Acls::text_in(token, "SecretID");
  CHECK(token.at("Roles").as_array().size() == 1);
  const auto list = [&](const std::string& who, const std::string& path) {
    const auto answer = fixture.ask("GET", path, "", who);
    CHECK(answer.status == 200);
    return texts_of(boost::json::parse(answer.body), "Name");
  };

  CHECK(list(secret, "/v1/acl/policies") == "p,q");
  CHECK(list("", "/v1/acl/policies") == "anonymous");
  CHECK(list(fixture.manager, "/v1/acl/policies") == "anonymous,p,q,s");
  CHECK(list(secret, "/v1/acl/roles") == "r");
  CHECK(list("", "/v1/acl/roles").empty());
  CHECK(fixture.status_for(secret, "/v1/acl/policy/q").starts_with("200 "));
  CHECK(fixture.status_for("", "/v1/acl/policy/anonymous").starts_with("200 "));
  CHECK(fixture.status_for(secret, "/v1/acl/role/name/r").starts_with("200 "));
  for (const auto& path :
       {"/v1/acl/policy/s", "/v1/acl/policy/none", "/v1/acl/role/name/other", "/v1/acl/role/name/x",
        "/v1/acl/role/x", "/v1/acl/tokens", "/v1/acl/auth-method/x", "/v1/acl/binding-rules",
        "/v1/acl/binding-rule/x"}) {
    CAPTURE(path);
    CHECK(fixture.status_for(secret, path) == "403 Permission denied");
  }
  for (const auto& accessor : {no_such, Acls::text_in(fixture.boot, "AccessorID")})
    CHECK(fixture.status_for(secret, "/v1/acl/token/" + accessor) == "403 Permission denied");
  CHECK(fixture.ask("PUT", "/v1/acl/token", R"({"Type":"management"})", secret).status == 403);
  CHECK(fixture.ask("DELETE", "/v1/acl/policy/p", "", secret).status == 403);
  CHECK(fixture.status_for(no_such, "/v1/acl/policies") == "403 Permission denied");
  CHECK(fixture.status_for(no_such, "/v1/acl/auth-methods").starts_with("200 "));
}

TEST_CASE("acl policies: are put, read with their rules, and removed, also when they are gone") {
  Acls fixture;
  const auto put = [&](const std::string& name, const std::string& body) {
    return fixture.refused("PUT", "/v1/acl/policy/" + name, body);
  };
  CHECK(put("p", R"({"Name":"p","Description":"d","Rules":"",
      "JobACL":{"Namespace":"default","JobID":"web"}})")
        == "200 ");
  const auto policy = fixture.manage("GET", "/v1/acl/policy/p");
  CHECK(policy.at("JobACL").at("Group") == "");
  CHECK(policy.as_object().contains("RulesJSON"));
  CHECK(policy.as_object().size() == 8);
  CHECK(fixture.manage("GET", "/v1/acl/policies").at(0).as_object().size() == 5);
  CHECK(fixture.manage("GET", "/v1/acl/policies?prefix=zz").as_array().empty());
  CHECK(fixture.state().now().tables().acl_policies_by_job.size() == 1);

  CHECK(put("q", R"({"Name":"p"})") == "400 ACL policy name does not match request path");
  CHECK(put("", "{}") == "400 Missing Policy Name");
  CHECK(put("a_b", R"({"Name":"a_b"})") == one_mistake("policy", "invalid name 'a_b'"));
  CHECK(put("b", R"({"Name":"b","JobACL":{"Group":"g"}})")
        == one_mistake("policy", "job ID must be set to set group"));
  CHECK(fixture.refused("GET", "/v1/acl/policy/q") == "404 ACL policy not found");
  for (int again = 0; again < 2; ++again)
    CHECK(fixture.refused("DELETE", "/v1/acl/policy/p") == "200 ");
  CHECK(fixture.state().now().tables().acl_policies_by_job.empty());
}

TEST_CASE("acl roles: are put by id, read by id and name, and links follow their names") {
  Acls fixture;
  fixture.make_policy("p");
  const auto put
      = [&](const std::string& body) { return fixture.refused("PUT", "/v1/acl/role", body); };
  const auto role = fixture.manage("PUT", "/v1/acl/role",
                                   R"({"Name":"r","Policies":[{"Name":"p"},{"Name":"p"}]})");
  const auto id = Acls::text_in(role, "ID");
  CHECK(role.at("Policies").as_array().size() == 1);
  CHECK(role.at("Hash") == "uz6U3e5kqkEAprAbJQKR5pXPRRrJsNcrkImZ1vCWXAQ=");  // as Nomad's
  CHECK(fixture.manage("GET", "/v1/acl/role/" + id) == role);
  CHECK(fixture.manage("GET", "/v1/acl/role/name/r") == role);
  const auto token
      = fixture.make_token(R"({"Type":"client","Roles":[{"ID":")" + id + R"("},{"Name":"r"}]})");
  const auto self = "/v1/acl/token/" + Acls::text_in(token, "AccessorID");

  CHECK(put(R"({"Name":"r","Policies":[{"Name":"p"}]})") == "400 role with name r already exists");
  CHECK(put(R"({"Name":"s","Policies":[{"Name":"x"}]})") == "400 cannot find policy x");
  CHECK(put(R"({"ID":"x","Name":"s","Policies":[{"Name":"p"}]})") == "400 cannot find role x");
  CHECK(put(R"({"Name":"s"})") == one_mistake("role", "at least one policy should be specified"));
  CHECK(fixture.refused("PUT", "/v1/acl/role/x", R"({"ID":"y"})")
        == "400 ACL role ID does not match request path");
  const auto other
      = fixture.manage("PUT", "/v1/acl/role", R"({"Name":"s","Policies":[{"Name":"p"}]})");
  CHECK(
      put(R"({"ID":")" + Acls::text_in(other, "ID") + R"(","Name":"r","Policies":[{"Name":"p"}]})")
      == "500 ACL role with name r already exists");

  fixture.manage("PUT", "/v1/acl/role/" + id,
                 R"({"ID":")" + id + R"(","Name":"renamed","Policies":[{"Name":"p"}]})");
  CHECK(fixture.manage("GET", self).at("Roles").at(0).at("Name") == "renamed");
  CHECK(fixture.refused("GET", "/v1/acl/role/name/r") == "404 ACL role not found");
  CHECK(fixture.refused("DELETE", "/v1/acl/role/" + id) == "200 ");
  CHECK(fixture.refused("DELETE", "/v1/acl/role/" + id) == "500 ACL role not found");
  CHECK(fixture.manage("GET", self).at("Roles").as_array().empty());
  CHECK(fixture.refused("GET", "/v1/acl/role/") == "400 missing ACL role ID");
  CHECK(fixture.refused("GET", "/v1/acl/role/name/") == "400 missing ACL role name");
  CHECK(fixture.refused("GET", "/v1/acl/role/a/b") == "400 invalid URI");
  CHECK(fixture.refused("PUT", "/v1/acl/role/a/b", "{}") == "405 Invalid method");
  CHECK(fixture.refused("DELETE", "/v1/acl/role/a/b/c") == "400 invalid URI");
}

TEST_CASE("acl auth methods: are merged with what is stored, and keep a secret that is not shown") {
  Acls fixture;
  const auto put = [&](const std::string& body) {
    return fixture.refused("PUT", "/v1/acl/auth-method", body);
  };
  const auto made = fixture.manage("PUT", "/v1/acl/auth-method",
                                   R"({"Name":"m","Type":"OIDC","TokenLocality":"local",
      "MaxTokenTTL":"1h","Default":true,"Config":{"OIDCClientSecret":"zzz","OIDCClientID":"c",
      "ClaimMappings":{"a":"b"},"ExpirationLeeway":"5s","ClockSkewLeeway":""}})");
  CHECK(made.at("MaxTokenTTL") == "1h0m0s");
  CHECK(made.at("Config").at("ExpirationLeeway") == "5s");
  CHECK(made.at("Config").at("ClockSkewLeeway") == "");
  CHECK(made.at("Config").at("OIDCClientSecret") == "redacted");
  CHECK(made.at("Config").as_object().size() == 17);
  const auto sealed = fixture.state().now().row<kind::AclAuthMethods>("m")->getSealed().size();
  CHECK(sealed != 0);

  const auto same
      = fixture.manage("PUT", "/v1/acl/auth-method/m", R"({"Name":"m","Default":true})");
  CHECK(same == made);  // nothing was written
  const auto changed = fixture.manage(
      "PUT", "/v1/acl/auth-method/m",
      R"({"Name":"m","Config":{"OIDCClientSecret":"redacted","JWKSURL":"https://x"}})");
  CHECK(changed.at("Hash") != made.at("Hash"));  // Nomad's leaves this key out
  CHECK(changed.at("Config").at("OIDCClientID") == "");
  CHECK(fixture.state().now().row<kind::AclAuthMethods>("m")->getSealed().size() == sealed);
  CHECK(changed.at("Default") == false);

  CHECK(put(R"({"Name":"n","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"1s"})")
        == one_mistake("auth method",
                       "invalid MaxTokenTTL value '1s' (should be between 1m0s and 24h0m0s)"));
  CHECK(put(R"({"Name":"n!","Type":"x","TokenLocality":"y","MaxTokenTTL":"1h"})")
        == "400 auth method 0 invalid: 3 errors occurred:\n\t* invalid name 'n!'\n\t* invalid token "
           "locality 'y'\n\t* invalid token type 'x'\n\n");
  fixture.manage("PUT", "/v1/acl/auth-method/m", R"({"Name":"m","Default":true})");
  CHECK(
      put(R"({"Name":"n","Type":"JWT","TokenLocality":"local","MaxTokenTTL":"1h","Default":true})")
      == "400 default method already exists: m");
  const auto list = fixture.ask("GET", "/v1/acl/auth-methods");
  CHECK(boost::json::parse(list.body).at(0).as_object().size() == 6);
  CHECK(fixture.refused("GET", "/v1/acl/auth-method/x") == "404 ACL auth-method not found");
  CHECK(fixture.refused("DELETE", "/v1/acl/auth-method/x") == "500 ACL auth method not found");
}

TEST_CASE("acl binding rules: are of a method, which stays theirs") {
  Acls fixture;
  fixture.manage("PUT", "/v1/acl/auth-method",
                 R"({"Name":"m","Type":"JWT","TokenLocality":"local","MaxTokenTTL":"1h"})");
  const auto put = [&](const std::string& body) {
    return fixture.refused("PUT", "/v1/acl/binding-rule", body);
  };
  const auto rule = fixture.manage(
      "PUT", "/v1/acl/binding-rule",
      R"({"AuthMethod":"m","BindType":"policy","BindName":"p","Selector":"value.x == y"})");
  const auto id = Acls::text_in(rule, "ID");
  CHECK(rule.as_object().size() == 11);
  CHECK(fixture.manage("GET", "/v1/acl/binding-rules").at(0).as_object().size() == 6);
  const auto changed
      = fixture.manage("PUT", "/v1/acl/binding-rule/" + id, R"({"Description":"d"})");
  CHECK(changed.at("BindName") == "p");
  CHECK(changed.at("CreateTime") == rule.at("CreateTime"));
  CHECK(fixture.manage("GET", "/v1/acl/binding-rule/" + id) == changed);

  CHECK(put(R"({"BindType":"x"})")
        == "400 binding rule 0 invalid: 2 errors occurred:\n\t* auth method is missing\n\t* "
           "unsupported bind type: \"x\"\n\n");
  CHECK(put(R"({"AuthMethod":"m","BindType":"management","BindName":"x"})")
        == one_mistake("binding rule", "bind name should be empty"));
  CHECK(put(R"({"AuthMethod":"m","BindType":"role"})")
        == one_mistake("binding rule", "bind name is missing"));
  CHECK(put(R"({"AuthMethod":"x","BindType":"management"})") == "400 ACL auth method x not found");
  CHECK(put(R"({"ID":"x"})") == "400 cannot find binding rule x");
  CHECK(
      put(R"({"AuthMethod":"m","BindType":"management","Selector":"=="})")
          .starts_with("400 binding rule 0 invalid: 1 error occurred:\n\t* selector is invalid: "));
  CHECK(fixture.refused("PUT", "/v1/acl/binding-rule/" + id, R"({"AuthMethod":"n"})")
        == "400 cannot update auth method for binding rule, create a new rule instead");
  CHECK(fixture.refused("DELETE", "/v1/acl/binding-rule/" + id) == "200 ");
  CHECK(fixture.refused("DELETE", "/v1/acl/binding-rule/" + id)
        == "500 ACL binding rule not found");
}

TEST_CASE("acl auth methods, binding rules: a path names what the body is of") {
  Acls fixture;
  for (const auto* method : {"GET", "PUT", "DELETE"}) {
    CAPTURE(method);
    CHECK(fixture.refused(method, "/v1/acl/auth-method/", "{}")
          == "400 missing ACL auth-method name");
    CHECK(fixture.refused(method, "/v1/acl/binding-rule/", "{}")
          == "400 missing ACL binding rule ID");
  }
  CHECK(fixture.refused("PUT", "/v1/acl/auth-method/m", R"({"Name":"n"})")
        == "400 ACL auth-method name does not match request path");
  CHECK(fixture.refused("PUT", "/v1/acl/binding-rule/r", R"({"ID":"s"})")
        == "400 ACL binding rule ID does not match request path");
}

TEST_CASE_FIXTURE(Acls, "acl: who could find nothing in a context that he searches is told so") {
  manage("PUT", "/v1/acl/policy/dev",
         R"({"Name":"dev","Rules":"namespace \"default\" { policy = \"read\" }"})");
  const auto reader = text_in(make_token(R"({"Type":"client","Policies":["dev"]})"), "SecretID");
  const auto other = text_in(make_token(R"({"Type":"client","Policies":["none"]})"), "SecretID");
  const auto search = [&](const std::string& context, const std::string& token) {
    const auto code
        = ask("PUT", "/v1/search", R"({"Prefix":"","Context":")" + context + "\"}", token).status;
    CHECK(ask("PUT", "/v1/search/fuzzy", R"({"Text":"we","Context":")" + context + "\"}", token)
              .status
          == code);
    return code;
  };
  for (const std::string context :
       {"jobs", "allocs", "evals", "deployment", "namespaces", "scaling_policy", "volumes", "nodes",
        "node_pools", "vars", "plugins"}) {
    CAPTURE(context);
    CHECK(search(context, other) == 403);
    CHECK(search(context, "") == 403);
    const bool is_read = context != "nodes" && context != "node_pools" && context != "vars"
                         && context != "plugins";
    CHECK(search(context, reader) == (is_read ? 200 : 403));
    CHECK(search(context, manager) == 200);
  }
  CHECK(search("all", other) == 200);
  CHECK(search("all", "") == 200);
}

TEST_CASE_FIXTURE(Acls, "acl: a job names the token that registered it, by the accessor") {
  const auto token = make_token(R"({"Type":"management"})");
  const auto* job = R"({"Job":{"ID":"web","Datacenters":["dc1"],"NomadTokenID":"forged",)"
                    R"("TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"raw_exec",)"
                    R"("Config":{"command":"/bin/true"}}]}]}})";
  REQUIRE(ask("PUT", "/v1/jobs", job, text_in(token, "SecretID")).status == 200);
  CHECK(text_in(manage("GET", "/v1/job/web"), "NomadTokenID") == text_in(token, "AccessorID"));
}

TEST_CASE_FIXTURE(Acls, "acl: of a bearer the first word is the token") {
  const auto with = [&](const std::string& authorization) {
    net::ClientRequest request{.method = "GET", .target = "/v1/acl/token/self"};
    request.headers.push_back({"Authorization", authorization});
    return client().send(std::move(request))->status;
  };
  CHECK(with("Bearer " + manager) == 200);
  CHECK(with("bearer  " + manager + " more") == 200);
  CHECK(with("Bearer more " + manager) != 200);
  CHECK(with("Basic " + manager) != 200);
  CHECK(with(manager) != 200);
}
