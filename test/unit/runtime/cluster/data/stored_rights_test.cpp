// What a server's own state says of who asks.
#include "runtime/cluster/data/stored_rights.hpp"

#include "runtime/access/secret_hash.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/cluster/acl/held_token.hpp"
#include "runtime/cluster/acl/token_commands.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;

namespace {

struct Stored : state::StateFixture {
  Stored() {
    run([](auto command) {
      auto node = command.initNodeRegister().initNode();
      node.setId("n1");
      node.setSecretId("secret-1");
    });
    run([](auto command) { command.initNodeRegister().initNode().setId("n2"); });
    run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
  }

  Result<access::Grant> rights(std::string_view token,
                               const access::Moment& at = access::Moment::now()) {
    return cluster::stored_rights(now(), token, cache, at);
  }

  cluster::HeldToken held(std::string_view accessor) {
    return cluster::held_token(now(), *now().row<state::kind::AclTokens>(accessor));
  }

  access::RightsCache cache;

  void put_token(std::string_view accessor,
                 std::string_view secret,
                 std::string_view type,
                 std::int64_t expires = 0) {
    run([&](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      auto token = upsert.initToken();
      token.setAccessorId(text(accessor));
      token.setSecretHash(cluster::data_of(access::secret_hash(secret)));
      token.setKeyId("k");
      token.setType(text(type));
      token.setExpirationTime(expires);
      if (type == "management") return;
      token.initPolicies(2).set(0, "p");
      token.getPolicies().set(1, "gone");
      token.initRoles(2)[0].setId("r1");
      token.getRoles()[1].setId("r2");
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Stored, "stored_rights: a node is known by its own secret alone") {
  CHECK(cluster::is_secret_of_node(now(), "n1", "secret-1"));
  CHECK_FALSE(cluster::is_secret_of_node(now(), "n1", "secret-2"));
  CHECK_FALSE(cluster::is_secret_of_node(now(), "n1", ""));
  CHECK_FALSE(cluster::is_secret_of_node(now(), "n2", ""));  // which has none
  CHECK_FALSE(cluster::is_secret_of_node(now(), "n3", "secret-1"));
  CHECK_FALSE(cluster::is_secret_of_node(now(), "n3", ""));
}

TEST_CASE_FIXTURE(Stored, "stored_rights: what is no token is refused, and none gives nothing") {
  put_token("a1", "F65EFADE-f37c-ef03-a52d-5c90a4463493", "management");

  for (const auto* token : {"anything", "a1", "secret-1", "n1"})
    CHECK(rights(token).error() == access::permission_denied());
  CHECK(rights("").value().rights == access::Rights::nothing());

  // Nor does a policy of everyone's that cannot be read any more, which is no error.
  run([](auto command) {
    auto policy = command.initAclPolicyUpsert();
    policy.setName("anonymous");
    policy.setRules("nonsense {");
  });
  CHECK(rights("").value().rights == access::Rights::nothing());
}

TEST_CASE_FIXTURE(Stored, "stored_rights: a policy that would be refused today still counts") {
  run([](auto command) {
    auto policy = command.initAclPolicyUpsert();
    policy.setName("anonymous");
    policy.setRules(
        "namespace \"*\" { policy = \"read\" capabilites = [\"deny\"] }\n"
        "node { policy = \"read\" policy = \"write\" }\n"
        "agent { policy = \"deny\" policy = \"write\" }");
  });
  const auto all = rights("").value().rights;
  CHECK(all->allow(access::Capability::read_job, {.ns = "prod"}));
  CHECK(all->allow(access::Capability::node_write, {}));
  CHECK_FALSE(all->allow(access::Capability::agent_read, {}));
}

TEST_CASE_FIXTURE(Stored, "stored_rights: a management token gives everything, in either case") {
  put_token("a1", "F65EFADE-f37c-ef03-a52d-5c90a4463493", "management");

  for (const auto* token :
       {"f65efade-f37c-ef03-a52d-5c90a4463493", "F65EFADE-F37C-EF03-A52D-5C90A4463493"}) {
    const auto grant = rights(token);
    REQUIRE(grant.has_value());
    CHECK(grant->rights->allow(access::Capability::management, {}));
    CHECK(grant->accessor == "a1");
    CHECK(grant->until == access::Time::max());
    CHECK(grant->index == cluster::stored_rights_index(now()));
  }
}

TEST_CASE_FIXTURE(Stored, "stored_rights: a token that expires ends at once") {
  const std::int64_t end = 1'000'000'000'000;
  put_token("a1", "s", "management", end);
  const access::Time steady{std::chrono::hours{5}};

  const auto before = rights("s", {end - 7, steady});
  REQUIRE(before.has_value());
  CHECK(before->until == steady + std::chrono::nanoseconds{7});
  CHECK(held("a1").expires_at == end);
  CHECK(rights("s", {end + 1, steady}).error() == access::permission_denied());
}

TEST_CASE_FIXTURE(Stored, "stored_rights: a client token has its own policies and its roles'") {
  run([](auto command) { command.initAclPolicyUpsert().setName("p"); });
  run([](auto command) { command.initAclPolicyUpsert().setName("q"); });
  run([](auto command) {
    auto role = command.initAclRoleUpsert();
    role.setId("r1");
    role.setName("one");
    role.initPolicies(1)[0].setName("q");
  });
  put_token("a1", "s", "client");
  const auto names
      = [&] { return cluster::policies_of_token(now(), *now().row<state::kind::AclTokens>("a1")); };
  CHECK(names() == cluster::Names{"gone", "p", "q"});  // "gone" gives nothing until it is there

  const auto told = held("a1");
  CHECK(told.type == "client");
  REQUIRE(told.roles.size() == 1);
  CHECK(told.roles[0].id == "r1");
  CHECK(told.roles[0].name == "one");
  REQUIRE(told.policies.size() == 2);
  CHECK(told.policies[0].name == "p");
  CHECK(told.policies[0].role.empty());
  CHECK(told.policies[1].name == "q");
  CHECK(told.policies[1].role == "one");
  CHECK(told.policies[1].modify_index
        == now().row<state::kind::AclPolicies>("q")->getModifyIndex());

  auto like_it = access::secret_hash("s");
  REQUIRE(cluster::token_of_secret(now(), like_it));
  like_it.back() = static_cast<char>(like_it.back() ^ 1);  // rows are found by the first bytes
  CHECK_FALSE(cluster::token_of_secret(now(), like_it));

  const auto before = cluster::stored_rights_index(now());
  put_token("a2", "t", "client");
  CHECK(cluster::stored_rights_index(now()) == before);
  run([](auto command) { command.setAclTokenDelete("a2"); });
  CHECK(cluster::stored_rights_index(now()) > before);
  const auto after = cluster::stored_rights_index(now());
  run([](auto command) { command.setAclRoleDelete("r1"); });
  CHECK(names() == cluster::Names{"gone", "p"});
  CHECK(cluster::stored_rights_index(now()) > after);
  CHECK(store.rights_indexes().rights == cluster::stored_rights_index(now()));
  CHECK(store.rights_indexes().tokens == now().index(state::Table::acl_tokens));
  CHECK_FALSE(rights("s")->rights->allow(access::Capability::management, {}));
}

TEST_CASE_FIXTURE(Stored, "stored_rights: of a token that is not here yet the leader is asked") {
  put_token("a1", "s", "management");
  bool knows_all = false;
  const auto here
      = cluster::lookup_in({std::shared_ptr<void>{}, &store}, [&] { return knows_all; }).here;
  CHECK(here("s").value().has_value());
  CHECK(here("").value().has_value());  // what is between servers never waits for a leader
  CHECK_FALSE(here("made at the leader").has_value());
  knows_all = true;
  CHECK(here("made at the leader").value().error() == access::permission_denied());
}

TEST_CASE_FIXTURE(Stored, "stored_rights: a lookup ends tokens by the clock that it has") {
  put_token("a1", "s", "management", 1'000);
  std::int64_t time = 999;
  const auto here = cluster::lookup_in({std::shared_ptr<void>{}, &store}, {}, [&] {
                      return access::Moment{time, access::Time{}};
                    }).here;
  CHECK(here("s").value().has_value());
  time = 1'001;
  CHECK(here("s").value().error() == access::permission_denied());
}

namespace {

struct AttachedPolicies : Stored {
  using Capability = access::Capability;

  AttachedPolicies() {
    register_job({.ns = "default"});
    register_job({.id = "web/dispatch-1", .ns = "default", .parent = "web"});
    place({{.id = "a", .ns = "default", .node = "n1"},
           {.id = "child", .job = "web/dispatch-1", .ns = "default", .node = "n1"}});
  }

  void attach(std::string_view path,
              std::string_view ns,
              std::string_view job,
              std::string_view group = {},
              std::string_view task = {}) {
    run([&](auto command) {
      auto policy = command.initAclPolicyUpsert();
      policy.setName(text(path));
      policy.setRules(text("namespace \"default\" { variables { path \"" + std::string{path}
                           + "\" { capabilities = [\"read\"] } } }"));
      auto to = policy.initJobAcl();
      to.setNamespace(text(ns));
      to.setJobId(text(job));
      to.setGroup(text(group));
      to.setTask(text(task));
    });
  }

  bool reads(std::string_view path,
             const cluster::TaskOfNode& task = {"n1", "a", "server"},
             std::string_view ns = "default") {
    return cluster::rights_of_task(now(), task, cache)
        .value()
        ->allow(Capability::variables_read, {.ns = ns, .path = path});
  }
};

}  // namespace

TEST_CASE_FIXTURE(AttachedPolicies, "stored_rights: a task on its node reads its own variables") {
  for (const auto* path : {"nomad/jobs", "nomad/jobs/web/api/server"}) {
    CHECK(reads(path));
    CHECK(reads(path, {"n1", "child", "server"}));
    CHECK_FALSE(reads(path, {"n2", "a", "server"}));  // which has not got it
    CHECK_FALSE(reads(path, {"n1", "b", "server"}));
    CHECK_FALSE(reads(path, {"n1", "", ""}));  // of a node of an older release
    CHECK_FALSE(reads(path, {"n1", "a", ""}));
    CHECK_FALSE(reads(path, {"n1", "a", "server"}, "dev"));
  }
  CHECK_FALSE(reads("nomad/jobs/web2"));
  report("a", schema::ClientStatus::COMPLETE);
  CHECK_FALSE(reads("nomad/jobs"));
}

TEST_CASE_FIXTURE(AttachedPolicies, "stored_rights: policies are of exactly what they name") {
  attach("job", "default", "web");
  attach("group", "default", "web", "api");
  attach("task", "default", "web", "api", "server");
  attach("no-ns", "dev", "web");
  attach("no-job", "default", "we");
  attach("no-job2", "default", "web2");
  attach("no-child", "default", "web/dispatch-1");
  attach("no-group", "default", "web", "ap");
  attach("no-task", "default", "web", "api", "server2");
  for (const auto* alloc : {"a", "child"}) {
    const cluster::TaskOfNode task{"n1", alloc, "server"};
    for (const auto* path : {"job", "group", "task"})
      CHECK(reads(path, task));
    for (const auto* path : {"no-ns", "no-job", "no-job2", "no-child", "no-group", "no-task"}) {
      CAPTURE(path);
      CHECK_FALSE(reads(path, task));
    }
  }
  CHECK_FALSE(reads("task", {"n1", "a", "side"}));
}

TEST_CASE_FIXTURE(Stored, "stored_rights: an authenticator of a server reads its newest state") {
  const auto authenticator = access::Authenticator::make(
      {.lookup = cluster::lookup_in({std::shared_ptr<void>{}, &store})});
  const auto node = [&](const std::string& secret) {
    return authenticator->identify({.credentials = {.node_id = "n4", .node_secret = secret}});
  };
  CHECK_FALSE(node("secret-4").caller().node);
  run([](auto command) {
    auto registered = command.initNodeRegister().initNode();
    registered.setId("n4");
    registered.setSecretId("secret-4");
  });
  CHECK(node("secret-4").caller().is_node("n4"));
  const auto may_manage = [&](const std::string& token) {
    const auto who
        = authenticator->at_once(authenticator->identify({.credentials = {.token = token}}));
    return who && *who && authorize(who->value(), access::Capability::management, {}).has_value();
  };
  CHECK_FALSE(may_manage("s"));
  put_token("a1", "s", "management");
  CHECK(may_manage("s"));
  run([](auto command) { command.setAclTokenDelete("a1"); });
  CHECK_FALSE(may_manage("s"));
  CHECK_FALSE(may_manage("secret-4"));  // a node's secret is no token
}
