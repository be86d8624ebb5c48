#include "runtime/identity/rsa_key.hpp"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "runtime/access/login/jwt.hpp"
#include "runtime/access/login/public_key.hpp"
#include "runtime/base/text.hpp"
#include "runtime/identity/sign.hpp"
#include "runtime/text/digest.hpp"

using namespace nomad;
using identity::RsaKey;

namespace {

const RsaKey& key_of_test() {
  static const auto key
      = RsaKey::from_seed("5a1d", security::Secret::copy_of("0123456789abcdef0123456789abcdef"));
  return key.value();
}

const identity::Claims claims_for_others{.ns = "default",
                                         .job_id = "web",
                                         .alloc_id = "a1",
                                         .task = "app",
                                         .subject = "global:default:web:g:app:aws",
                                         .audience = {"sts.amazonaws.com"},
                                         .issued_at = 1'700'000'000};

std::string token_by(const RsaKey& key) {
  auto part = identity::signed_part(claims_for_others, identity::rsa_algorithm, key.id());
  const auto signature = key.sign(part).value();
  return identity::with_signature(std::move(part), signature);
}

std::string jwks_of(const RsaKey& key) {
  return R"({"keys":[{"kty":"RSA","alg":"RS256","kid":")" + key.id() + R"(","n":")"
         + access::encode_jwt_part(key.modulus()) + R"(","e":")"
         + access::encode_jwt_part(key.exponent()) + R"("}]})";
}

}  // namespace

TEST_CASE("rsa_key: the key of a seed is always the same, whoever makes it") {
  const auto& key = key_of_test();
  CHECK(key.modulus().size() == 256);
  CHECK((static_cast<unsigned char>(key.modulus().front()) & 0x80U) != 0);
  CHECK(key.exponent() == std::string{"\x01\x00\x01", 3});
  // Tokens outlive a server's release: this never changes.
  CHECK(to_hex(sha256(key.modulus()))
        == "831a326b54466e3e17aa107c07790d141f831398b013e3bd02e8d97dab1c7ae9");

  const auto again
      = RsaKey::from_seed("5a1d", security::Secret::copy_of("0123456789abcdef0123456789abcdef"));
  CHECK(again->modulus() == key.modulus());
  const auto other
      = RsaKey::from_seed("5a1d", security::Secret::copy_of("0123456789abcdef0123456789abcdeF"));
  CHECK(other->modulus() != key.modulus());
}

TEST_CASE("rsa_key: what it signs OpenSSL verifies by the published half alone") {
  const auto token = token_by(key_of_test());
  CHECK(token == token_by(key_of_test()));

  auto jwt = access::parse_jwt(token).value();

  CHECK(jwt.algorithm == "RS256");
  CHECK(jwt.key_id == "5a1d-rs256");
  const auto keys = access::read_jwks(jwks_of(key_of_test())).value();
  CHECK(access::is_signed_by(keys, jwt));
  jwt.signed_part.back() ^= 1;
  CHECK_FALSE(access::is_signed_by(keys, jwt));
}

TEST_CASE("rsa_key: a key is made of 32 bytes") {
  const auto key = RsaKey::from_seed("k", security::Secret::copy_of("short"));

  REQUIRE_FALSE(key.has_value());
  CHECK(key.error().what == "an RSA key is made of 32 bytes");
}

TEST_CASE("rsa_key: each root key has its own, which is kept, and none before there is one") {
  const auto keyring = security::Keyring::open({.server_id = "one"}).value();
  const auto keys = identity::rsa_keys(keyring);
  const auto row = keyring->make_root_key("k1", 1, {keyring->holder()});
  const auto key = keys(row).value();
  CHECK(key->id() == "k1-rs256");
  CHECK(keys(row).value() == key);

  CHECK(keys({}).error().what == "there is no root key yet; try again");
  CHECK(identity::rsa_keys(nullptr)(row).error().what == "this server has no keyring");
  const auto elsewhere = security::Keyring::open({.server_id = "two"}).value();
  CHECK(identity::rsa_keys(elsewhere)(row).error().code == Errc::corrupt);
}

TEST_CASE("rsa_key: what takes long is told, and nobody waits for another's key") {
  const auto keyring = security::Keyring::open({.server_id = "one"}).value();
  const auto keys = identity::rsa_keys(keyring);
  const auto first = keyring->make_root_key("k1", 1, {keyring->holder()});
  const auto second = keyring->make_root_key("k2", 1, {keyring->holder()});
  CHECK(keys.takes_long(first));
  REQUIRE(keys(first).has_value());
  CHECK_FALSE(keys.takes_long(first));
  CHECK_FALSE(keys.takes_long({}));
  const auto elsewhere = security::Keyring::open({.server_id = "two"}).value();
  CHECK_FALSE(identity::rsa_keys(elsewhere).takes_long(first));

  std::atomic<bool> begins{false};
  std::atomic<bool> is_made{false};
  std::thread maker{[&] {
    begins = true;
    CHECK(keys(second).has_value());
    is_made = true;
  }};
  while (!begins)
    std::this_thread::yield();
  int meanwhile = 0;
  for (; !is_made; ++meanwhile)
    static_cast<void>(keys(first));
  maker.join();

  CHECK(meanwhile > 1'000);  // It takes 0.1 s at least.
  CHECK_FALSE(keys.takes_long(second));
}
