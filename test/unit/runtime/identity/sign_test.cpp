#include "runtime/identity/sign.hpp"

#include <doctest/doctest.h>

#include "runtime/access/login/jwt.hpp"

using namespace nomad;
using identity::Claims;
using identity::SigningKey;

namespace {

SigningKey key_of(std::string_view seed) {
  return SigningKey::from_seed("5a1d", security::Secret::copy_of(seed)).value();
}

const Claims task_claims{
    .ns = "default", .job_id = "web", .alloc_id = "a1", .task = "app", .issued_at = 1'700'000'000};

}  // namespace

TEST_CASE("sign: the same claims and key make the same bytes") {
  const auto key = key_of("0123456789abcdef0123456789abcdef");

  CHECK(identity::sign(task_claims, key) == identity::sign(task_claims, key));
  CHECK(identity::sign(task_claims, key)
        != identity::sign(task_claims, key_of("0123456789abcdef0123456789abcdeF")));
}

TEST_CASE("sign: the header names algorithm and key, and the public half verifies") {
  const auto key = key_of("0123456789abcdef0123456789abcdef");

  auto jwt = access::parse_jwt(identity::sign(task_claims, key)).value();

  CHECK(jwt.algorithm == "EdDSA");
  CHECK(jwt.key_id == "5a1d");
  CHECK(key.verifying().verifies(jwt.signed_part, jwt.signature));
  jwt.signed_part.back() ^= 1;
  CHECK_FALSE(key.verifying().verifies(jwt.signed_part, jwt.signature));
}

TEST_CASE("sign: a key is made of 32 bytes") {
  const auto key = SigningKey::from_seed("k", security::Secret::copy_of("short"));

  REQUIRE_FALSE(key.has_value());
  CHECK(key.error().what == "a signing key is made of 32 bytes");
}
