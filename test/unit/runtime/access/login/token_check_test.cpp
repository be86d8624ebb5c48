// Who may have signed a token, and when it counts: every algorithm, and the ways in which tokens
// are forged.
#include "runtime/access/login/token_check.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/access/login/signer.hpp"

namespace nomad::access {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t token_time = 1'700'000'000;
const std::string good_claims = R"({"exp":1700000100,"sub":"me"})";

std::string all_algorithms[]
    = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"};

TokenRules any_algorithm() {
  TokenRules rules;
  rules.algorithms.assign(std::begin(all_algorithms), std::end(all_algorithms));
  return rules;
}

/// "" when it counts.
std::string said(const TokenRules& rules, const PublicKeys& keys, const std::string& token) {
  const auto jwt = parse_jwt(token);
  if (!jwt) return jwt.error().what;
  const auto checked = check_token(rules, keys, *jwt, token_time * second);
  return checked ? "" : checked.error().what;
}

const std::string not_signed
    = "unable to verify signature of JWT token: error verifying token signature: no known key "
      "successfully validated the token signature";
const std::string wrong_algorithm
    = "unable to verify signature of JWT token: invalid algorithm (alg) header parameter: token "
      "signed with unexpected algorithm";

PublicKeys keys_of(const std::string& pem) {
  PublicKeys keys;
  auto key = read_pem_key(pem);
  CAPTURE(pem);
  REQUIRE(key);
  keys.push_back(std::move(*key));
  return keys;
}

test::Signer signer_for(const std::string& algorithm) {
  static const auto rsa = test::Signer::rsa();
  if (algorithm == "ES256") return test::Signer::ec("P-256");
  if (algorithm == "ES384") return test::Signer::ec("P-384");
  if (algorithm == "ES512") return test::Signer::ec("P-521");
  return algorithm == "EdDSA" ? test::Signer::ed25519() : rsa;
}

std::string times(const std::string& claims, TokenRules rules = {}) {
  const auto read = read_claims(claims);
  REQUIRE(read);
  const auto checked = check_claims(rules, *read, token_time * second);
  return checked ? "" : checked.error().what;
}

constexpr auto expired = "invalid expiration time (exp) claim: token is expired";
constexpr auto too_early = "invalid not before (nbf) claim: token not yet valid";
constexpr auto from_future = "invalid issued at (iat) claim: token issued in the future";

}  // namespace

TEST_CASE("token check: every algorithm verifies, by PEM and by JWKS, and no other byte does") {
  for (const auto& algorithm : all_algorithms) {
    CAPTURE(algorithm);
    const auto signer = signer_for(algorithm);
    const auto token = signer.token(algorithm, good_claims, R"(,"kid":"k")");
    CHECK(said(any_algorithm(), keys_of(signer.pem()), token) == "");
    const auto keys = read_jwks(R"({"keys":[)" + signer.jwk(R"(,"kid":"k")") + "]}");
    REQUIRE(keys);
    CHECK(said(any_algorithm(), *keys, token) == "");
    const auto other = signer.token(algorithm, R"({"exp":1700000100,"sub":"you"})");
    const auto mixed = other.substr(0, other.rfind('.')) + token.substr(token.rfind('.'));
    CHECK(said(any_algorithm(), keys_of(signer.pem()), mixed) == not_signed);
    CHECK(said(any_algorithm(), keys_of(signer.pem()), token.substr(0, token.rfind('.') + 1))
          == not_signed);
  }
}

TEST_CASE("token check: RS256 alone without a list, and never HMAC or none") {
  const auto signer = test::Signer::rsa();
  const auto keys = keys_of(signer.pem());
  CHECK(said({}, keys, signer.token("RS256", good_claims)) == "");
  CHECK(
      check_algorithm(
          {}, {.algorithm = "none", .key_id = {}, .claims = {}, .signed_part = {}, .signature = {}})
          .has_error());
  CHECK(said({}, keys, signer.token("PS256", good_claims)) == wrong_algorithm);
  TokenRules all = any_algorithm();
  for (const auto* name : {"none", "HS256", "None", "", "ES256K"})
    all.algorithms.emplace_back(name);
  CHECK(said(all, keys, test::hmac_token(signer.pem(), good_claims)) == not_signed);
  for (const auto* name : {"none", "None", "nOnE", "ES256K"}) {
    const auto header = R"({"alg":")" + std::string{name} + R"("})";
    const auto token = test::jwt_part(header) + '.' + test::jwt_part(good_claims) + '.';
    CHECK(said(all, keys, token) == not_signed);
  }
}

