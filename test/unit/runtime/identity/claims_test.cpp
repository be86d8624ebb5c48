#include "runtime/identity/claims.hpp"

#include <doctest/doctest.h>

using nomad::identity::Claims;

namespace {

const Claims own_claims{
    .ns = "default", .job_id = "web", .alloc_id = "a1", .task = "app", .issued_at = 1'700'000'000};

}  // namespace

TEST_CASE("claims: Nomad's own identity says where a task belongs, and no more") {
  CHECK(nomad::identity::claims_json(own_claims)
        == R"({"nomad_namespace":"default","nomad_job_id":"web","nomad_allocation_id":"a1",)"
           R"("nomad_task":"app","nbf":1700000000,"iat":1700000000})");
}

TEST_CASE("claims: an identity for others has an audience and an end") {
  auto claims = own_claims;
  claims.subject = "global:default:web:g:app:aws";
  claims.audience = {"sts.amazonaws.com"};
  claims.issuer = "https://nomad.example";
  claims.expires_at = 1'700'003'600;
  claims.id = "j1";

  CHECK(
      nomad::identity::claims_json(claims)
      == R"({"nomad_namespace":"default","nomad_job_id":"web","nomad_allocation_id":"a1",)"
         R"("nomad_task":"app","iss":"https://nomad.example","sub":"global:default:web:g:app:aws",)"
         R"("aud":"sts.amazonaws.com","exp":1700003600,"nbf":1700000000,"iat":1700000000,)"
         R"("jti":"j1"})");

  claims.audience = {"a", "b"};
  CHECK(nomad::identity::claims_json(claims).find(R"("aud":["a","b"])") != std::string::npos);
}

TEST_CASE("claims: Nomad takes the default identity and those for itself, and no other") {
  using nomad::identity::is_for_nomad;
  CHECK(is_for_nomad(own_claims));
  auto claims = own_claims;
  claims.audience = {"sts.amazonaws.com"};
  CHECK_FALSE(is_for_nomad(claims));
  claims.subject = "global:default:web:g:app:aws";
  CHECK_FALSE(is_for_nomad(claims));
  claims.audience = {"sts.amazonaws.com", "nomadproject.io"};
  CHECK(is_for_nomad(claims));
  claims.audience = {};  // a name and no audience: for nobody
  CHECK_FALSE(is_for_nomad(claims));
}
