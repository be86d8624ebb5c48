#include "actors/server/data/identity_endpoint.hpp"

#include "runtime/access/login/jwt.hpp"
#include "test/unit/actors/server/data/identity_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using test::IdentityFixture;
using Wanted = IdentityFixture::Wanted;

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_endpoint: each question has its answer, in its place") {
  add_key();
  std::vector<std::pair<std::string, std::string>> wanted(100, {"a1", "server"});
  wanted[1] = {"a1", "other"};
  wanted[99] = {"a2", "server"};

  const auto answer = sign(wanted);

  REQUIRE((answer->has_value() && (*answer)->has_value()));
  const auto list = (***answer)->getIdentities();
  REQUIRE(list.size() == 100);
  CHECK(view(list[1].getRefused()) == "task not found");
  CHECK(view(list[99].getRefused()) == "allocation not found");
  CHECK(view(list[0].getToken()) == view(list[98].getToken()));
  CHECK(list[0].getIssuedAt() == 1'700'000'000'000'000'000);
  CHECK(list[0].getExpiresAt() == 0);
  const auto jwt = access::parse_jwt(view(list[0].getToken())).value();
  CHECK(jwt.claims.at("nomad_task") == "server");
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_endpoint: those for others are signed by RS256, a few in a turn") {
  add_key();
  const auto answer = sign({70, {"a1", "server"}}, "vault");

  REQUIRE((answer->has_value() && (*answer)->has_value()));
  const auto list = (***answer)->getIdentities();
  REQUIRE(list.size() == 70);
  for (const auto one : list) {
    const auto jwt = access::parse_jwt(view(one.getToken())).value();
    CHECK(jwt.algorithm == "RS256");
    CHECK(jwt.signature.size() == 256);
    CHECK(one.getExpiresAt() - one.getIssuedAt() == 3'600'000'000'000);
  }
  const auto meanwhile = sign({{"a1", "server"}});
  REQUIRE((meanwhile->has_value() && (*meanwhile)->has_value()));
  const auto own = access::parse_jwt(view((***meanwhile)->getIdentities()[0].getToken())).value();
  CHECK(own.algorithm == "EdDSA");
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: nobody signs before there is a key") {
  const auto answer = sign({{"a1", "server"}});

  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::unavailable);
  CHECK((*answer)->error().what == "there is no root key yet; try again");
}

TEST_CASE_FIXTURE(IdentityFixture,
                  "identity_endpoint: a key that can't be opened is of one entry") {
  const auto other = security::Keyring::open({.server_id = "two"}).value();
  const auto key
      = other->make_root_key("11111111-2222-4333-8444-555555555555", 1, {other->holder()});
  write([&](auto command) { command.initRootKeyUpsert().setKey(*key); });
  const auto answer = sign({{"a1", "server"}, {"a1", "other"}});

  REQUIRE((answer->has_value() && (*answer)->has_value()));
  const auto list = (***answer)->getIdentities();
  CHECK(view(list[0].getRefused()).find("not wrapped for this server") != std::string_view::npos);
  CHECK(view(list[1].getRefused()) == "task not found");
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: without the lease nobody is answered") {
  add_key();
  lease->set(0);

  const auto answer = sign({{"a1", "server"}});

  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::no_leader);
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: a question has a bound") {
  const auto answer = sign({most_identities + 1, {"a1", "server"}});

  REQUIRE(answer->has_value());
  CHECK((*answer)->error().what == "too many identities are asked for at once");
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: it answers its own question alone") {
  const auto answer = ask<door::Reply>(endpoint, test::heartbeat_of("n1"));

  REQUIRE(answer->has_value());
  CHECK((*answer)->error().what == "that question is not the identity endpoint's");
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: nobody is signed for who waits no more") {
  add_key();
  hold("identity_issuer");
  const auto first = sign(std::vector<Wanted>(200, {"a1", "server"}));
  const auto second = sign({{"a1", "server"}}, "", "n2");
  advance(signing_patience - std::chrono::seconds{1});
  const auto third = sign({{"a1", "server"}}, "", "n3");
  advance(std::chrono::seconds{1});
  hold("");
  settle();

  for (const auto& late : {first, second}) {
    REQUIRE((late->has_value() && !(*late)->has_value()));
    CHECK((*late)->error().code == Errc::unavailable);
    CHECK((*late)->error().what
          == "the identities were not signed within 20 s, for too many are asked for; try again");
  }
  REQUIRE(third->has_value());
  CHECK((*third)->has_value());
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: a node has one question, the newest") {
  add_key();
  hold("identity_issuer");
  const auto first = sign(std::vector<Wanted>(200, {"a1", "server"}));
  const auto other = sign({{"a2", "server"}}, "", "n2");
  const auto second = sign({{"a1", "server"}});
  hold("");
  settle();

  REQUIRE((first->has_value() && !(*first)->has_value()));
  CHECK((*first)->error().what == "the node has asked anew");
  REQUIRE((other->has_value() && (*other)->has_value()));
  REQUIRE((second->has_value() && (*second)->has_value()));
  CHECK((***second)->getIdentities()[0].getToken().size() > 0);
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: no more wait than are signed in time") {
  const std::vector<Wanted> many(most_identities, {"a2", "server"});
  hold("identity_endpoint");
  std::vector<Answer<door::Reply>> answers;
  for (const auto* node : {"n1", "n2", "n3"})
    answers.push_back(sign(many, "", node));
  hold("");
  settle();

  REQUIRE((answers[2]->has_value() && !(*answers[2])->has_value()));
  CHECK((*answers[2])->error().code == Errc::overloaded);
  CHECK((*answers[2])->error().what == "too many identities wait to be signed; try again");
  for (const auto& answer : {answers[0], answers[1], sign(many, "", "n3")})
    CHECK((answer->has_value() && (*answer)->has_value()));
}

TEST_CASE_FIXTURE(IdentityFixture, "identity_endpoint: keys are made before they are asked for") {
  add_key();
  const identity::IssuingKeys keys{identity::signing_keys(keyring), identity::rsa_keys(keyring)};
  adopt(spawn_identity_endpoint(system(), store, keys, lease, {.detached = false}));
  settle();
  CHECK_FALSE(keys.for_others.takes_long(state().active_root_key()));

  const auto next
      = keyring->make_root_key("99999999-2222-4333-8444-555555555555", 2, {keyring->holder()});
  CHECK(keys.for_others.takes_long(next));
  write([&](auto command) { command.initRootKeyUpsert().setKey(*next); });
  settle();
  CHECK_FALSE(keys.for_others.takes_long(next));
}
