// What is told of a token to who has it.
#include "runtime/cluster/acl/held_token.hpp"

#include "acl_fixture.hpp"

namespace nomad::cluster {

TEST_CASE_FIXTURE(AclFixture,
                  "held token: has its own policies and its roles', as far as there are any") {
  run([](auto command) {
    auto upsert = command.initAclTokenUpsert();
    upsert.setIsNew(true);
    auto made = upsert.initToken();
    made.setAccessorId("a");
    made.setName("ci");
    made.setType("client");
    made.setSecretHash(data_of("hash"));
    made.setKeyId("k");
    made.setGlobal(true);
    made.setExpirationTime(7);
    auto policies = made.initPolicies(2);
    policies.set(0, "gone");
    policies.set(1, "p");
    auto roles = made.initRoles(2);
    roles[0].setId("none");
    roles[1].setId("r1");
  });
  const auto held = held_token(now(), *token("a"));
  CHECK(held.name == "ci");
  CHECK(held.type == "client");
  CHECK(held.global);
  CHECK(held.expires_at == 7);
  REQUIRE(held.roles.size() == 1);
  CHECK(held.roles[0].name == "one");
  REQUIRE(held.policies.size() == 2);
  CHECK(held.policies[0].name == "p");
  CHECK(held.policies[0].role.empty());
  CHECK(held.policies[1].name == "q");
  CHECK(held.policies[1].role == "one");
  CHECK(held.policies[1].modify_index != 0);
}

}  // namespace nomad::cluster
