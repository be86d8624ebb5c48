// A region copies from the authoritative one: what holds in all, its secrets sealed anew.
#include "actors/server/regions/replicator.hpp"

#include "runtime/base/log.hpp"
#include "test/unit/actors/server/regions/region_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using test::RegionFixture;
using namespace std::chrono_literals;
namespace kind = state::kind;

namespace {

/// Whose leader has made no root key yet.
struct NewRegion : RegionFixture {
  NewRegion() : RegionFixture{false} {}
};

/// Whose authoritative region has a root key that its leader cannot open yet.
struct LateKey : RegionFixture {
  std::shared_ptr<security::Keyring> elsewhere = test::new_keyring("elsewhere");
  Object<schema::RootKey> late = elsewhere->make_root_key("k-late", 1, {keyring_there->holder()});

  LateKey() {
    Draft<schema::RootKey> passive{late};
    passive->setState(schema::RootKeyState::INACTIVE);
    late = passive.freeze();
    Draft<schema::RootKey> locked{late};
    locked->initWraps(0);
    there_is([&](auto command) { command.initRootKeyUpsert().setKey(locked.reader()); });
  }

  void give_key() {
    there_is([&](schema::Command::Builder command) { command.initRootKeyUpsert().setKey(*late); });
  }

  std::vector<std::byte> seal(std::string_view as,
                              const std::string& key,
                              const std::string& secret) {
    return *elsewhere->seal_secret(late, {as, key}, secret);
  }

  void put_methods() {
    there_is([&](auto command) {
      auto method = command.initAclAuthMethodUpsert();
      method.setName("sso");
      method.setKeyId("k-late");
      const auto sealed = seal(security::auth_method_seal, "sso", "its secret");
      method.setSealed({reinterpret_cast<const unsigned char*>(sealed.data()), sealed.size()});
    });
    there_is([](auto command) { command.initAclAuthMethodUpsert().setName("jwt"); });
  }
};

}  // namespace

TEST_CASE_FIXTURE(RegionFixture, "replicator: what is there comes, and changes without a pause") {
  put_policy("p", "one");
  put_namespace("n");
  start();
  CHECK(state().get_namespace("n"));
  CHECK(view(state().row<kind::AclPolicies>("p")->getRules()) == "one");

  put_policy("p", "two");
  put_policy("q", "three");
  pass(0s);
  CHECK(view(state().row<kind::AclPolicies>("p")->getRules()) == "two");
  CHECK(state().row<kind::AclPolicies>("q"));
  there_is([](auto command) { command.setAclPolicyDelete("p"); });
  there_is([](auto command) { command.setNamespaceDelete("n"); });
  pass(0s);
  CHECK_FALSE(state().row<kind::AclPolicies>("p"));
  CHECK_FALSE(state().get_namespace("n"));

  // Where nothing happens, nothing is written, and little is asked.
  const auto before = entries;
  way->asked = 0;
  pass(60s);
  CHECK(entries == before);
  CHECK(way->asked <= 4 * 7);
}

TEST_CASE_FIXTURE(RegionFixture, "replicator: a global token works here, sealed by a key of here") {
  put_token("global", "its secret");
  put_token("local", "another", false);
  start();
  const auto token = cluster::token_of_secret(state(), access::secret_hash("its secret"));
  REQUIRE(token);
  CHECK(view(token->getAccessorId()) == "global");
  CHECK(view(token->getKeyId()) == "k-here");
  const auto opened = keyring->open_secret(state().root_key("k-here"),
                                           {security::token_seal, "global"}, token->getSealed());
  REQUIRE(opened.has_value());
  CHECK(opened->text() == "its secret");
  CHECK_FALSE(state().row<kind::AclTokens>("local"));

  there_is([](auto command) { command.setAclTokenDelete("global"); });
  pass(0s);
  CHECK_FALSE(state().row<kind::AclTokens>("global"));
}

TEST_CASE_FIXTURE(LateKey, "replicator: a secret that does not open there is waited for") {
  put_methods();
  put_policy("p", "one");
  start();
  CHECK_FALSE(state().row<kind::AclAuthMethods>("sso"));
  CHECK(state().row<kind::AclAuthMethods>("jwt"));  // it has no secret, and is held up by none
  give_key();
  pass(60s);
  const auto method = state().row<kind::AclAuthMethods>("sso");
  REQUIRE(method);
  const auto opened = keyring->open_secret(
      state().root_key("k-here"), {security::auth_method_seal, "sso"}, method->getSealed());
  REQUIRE(opened.has_value());
  CHECK(opened->text() == "its secret");
}