TEST_CASE("token check: the key decides what fits it, whatever the header says") {
  const auto rsa = test::Signer::rsa();
  const auto all = any_algorithm();
  CHECK(said(all, keys_of(rsa.pem()), rsa.signed_as("RS256", R"({"alg":"PS512"})", good_claims))
        == not_signed);
  CHECK(said(all, keys_of(rsa.pem()), rsa.signed_as("RS256", R"({"alg":"ES256"})", good_claims))
        == not_signed);
  CHECK(said(all, keys_of(rsa.pem()), rsa.signed_as("RS256", R"({"alg":"EdDSA"})", good_claims))
        == not_signed);
  const auto p256 = test::Signer::ec("P-256");
  CHECK(said(all, keys_of(p256.pem()), p256.signed_as("ES384", R"({"alg":"ES384"})", good_claims))
        == not_signed);
  const auto other = test::Signer::rsa();
  CHECK(said(all, keys_of(rsa.pem()), other.token("RS256", good_claims)) == not_signed);
}

TEST_CASE("token check: a key set's names and uses count") {
  const auto a = test::Signer::rsa();
  const auto b = test::Signer::ec("P-256");
  const auto keys = read_jwks(R"({"keys":[)" + a.jwk(R"(,"kid":"a","use":"sig","alg":"RS256")")
                              + ',' + b.jwk(R"(,"kid":"b","key_ops":["verify"])") + "]}");
  REQUIRE(keys);
  const auto all = any_algorithm();
  CHECK(said(all, *keys, a.token("RS256", good_claims, R"(,"kid":"a")")) == "");
  CHECK(said(all, *keys, a.token("RS256", good_claims)) == "");
  CHECK(said(all, *keys, a.token("RS256", good_claims, R"(,"kid":"b")")) == not_signed);
  CHECK(said(all, *keys, a.token("RS256", good_claims, R"(,"kid":"c")")) == not_signed);
  CHECK(said(all, *keys, a.token("RS512", good_claims, R"(,"kid":"a")")) == not_signed);
  CHECK(said(all, *keys, b.token("ES256", good_claims, R"(,"kid":"b")")) == "");

  const auto refused = [](const std::string& set) { return read_jwks(set).error().what; };
  const auto none = "the key set has no key that verifies";
  for (const auto* more :
       {R"(,"use":"enc")", R"(,"key_ops":["sign"])", R"(,"alg":"HS256")", R"(,"alg":"none")"})
    CHECK(refused(R"({"keys":[)" + a.jwk(more) + "]}") == none);
  CHECK(refused(R"({"keys":[{"kty":"oct","k":"AAAA"}]})") == none);
  CHECK(refused(R"({"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]})") == none);
  CHECK(refused(R"({"keys":[{"kty":"RSA","n":"AAAA","e":"AQAB"},7]})") == none);
  CHECK(refused(R"({"keys":[]})") == none);
  CHECK(refused(R"({"keys":{}})") == "the key set has no keys");
  CHECK(refused("[]") == "the JSON is not an object");
  std::string many = R"({"keys":[)";
  for (std::size_t i = 0; i <= most_public_keys; ++i)
    many += "{},";
  CHECK(refused(many + "{}]}") == "the key set has too many keys");
}

TEST_CASE("token check: keys that are too weak, or none, are refused") {
  const auto refused = [](const std::string& pem) { return read_pem_key(pem).error().what; };
  const auto weak
      = "the key must be RSA of 2048 to 16384 bits, EC of P-256, P-384 or P-521, or Ed25519";
  CHECK(refused(test::Signer::rsa(1024).pem()) == weak);
  CHECK(refused(test::Signer::ec("secp256k1").pem()) == weak);
  CHECK(refused("x") == "data does not contain any valid RSA or ECDSA public keys");
  CHECK(refused("") == "data does not contain any valid RSA or ECDSA public keys");
  CHECK(refused(std::string(longest_pem_key + 1, 'x')) == "the key is too long");
}

