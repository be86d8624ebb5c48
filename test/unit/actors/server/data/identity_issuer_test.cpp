#include "actors/server/data/identity_issuer.hpp"

#include "test/unit/actors/server/data/identity_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using test::IdentityFixture;

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_issuer: signs what is at the positions, in their order") {
  add_key();
  const auto issuer = adopt(spawn_identity_issuer(
      system(), {identity::signing_keys(keyring), identity::rsa_keys(keyring)}, "", false));
  const auto question = door::make_ask("n1", [](auto& ask) {
    auto list = ask.initSignIdentities(3);
    for (auto one : list)
      one.setAllocId("a1");
    list[0].setTask("server");
    list[1].setTask("nobody");
    list[2].setTask("other");
  });

  const auto answer = ask<identity_issuer::Signed>(
      issuer, identity_issuer::Sign{state(), question, "n1", {2, 0}});

  REQUIRE((answer->has_value() && (*answer)->has_value()));
  const auto& made = (**answer)->made;
  REQUIRE(made.size() == 2);
  CHECK(made[0].error().what == "task not found");
  CHECK(!made[1]->token.empty());
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_endpoint: an issuer has one part of a question at a time") {
  add_key();
  hold("identity_issuer");
  const auto answer = sign(std::vector<Wanted>(1'000, {"a1", "server"}));
  CHECK(fullest("identity_issuer") == 1);
  hold("");
  settle();
  REQUIRE((answer->has_value() && (*answer)->has_value()));
  CHECK((***answer)->getIdentities().size() == 1'000);
}
