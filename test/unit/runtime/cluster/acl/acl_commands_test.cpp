// Policies, roles, methods and rules; the texts are tested over HTTP.
#include "runtime/cluster/acl/acl_commands.hpp"

#include "acl_fixture.hpp"

namespace nomad::cluster {

namespace {

Object<schema::AclAuthMethod> method_with(
    const std::function<void(schema::AclAuthMethodConfig::Builder)>& fill) {
  Draft<schema::AclAuthMethod> draft;
  draft->setName("m");
  draft->setType("JWT");
  draft->setTokenLocality("local");
  draft->setMaxTokenTtl(Nanoseconds{std::chrono::hours{1}}.count());
  fill(draft->initConfig());
  return draft.freeze();
}

template <class T>
std::string why_not(const Result<T>& decision) {
  return decision ? std::string{} : decision.error().what;
}

}  // namespace

TEST_CASE_FIXTURE(AclFixture, "acl commands: nothing is decided for who does not manage") {
  const auto denied = [](const Result<AclDecision>& decision) {
    return !decision && decision.error() == access::permission_denied();
  };
  CHECK(denied(decide_put_policy(stranger, {})));
  CHECK(denied(decide_delete_policy(now(), stranger, "p")));
  CHECK(denied(decide_put_role(now(), stranger, {}, "id")));
  CHECK(denied(decide_put_auth_method(now(), stranger, {}, {}, {}, 1)));
  CHECK(denied(decide_put_binding_rule(now(), stranger, {}, "id", 1)));
}

TEST_CASE_FIXTURE(AclFixture, "acl commands: a policy for a task names what the task is in") {
  struct Case {
    std::string ns, job, group, task, why;
  };

  for (const auto& one :
       std::vector<Case>{{"", "web", "", "", "namespace must be set to set job ID"},
                         {"prod", "", "front", "", "job ID must be set to set group"},
                         {"prod", "web", "", "nginx", "group must be set to set task"},
                         {"", "web", "", "nginx", "namespace must be set to set job ID"},
                         {"", "", "", "", ""},
                         {"prod", "", "", "", "job ID must be set to set namespace"},
                         {"prod", "web", "front", "nginx", ""}}) {
    CAPTURE(one.why);
    Draft<schema::AclPolicy> policy;
    policy->setName("tied");
    auto job = policy->initJobAcl();
    job.setNamespace(text(one.ns));
    job.setJobId(text(one.job));
    job.setGroup(text(one.group));
    job.setTask(text(one.task));
    CHECK(why_not(decide_put_policy(manager, policy.reader())).find(one.why) != std::string::npos);
    CHECK(why_not(decide_put_policy(manager, policy.reader())).empty() == one.why.empty());
  }
}

TEST_CASE_FIXTURE(AclFixture, "acl commands: the rules of a policy are judged strictly") {
  const auto told = [&](const char* rules) {
    Draft<schema::AclPolicy> policy;
    policy->setName("p");
    policy->setRules(rules);
    return why_not(decide_put_policy(manager, policy.reader()));
  };
  CHECK(told("node { policy = \"deny\" policy = \"write\" }")
        == "policy 0 invalid: 1 error occurred:\n\t* failed to parse rules: Failed to parse ACL "
           "Policy: policy is set twice (line 1, column 24)\n\n");
  CHECK(told("node { policy = \"write\" polcy = \"deny\" }")
        == "policy 0 invalid: 1 error occurred:\n\t* failed to parse rules: Failed to parse ACL "
           "Policy: \"polcy\" is not known (line 1, column 25). Did you mean \"policy\"?\n\n");
  CHECK(told("node { policy = \"deny\" }\nnode { policy = \"write\" }").empty());
}

TEST_CASE_FIXTURE(AclFixture, "acl commands: a rule for logins says what it gives") {
  run([](auto command) { command.initAclAuthMethodUpsert().setName("m"); });

  struct Case {
    std::string type, name, why;
  };

  for (const auto& one : std::vector<Case>{{"", "reader", "bind type is missing"},
                                           {"role", "", "bind name is missing"},
                                           {"policy", "", "bind name is missing"},
                                           {"management", "reader", "bind name should be empty"},
                                           {"Role", "reader", "unsupported bind type: \"Role\""},
                                           {"role", "reader", ""},
                                           {"role", "dev-${value.team}", ""},
                                           {"policy", "${list.x}",
                                            "bind name is invalid: \"list.x\" is no claim, as "
                                            "${value.name} is"},
                                           {"management", "", ""}}) {
    CAPTURE(one.type);
    Draft<schema::AclBindingRule> rule;
    rule->setAuthMethod("m");
    rule->setBindType(text(one.type));
    rule->setBindName(text(one.name));
    const auto why = why_not(decide_put_binding_rule(now(), manager, rule.reader(), "id", 1));
    CHECK(why.find(one.why) != std::string::npos);
    CHECK(why.empty() == one.why.empty());
  }
}

TEST_CASE_FIXTURE(AclFixture, "acl commands: a role that stays as it is writes nothing") {
  Draft<schema::AclRole> role;
  role->setName("two");
  role->initPolicies(1)[0].setName("p");
  const auto made = decide_put_role(now(), manager, role.reader(), "r2");
  CHECK(made->id == "r2");
  apply(made);
  role->setId("r2");

  CHECK_FALSE(decide_put_role(now(), manager, role.reader(), "r3")->command);
  role->setDescription("other");
  CHECK(decide_put_role(now(), manager, role.reader(), "r3")->command);
}

TEST_CASE_FIXTURE(AclFixture,
                  "acl commands: what has the hash of another is written all the same") {
  for (const auto* name : {"devops", "dev", "ops"})
    run([name](auto command) { command.initAclPolicyUpsert().setName(name); });
  Draft<schema::AclRole> role;
  role->setName("two");
  role->initPolicies(1)[0].setName("devops");
  apply(decide_put_role(now(), manager, role.reader(), "r2"));
  role->setId("r2");
  auto links = role->initPolicies(2);
  links[0].setName("dev");
  links[1].setName("ops");
  CHECK(decide_put_role(now(), manager, role.reader(), "r3")->command);

  const auto put = [&](auto fill) {
    return decide_put_auth_method(now(), manager, *method_with(fill), {}, {}, 1);
  };
  const auto one = [](auto config) { config.initBoundAudiences(1).set(0, "ab"); };
  apply(put(one));
  CHECK_FALSE(put(one)->command);
  CHECK(put([](auto config) {
          auto audiences = config.initBoundAudiences(2);
          audiences.set(0, "a");
          audiences.set(1, "b");
        })->command);

  Draft<schema::AclBindingRule> rule;
  rule->setAuthMethod("m");
  rule->setBindType("management");
  rule->setDescription("dm");
  apply(decide_put_binding_rule(now(), manager, rule.reader(), "b1", 1));
  rule->setId("b1");
  CHECK_FALSE(decide_put_binding_rule(now(), manager, rule.reader(), "b2", 2)->command);
  rule->setDescription("other");
  CHECK(decide_put_binding_rule(now(), manager, rule.reader(), "b2", 2)->command);
}

TEST_CASE_FIXTURE(AclFixture,
                  "acl commands: each part of a method's configuration is in its hash") {
  using Config = schema::AclAuthMethodConfig::Builder;
  const std::vector<std::function<void(Config)>> changes{
      [](Config) {},
      [](Config c) { c.initJwtValidationPubKeys(1).set(0, "x"); },
      [](Config c) { c.setJwksUrl("https://x"); },
      [](Config c) { c.setJwksCaCert("x"); },
      [](Config c) { c.setOidcDiscoveryUrl("https://x"); },
      [](Config c) { c.setOidcClientId("x"); },
      [](Config c) { c.initOidcScopes(1).set(0, "x"); },
      [](Config c) { c.initBoundAudiences(1).set(0, "x"); },
      [](Config c) { c.initBoundIssuer(1).set(0, "x"); },
      [](Config c) { c.initAllowedRedirectUris(1).set(0, "x"); },
      [](Config c) { c.initDiscoveryCaPem(1).set(0, "x"); },
      [](Config c) { c.initSigningAlgs(1).set(0, "ES256"); },
      [](Config c) { c.setExpirationLeeway(1); },
      [](Config c) { c.setNotBeforeLeeway(1); },
      [](Config c) { c.setClockSkewLeeway(1); },
      [](Config c) { c.initClaimMappings(1)[0].setKey("x"); },
      [](Config c) { c.initListClaimMappings(1)[0].setKey("x"); },
  };
  std::set<std::string> hashes;
  for (const auto& change : changes) {
    const auto made = decide_put_auth_method(now(), manager, *method_with(change), {}, {}, 1);
    REQUIRE(made.has_value());
    hashes.insert(
        std::string{state::kind::bytes_of(made->command->getAclAuthMethodUpsert().getHash())});
  }
  CHECK(hashes.size() == changes.size());
}

TEST_CASE_FIXTURE(AclFixture, "acl commands: a method that nobody could sign in by is refused") {
  using Config = schema::AclAuthMethodConfig::Builder;
  const auto told = [&](const std::function<void(Config)>& fill) {
    const auto made = decide_put_auth_method(now(), manager, *method_with(fill), {}, {}, 1);
    return made ? "taken" : made.error().what;
  };
  const auto refused = [](const std::string& what) {
    return "auth method 0 invalid: 1 error occurred:\n\t* " + what + "\n\n";
  };
  for (const auto* url : {"file:///etc/passwd", "unix:///run/docker.sock", "ftp://idp/keys", "x",
                          "http://", "https://idp:port/keys"}) {
    CAPTURE(url);
    CHECK(told([url](Config c) { c.setJwksUrl(url); })
          == refused("invalid JWKSURL: a URL by http or https is expected"));
    CHECK(told([url](Config c) { c.setOidcDiscoveryUrl(url); })
          == refused("invalid OIDCDiscoveryURL: a URL by http or https is expected"));
  }
  CHECK(told([](Config c) { c.setJwksUrl("https://user:canary@idp/keys"); })
        == refused("invalid JWKSURL: use a URL without credentials"));
  CHECK(told([](Config c) { c.setOidcDiscoveryUrl("https://canary@idp"); })
        == refused("invalid OIDCDiscoveryURL: use a URL without credentials"));
  CHECK(told([](Config c) { c.setJwksUrl("HTTPS://idp/keys?tenant=1"); }) == "taken");
  for (const auto* begin : {"-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"})
    CHECK(told([begin](Config c) { c.initJwtValidationPubKeys(1).set(0, begin); })
          == refused(
              "invalid JWTValidationPubKeys: one is a private key; public keys or certificates are "
              "expected"));
  for (const auto* algorithm : {"HS256", "none", "rs256", "x", ""}) {
    CAPTURE(algorithm);
    CHECK(told([algorithm](Config c) { c.initSigningAlgs(1).set(0, algorithm); })
          == refused(std::string{"invalid SigningAlgs value '"} + algorithm
                     + "': it must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, "
                       "ES384, ES512, EdDSA"));
  }
}

TEST_CASE_FIXTURE(AclFixture,
                  "acl commands: a method of an older release changes beside what it has stored") {
  const auto stored = method_with([](auto config) { config.setJwksUrl("file:///keys"); });
  run([&stored](auto command) { command.setAclAuthMethodUpsert(*stored); });
  Draft<schema::AclAuthMethod> update;
  update->setName("m");
  update->setDefault(true);
  CHECK(decide_put_auth_method(now(), manager, update.reader(), {}, {}, 1).has_value());
}

TEST_CASE_FIXTURE(AclFixture, "acl commands: no client secret is in a command") {
  Draft<schema::AclAuthMethod> seal;
  seal->setKeyId("k");
  seal->setSealed(data_of("sealed"));
  const auto method = method_with([](auto config) { config.setOidcClientSecret("canary"); });
  const auto made = decide_put_auth_method(now(), manager, *method, seal.reader(), {}, 1);
  REQUIRE(made.has_value());

  const auto stored = made->command->getAclAuthMethodUpsert();
  CHECK(stored.getConfig().getOidcClientSecret().size() == 0);
  CHECK(state::kind::bytes_of(stored.getSealed()) == "sealed");
  const auto bytes = made->command.bytes();
  CHECK(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()}.find("canary")
        == std::string_view::npos);
}

}  // namespace nomad::cluster