TEST_CASE_FIXTURE(LateKey, "replicator: rights of a token change whose secret opens no more") {
  put_token("t", "a secret");
  start();
  const std::string before{kind::bytes_of(state().row<kind::AclTokens>("t")->getSealed())};
  const auto there_now = there->snapshot().row<kind::AclTokens>("t");
  there_is([&](auto command) {
    auto resealed = command.initAclReseal().initTokens(1)[0];
    resealed.setName("t");
    resealed.setBefore(there_now->getSealed());
    resealed.setKeyId("k-late");
    resealed.setSealed(test::bytes_as_data("sealed by it"));
  });
  there_is([&](auto command) {
    command.initAclTokenUpsert().setToken(*there->snapshot().row<kind::AclTokens>("t"));
    command.getAclTokenUpsert().getToken().setName("fewer rights");
  });
  pass(0s);
  const auto token = state().row<kind::AclTokens>("t");
  CHECK(view(token->getName()) == "fewer rights");
  CHECK(view(token->getKeyId()) == "k-here");
  CHECK(kind::bytes_of(token->getSealed()) == before);
  CHECK(cluster::token_of_secret(state(), access::secret_hash("a secret")));
}

TEST_CASE_FIXTURE(RegionFixture, "replicator: without access control namespaces and pools come") {
  put_policy("p", "one");
  put_namespace("n");
  there_is([](auto command) { command.initNodePoolUpsert().setName("pool"); });
  start({.copies_access = false});
  CHECK(state().get_namespace("n"));
  CHECK(state().node_pool("pool"));
  CHECK_FALSE(state().row<kind::AclPolicies>("p"));
}

TEST_CASE_FIXTURE(RegionFixture, "replicator: a refused token is said, and nothing is lost by it") {
  put_policy("p", "one");
  start();
  way->token = "another";
  std::string logged;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { logged += line; });
  pass(25s);  // the question that is held was asked with the other one
  there_is([](auto command) { command.setAclPolicyDelete("p"); });
  pass(30s);
  CHECK(state().row<kind::AclPolicies>("p"));
  CHECK(logged.find("it refuses acl.replication_token: that is no token of management there")
        != std::string::npos);
  way->token = "manager";
  pass(20s);
  CHECK_FALSE(state().row<kind::AclPolicies>("p"));

  logged.clear();
  way->token = "another";
  token = SecretText{};
  start();
  log::remove_listener(listener);
  CHECK(logged.find("it has access control, and acl.replication_token is not set here")
        != std::string::npos);
}

TEST_CASE_FIXTURE(RegionFixture,
                  "replicator: a lost region keeps what it had, and is found again") {
  put_policy("p", "one");
  start();
  way->is_open = false;
  put_policy("q", "two");
  pass(40s);
  CHECK(state().row<kind::AclPolicies>("p"));
  way->is_open = true;
  pass(20s);
  CHECK(state().row<kind::AclPolicies>("q"));

  // Who does not lead asks nothing.
  tell(replicator, Lead{false});
  put_policy("r", "three");
  way->asked = 0;
  pass(60s);
  CHECK(way->asked == 0);
  CHECK_FALSE(state().row<kind::AclPolicies>("r"));
  tell(replicator, Lead{true});
  commit();
  CHECK(state().row<kind::AclPolicies>("r"));
}

TEST_CASE_FIXTURE(RegionFixture, "replicator: a namespace in use goes when it is not any more") {
  put_namespace("used");
  start();
  write([](auto command) {
    auto job = command.initJobRegister().initJob();
    job.setNamespace("used");
    job.setId("j");
  });
  there_is([](auto command) { command.setNamespaceDelete("used"); });
  put_namespace("more");
  std::string logged;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { logged += line; });
  pass(0s);
  log::remove_listener(listener);
  CHECK(logged.find(R"(\"used\" is not there, and stays here for now: namespace \"used\" contains)")
        != std::string::npos);
  CHECK(state().get_namespace("used"));
  CHECK(state().get_namespace("more"));  // it holds up nothing
  write([](auto command) {
    auto gone = command.initJobDeregister();
    gone.setNamespace("used");
    gone.setJobId("j");
    gone.setPurge(true);
  });
  pass(60s);
  CHECK_FALSE(state().get_namespace("used"));
}

