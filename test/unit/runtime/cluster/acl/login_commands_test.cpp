// Whom a login becomes; the texts are tested over HTTP.
#include "runtime/cluster/acl/login_commands.hpp"

#include "acl_fixture.hpp"

namespace nomad::cluster {

namespace {

struct LoginFixture : AclFixture {
  LoginFixture() {
    run([](auto command) {
      auto method = command.initAclAuthMethodUpsert();
      method.setName("m");
      method.setType("JWT");
      method.setTokenLocality("global");
      method.setMaxTokenTtl(Nanoseconds{std::chrono::hours{1}}.count());
      auto config = method.initConfig();
      auto mappings = config.initClaimMappings(1);
      mappings[0].setKey("sub");
      mappings[0].setValue("user");
      auto lists = config.initListClaimMappings(1);
      lists[0].setKey("groups");
      lists[0].setValue("groups");
    });
  }

  void bind(const std::string& id,
            const std::string& type,
            const std::string& name,
            const std::string& selector = "",
            const std::string& method = "m") {
    run([&](auto command) {
      auto rule = command.initAclBindingRuleUpsert();
      rule.setId(text(id));
      rule.setAuthMethod(text(method));
      rule.setBindType(text(type));
      rule.setBindName(text(name));
      rule.setSelector(text(selector));
    });
  }

  Result<AclDecision> log_in(const std::string& claims) {
    VerifiedLogin login{"m", now().row<state::kind::AclAuthMethods>("m")->getModifyIndex(), {}};
    login.claims = *access::read_claims(claims);
    return decide_login(now(), login, fresh("a"), {});
  }

  /// "client p,q r1" of the token that is decided, or the error.
  std::string became(const std::string& claims) {
    const auto decision = log_in(claims);
    if (!decision) return decision.error().what;
    const auto command = *decision->command;
    const auto token = command.getAclTokenUpsert().getToken();
    std::string shown = copy(token.getType());
    for (const auto policy : token.getPolicies())
      shown += " policy " + copy(policy);
    for (const auto role : token.getRoles())
      shown += " role " + copy(role.getId());
    return shown;
  }
};

const std::string nobody = "no role or policy bindings matched";

}  // namespace

TEST_CASE_FIXTURE(LoginFixture, "login commands: a new token of the cluster's own making") {
  bind("1", "policy", "p");
  const auto decision = log_in("{}");
  REQUIRE(decision);
  CHECK(decision->id == "a");
  apply(decision);
  CHECK(view(token("a")->getName()) == "JWT-m");
  CHECK(token("a")->getGlobal());
  CHECK(token("a")->getExpirationTime() == 1000 + Nanoseconds{std::chrono::hours{1}}.count());
}

TEST_CASE_FIXTURE(LoginFixture, "login commands: rules bind what exists, each thing once") {
  CHECK(became("{}") == nobody);
  bind("1", "policy", "nothing");
  bind("2", "role", "nobody");
  bind("3", "management", "", "", "other");
  CHECK(became("{}") == nobody);
  bind("4", "policy", "q");
  bind("5", "policy", "q");
  bind("6", "role", "one");
  bind("7", "role", "one");
  CHECK(became("{}") == "client policy q role r1");
}

TEST_CASE_FIXTURE(LoginFixture, "login commands: selectors choose, and what is missing is unlike") {
  bind("1", "policy", "p", "value.user == ann");
  bind("2", "policy", "q", "value.user != ann and \"x\" not in list.groups");
  bind("3", "role", "one", "\"x\" in list.groups");
  bind("4", "management", "", "value.user == root");
  bind("5", "management", "", "value.user.deeper == x or other.x != y or list.groups.9 != z");
  bind("6", "management", "", "list.groups is not empty and list.groups matches \"(\"");
  CHECK(became(R"({"sub":"ann"})") == "client policy p");
  CHECK(became("{}") == "client policy q");
  CHECK(became(R"({"groups":["x"]})") == "client role r1");
  CHECK(became(R"({"sub":"ann","groups":"x"})") == "client policy p role r1");
  CHECK(became(R"({"sub":"root"})") == "management");
}

TEST_CASE_FIXTURE(LoginFixture, "login commands: a method that has changed since counts no more") {
  bind("1", "policy", "p");
  const VerifiedLogin login{"m", 1, {}};
  CHECK(decide_login(now(), login, fresh("a"), {}).error()
        == Error{Errc::conflict, "auth-method \"m\" has changed; sign in again"});
  CHECK(decide_login(now(), {"none", 1, {}}, fresh("a"), {}).error().code == Errc::conflict);
}

}  // namespace nomad::cluster
