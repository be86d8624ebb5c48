// Tokens as strangers send them.
#include "runtime/access/login/jwt.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/access/login/signer.hpp"

namespace nomad::access {

namespace {

std::string plain_token(const std::string& header, const std::string& claims) {
  return test::jwt_part(header) + '.' + test::jwt_part(claims) + ".AAAA";
}

std::string refusal_of(const std::string& token) {
  const auto jwt = parse_jwt(token);
  return jwt ? "" : jwt.error().what;
}

}  // namespace

TEST_CASE("jwt: is taken apart, and its extensions are refused") {
  const auto jwt = parse_jwt(plain_token(R"({"alg":"RS256","kid":"k"})", R"({"a":[1,true]})"));
  REQUIRE(jwt);
  CHECK(jwt->algorithm == "RS256");
  CHECK(jwt->key_id == "k");
  CHECK(jwt->claims.at("a").as_array().size() == 2);
  CHECK(jwt->signature == std::string(3, '\0'));
  CHECK(refusal_of(plain_token(R"({"alg":"RS256","crit":["b64"]})", "{}"))
        == "the token is no signed JWT: its header has extensions");
  CHECK(refusal_of(plain_token(R"({"alg":"RS256","b64":false})", "{}"))
        == "the token is no signed JWT: its header has extensions");
  CHECK(refusal_of(plain_token("{}", "{}"))
        == "the token is no signed JWT: its header names no algorithm");
  CHECK(refusal_of(plain_token(R"({"alg":["RS256"]})", "{}"))
        == "the token is no signed JWT: its header names no algorithm");
}

TEST_CASE("jwt: what is no token, or encoded twice, is refused") {
  const auto three = "the token is no signed JWT: it must have three parts";
  for (const auto* token : {"", "a", "a.b", "a.b.c.d", "....", "a.b.c.d.e"})
    CHECK(refusal_of(token) == three);
  const auto base64 = "the token is no signed JWT: illegal base64";
  const auto header = test::jwt_part(R"({"alg":"RS256"})");
  for (const auto* claims : {"e30=", "e3 0", "e31", "e", "e3+0", "e30\n", "\xc3\xa9"})
    CHECK(refusal_of(header + '.' + claims + ".AAAA") == base64);
  CHECK(refusal_of(header + ".e30.AA==") == base64);
  CHECK(refusal_of(header + ".e30.AAAA") == "");
  CHECK(refusal_of("ZQ.e30.AAAA").starts_with("header: invalid character"));
  CHECK(refusal_of(header + ".W10.AAAA") == "claims: the JSON is not an object");
}

TEST_CASE("jwt: sizes, depths and counts have bounds, and no claim comes twice") {
  const auto header = R"({"alg":"RS256"})";
  CHECK(refusal_of(std::string(longest_jwt + 1, 'a')) == "the token is too long");
  CHECK(refusal_of(plain_token(
            R"({"alg":"RS256","x":")" + std::string(longest_jwt_header, 'a') + R"("})", "{}"))
        == "the token's header is too long");
  CHECK(refusal_of(plain_token(header, R"({"a":)" + std::string(1'000, '[')))
        == "claims: the JSON is nested too deeply");
  std::string many = R"({"a":[0)";
  for (int i = 0; i < 10'000; ++i)
    many += ",0";
  CHECK(refusal_of(plain_token(header, many + "]}")) == "claims: the JSON has too many values");
  CHECK(refusal_of(plain_token(header, R"({"sub":"me","sub":"you"})"))
        == "claims: the JSON has \"sub\" twice");
  CHECK(refusal_of(plain_token(R"({"alg":"RS256","alg":"none"})", "{}"))
        == "header: the JSON has \"alg\" twice");
}

}  // namespace nomad::access