TEST_CASE_FIXTURE(RegionFixture,
                  "replicator: what a region has of its own goes, which is said before") {
  for (int i = 0; i < 7; ++i)
    write([&](auto command) {
      auto policy = command.initAclPolicyUpsert();
      policy.setName(text("own" + std::to_string(i)));
      policy.setRules("r");
    });
  put_policy("own0", "other rules");
  std::string logged;
  std::size_t policies_then = 0;
  const auto listener
      = log::add_listener(log::Level::warn, [&](log::Level, const std::string& line) {
          logged += line + '\n';
          policies_then = state().rows<kind::AclPolicies>().size();
        });
  start({.replica = {.removed_at_once = 2}});
  CHECK(logged.find(
            "could not copy from the authoritative region: kind=acl_policies region=authority "
            "error=\"6 rows were made here and are not there: they are removed now; the first is "
            "\\\"own1\\\"\"\n")
        != std::string::npos);
  CHECK(policies_then == 7);
  CHECK(state().rows<kind::AclPolicies>().size() == 1);

  // A copy that goes as its original does is nobody's loss.
  logged.clear();
  pass(120s);
  there_is([](auto command) { command.setAclPolicyDelete("own0"); });
  pass(0s);
  log::remove_listener(listener);
  CHECK(state().rows<kind::AclPolicies>().size() == 0);
  CHECK(logged.empty());
}

TEST_CASE_FIXTURE(RegionFixture, "replicator: of many that stay there is one line a minute") {
  start();
  for (int i = 0; i < 150; ++i) {
    const auto name = "used" + std::to_string(1000 + i);
    write([&](auto command) { command.initNamespaceUpsert().setName(text(name)); });
    write([&](auto command) {
      auto job = command.initJobRegister().initJob();
      job.setNamespace(text(name));
      job.setId("j");
    });
  }
  std::vector<std::string> lines;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { lines.push_back(line); });
  put_namespace("more");
  for (int i = 0; i < 5; ++i)
    pass(10s);
  CHECK(lines.size() == 1);
  CHECK(lines.front().find("150 rows are not there, and stay here for now; the first, "
                           "\\\"used1000\\\": namespace \\\"used1000\\\" contains")
        != std::string::npos);
  pass(30s);
  CHECK(lines.size() == 2);
  log::remove_listener(listener);
}

TEST_CASE_FIXTURE(RegionFixture, "replicator: what can't be stored is said, and tried again") {
  put_token("t", "its secret");
  // A token of this region's own has the accessor.
  write([&](auto command) {
    auto upsert = command.initAclTokenUpsert();
    upsert.setIsNew(true);
    auto own = upsert.initToken();
    own.setAccessorId("t");
    own.setSecretHash(test::bytes_as_data("another"));
    own.setKeyId("k-here");
  });
  std::string logged;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { logged += line; });
  start();
  log::remove_listener(listener);
  CHECK(logged.find(
            "1 rows cannot be stored here; the first, \\\"t\\\": another one, which stays, is in "
            "its place")
        != std::string::npos);
  CHECK_FALSE(state().row<kind::AclTokens>("t")->getGlobal());
  write([](auto command) { command.setAclTokenDelete("t"); });
  pass(60s);
  CHECK(state().row<kind::AclTokens>("t")->getGlobal());
}

TEST_CASE_FIXTURE(NewRegion, "replicator: secrets wait for a key of this region") {
  put_token("t", "its secret");
  std::string logged;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { logged += line; });
  start();
  log::remove_listener(listener);
  CHECK(logged.find("the keyring has no key yet") != std::string::npos);
  write([&](schema::Command::Builder command) {
    command.initRootKeyUpsert().setKey(*keyring->make_root_key("k-new", 1, {}));
  });
  pass(20s);
  CHECK(view(state().row<kind::AclTokens>("t")->getKeyId()) == "k-new");
}
