#include "runtime/identity/issue.hpp"

#include <boost/json.hpp>

#include "test/support/slow_key.hpp"
#include "test/unit/runtime/identity/identity_fixture.hpp"

using namespace nomad;

using Fixture = test::IdentityState;

TEST_CASE_FIXTURE(Fixture, "issue: a task's own identity is the same whenever it is asked for") {
  const auto first = issue({.alloc_id = "a1", .workload = "server"}).value();
  const auto later = issue({.alloc_id = "a1", .workload = "server", .name = "default"}, issued + 5);

  CHECK(later->token == first.token);
  CHECK(first.issued_at == issued);
  CHECK(first.expires_at == 0);
  CHECK(boost::json::serialize(claims_in(first.token))
        == R"({"nomad_namespace":"default","nomad_job_id":"web","nomad_allocation_id":"a1",)"
           R"("nomad_task":"server","nbf":1700000000,"iat":1700000000})");
}

TEST_CASE_FIXTURE(Fixture, "issue: one with an end is signed at the time that it is asked for") {
  const auto made = issue({.alloc_id = "a1", .workload = "server", .name = "aws"}, issued + 10);

  CHECK(made->expires_at == issued + 10 + 3'601);
  const auto claims = claims_in(made->token);
  CHECK(claims.at("sub") == "global:default:web:api:server:aws");
  CHECK(claims.at("aud") == "sts.amazonaws.com");
  CHECK(claims.at("iss") == "https://nomad.example");
  CHECK(claims.at("exp") == issued + 3'611);
  CHECK(claims.at("jti").as_string().size() == 32);
}

TEST_CASE_FIXTURE(
    Fixture, "issue: of an allocation that was placed without a key it begins with its first") {
  const auto place_at = [this](std::int64_t at, bool has_key) {
    place({{.id = "a4", .job = "web", .node = "n1"}}, [&](auto plan) {
      plan.setModifyTime(at * 1'000'000'000);
      if (has_key) plan.setIdentityKey(now().active_root_key()->getCreateIndex());
    });
  };
  const auto since = [this] { return issue({"a4", "server"}, issued + 500)->issued_at; };
  place_at(issued, false);
  CHECK(since() == issued);
  place_at(issued + 100, true);
  CHECK(since() == issued + 100);
  place_at(issued + 200, true);  // updated in place: it stays
  CHECK(since() == issued + 100);
}

TEST_CASE_FIXTURE(Fixture, "issue: a service has one, and it is no task's") {
  const auto claims = claims_in(token_of({"a1", "front", true, ""}));

  CHECK(claims.at("nomad_service") == "front");
  CHECK_FALSE(claims.contains("nomad_task"));
  CHECK(claims.at("sub") == "global:default:web:api:front:default");
}

TEST_CASE_FIXTURE(Fixture, "issue: a child's identity names its parent") {
  run([](auto command) {
    auto job = command.initJobRegister().initJob();
    fill_job(job, "web/dispatch-1");
    job.setParentId("web");
  });
  place_alloc("a2", "web/dispatch-1");

  CHECK(claims_in(token_of({"a2", "server"})).at("nomad_job_id") == "web");
}

TEST_CASE_FIXTURE(Fixture, "issue: what is not there, not the node's, or has ended has none") {
  const auto why = [this](const identity::IdentityRef& wanted, std::string_view node = "n1") {
    const auto made = issue(wanted, issued, node);
    return made ? std::string{"made"} : made.error().what;
  };
  CHECK(why({"a1", "other"}) == "task not found");
  CHECK(why({"a1", "server", false, "gcp"}) == "identity not found");
  CHECK(why({"a1", "back", true}) == "service not found");
  CHECK(why({"a1", "front", true, "x"}) == "service not found");
  CHECK(why({"a3", "server"}) == "allocation not found");
  CHECK(why({"", "server"}) == "allocation not found");
  CHECK(why({"a1", "server"}, "n2") == "allocation not found");
  report("a1", schema::ClientStatus::COMPLETE);
  CHECK(why({"a1", "server"}) == "allocation not found");
}

TEST_CASE_FIXTURE(Fixture, "issue: a rotation leaves what has no end, and signs the rest anew") {
  const auto own = token_of({"a1", "server"});
  const auto named = token_of({"a1", "server", false, "aws"});
  add_key("99999999-2222-4333-8444-555555555555");

  CHECK(token_of({"a1", "server"}) == own);
  CHECK(access::parse_jwt(own)->key_id
        != access::parse_jwt(token_of({"a1", "server", false, "aws"}))->key_id);
  CHECK(named != token_of({"a1", "server", false, "aws"}));
}

TEST_CASE_FIXTURE(Fixture, "issue: the active key signs for one whose own can't be opened here") {
  keyring = security::Keyring::open({.server_id = "two"}).value();
  keys = identity::signing_keys(keyring);
  rsa_keys = identity::rsa_keys(keyring);
  CHECK(issue({"a1", "server"}).error().code == Errc::corrupt);
  const std::string active = "99999999-2222-4333-8444-555555555555";
  add_key(active);

  CHECK(access::parse_jwt(token_of({"a1", "server"}))->key_id == active);
  CHECK(access::parse_jwt(token_of({"a1", "server", false, "vault"}))->key_id == active + "-rs256");
}

TEST_CASE_FIXTURE(Fixture, "issue: nobody stands in for a key that is still being opened") {
  const std::string own = "77777777-2222-4333-8444-555555555555";
  const auto slow = std::make_shared<test::SlowKey>();
  keyring = security::Keyring::open({.server_id = "two", .wrapping = {.active = slow}}).value();
  keys = identity::signing_keys(keyring);
  rsa_keys = identity::rsa_keys(keyring);
  const auto row = test::wrapped_by(slow, own);
  run([&](auto command) { command.initRootKeyUpsert().setKey(*row); });
  place_alloc("a2", "web");
  add_key("99999999-2222-4333-8444-555555555555");

  CHECK(issue({"a2", "server"}).error().code == Errc::unavailable);
  CHECK(issue({"a2", "server", false, "vault"}).error().code == Errc::unavailable);

  slow->answer();
  CHECK(access::parse_jwt(token_of({"a2", "server"}))->key_id == own);
  CHECK(access::parse_jwt(token_of({"a2", "server", false, "vault"}))->key_id == own + "-rs256");
}

TEST_CASE_FIXTURE(Fixture, "issue: what Nomad takes is Ed25519's, what is for others is RS256") {
  const auto algorithm = [this](const identity::IdentityRef& wanted) {
    return access::parse_jwt(token_of(wanted))->algorithm;
  };
  CHECK(algorithm({"a1", "server"}) == "EdDSA");
  CHECK(algorithm({"a1", "server", false, "ours"}) == "EdDSA");
  CHECK(algorithm({"a1", "server", false, "aws"}) == "RS256");
  CHECK(algorithm({"a1", "server", false, "vault"}) == "RS256");
  CHECK(algorithm({"a1", "front", true, ""}) == "RS256");
}

TEST_CASE_FIXTURE(Fixture, "issue: a signature by RS256 that stays the same is made once") {
  const auto first = issue({"a1", "server", false, "vault"}).value();
  const auto second = issue({"a1", "server", false, "vault"}, issued + 7).value();
  const auto is_kept = [this](const std::string& token) {
    return signatures.find(token.substr(0, token.rfind('.'))) != nullptr;
  };
  CHECK(second.token == first.token);
  CHECK(is_kept(first.token));
  CHECK_FALSE(is_kept(token_of({"a1", "server", false, "aws"})));  // The next one is another.
  CHECK_FALSE(is_kept(token_of({"a1", "server"})));

  // What is kept is what is given out.
  const auto part = first.token.substr(0, first.token.rfind('.'));
  signatures.keep(part, "kept");
  CHECK(issue({"a1", "server", false, "vault"})->token
        == part + '.' + access::encode_jwt_part("kept"));
  signatures = identity::SignatureCache{};
  CHECK(issue({"a1", "server", false, "vault"})->token == first.token);
}

TEST_CASE_FIXTURE(Fixture, "issue: a rotation leaves what is for others and has no end, too") {
  const auto vault = token_of({"a1", "server", false, "vault"});
  const auto aws = access::parse_jwt(token_of({"a1", "server", false, "aws"}))->key_id;
  add_key("99999999-2222-4333-8444-555555555555");

  CHECK(token_of({"a1", "server", false, "vault"}) == vault);
  CHECK(access::parse_jwt(token_of({"a1", "server", false, "aws"}))->key_id != aws);
}

TEST_CASE_FIXTURE(Fixture, "issue: clocks that jump a day make no token of another time") {
  constexpr std::int64_t day = 86'400;
  const auto own = token_of({"a1", "server"});
  for (const auto jump : {-day, day}) {
    CHECK(issue({"a1", "server"}, issued + jump)->token == own);
    const auto made = issue({"a1", "server", false, "aws"}, issued + jump).value();
    CHECK(made.expires_at - made.issued_at == 3'601);
  }
}
