#include "runtime/identity/issue.hpp"

#include <boost/json.hpp>

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
  CHECK(issue({"a1", "server"}).error().code == Errc::corrupt);
  const std::string active = "99999999-2222-4333-8444-555555555555";
  add_key(active);

  CHECK(access::parse_jwt(token_of({"a1", "server"}))->key_id == active);
}