TEST_CASE("token check: audiences and issuers are those of the method") {
  const auto signer = test::Signer::rsa();
  const auto keys = keys_of(signer.pem());
  TokenRules rules;
  rules.audiences = {"nomad", "other"};
  rules.issuers = {"https://a", "https://b"};
  const auto ask = [&](const std::string& more) {
    return said(rules, keys, signer.token("RS256", R"({"exp":1700000100)" + more + '}'));
  };
  CHECK(ask(R"(,"aud":"nomad","iss":"https://b")") == "");
  CHECK(ask(R"(,"aud":["x","other"],"iss":"https://a")") == "");
  const auto audience
      = "unable to verify signature of JWT token: invalid audience (aud) claim: audience claim "
        "does "
        "not match any expected audience";
  CHECK(ask(R"(,"iss":"https://a")") == audience);
  CHECK(ask(R"(,"aud":"nomad2","iss":"https://a")") == audience);
  CHECK(ask(R"(,"aud":[],"iss":"https://a")") == audience);
  CHECK(ask(R"(,"aud":{"nomad":1},"iss":"https://a")") == audience);
  CHECK(ask(R"(,"aud":"nomad")")
        == "auth method specifies BoundIssuers but the provided token does not contain issuer "
           "information");
  CHECK(ask(R"(,"aud":"nomad","iss":"https://c")") == "invalid JWT issuer: https://c");
  CHECK(ask(R"(,"aud":"nomad","iss":["https://a"])") == "invalid JWT issuer: ");
}

TEST_CASE("token check: times, with a minute's skew") {
  CHECK(times("{}")
        == "no issued at (iat), not before (nbf), or expiration time (exp) claims in token");
  CHECK(times(R"({"exp":1700000001})") == "");
  CHECK(times(R"({"exp":1699999941})") == "");
  CHECK(times(R"({"exp":1699999939})") == expired);
  CHECK(times(R"({"exp":1699999941.5})") == "");
  CHECK(times(R"({"exp":1700000900,"nbf":1700000059})") == "");
  CHECK(times(R"({"exp":1700000900,"nbf":1700000061})") == too_early);
  CHECK(times(R"({"exp":1700000900,"nbf":1700000000,"iat":1700000061})") == from_future);
  CHECK(times(R"({"exp":"1700000900"})") == "the claim exp is no time");
  CHECK_FALSE(read_claims(R"({"exp":1e400})"));
  CHECK(times(R"({"exp":-1})") == expired);
  CHECK(times(R"({"exp":1e300,"iat":1})") == "");

  TokenRules strict;
  strict.clock_skew = Nanoseconds{-1};
  CHECK(times(R"({"exp":1699999999})", strict) == expired);
  CHECK(times(R"({"exp":1700000900,"nbf":1700000001})", strict) == too_early);
  TokenRules wide;
  wide.clock_skew = std::chrono::minutes{10};
  CHECK(times(R"({"exp":1699999401})", wide) == "");
}

TEST_CASE("token check: a token without an end or a beginning has the leeways") {
  CHECK(times(R"({"iat":1699999791})") == "");  // 150 s and a minute
  CHECK(times(R"({"iat":1699999789})") == expired);
  CHECK(times(R"({"nbf":1699999791,"iat":5})") == "");
  CHECK(times(R"({"exp":1700000209})") == "");
  CHECK(times(R"({"exp":1700000211})") == too_early);
  TokenRules rules;
  rules.expiration_leeway = std::chrono::seconds{10};
  rules.not_before_leeway = std::chrono::seconds{1'000};
  CHECK(times(R"({"iat":1699999929})", rules) == expired);
  CHECK(times(R"({"iat":1699999931})", rules) == "");
  CHECK(times(R"({"exp":1700001059})", rules) == "");
  CHECK(times(R"({"exp":1699999939})", rules) == expired);  // It has an end.
  rules.expiration_leeway = Nanoseconds{-1};
  CHECK(times(R"({"iat":1699999939})", rules) == expired);
  CHECK(times(R"({"iat":1699999941})", rules) == "");
}

}  // namespace nomad::access
