// What a server's own state says of who asks.
#include "runtime/cluster/data/stored_rights.hpp"

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

TEST_CASE_FIXTURE(Stored, "stored_rights: until there are policies, a token gives everything") {
  for (const auto* token : {"", "anything"})
    CHECK(cluster::stored_rights(now(), token).value().rights == access::Rights::everything());
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
  const auto who = authenticator->at_once(node("secret-4"));
  REQUIRE(who);
  CHECK(authorize(who->value(), access::Capability::management, {}).has_value());
}
