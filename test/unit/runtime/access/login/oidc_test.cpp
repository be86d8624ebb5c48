// The authorization code flow: where users are sent, and which answers count.
#include "runtime/access/login/oidc.hpp"

#include <doctest/doctest.h>

#include "runtime/text/digest.hpp"
#include "runtime/text/url.hpp"
#include "test/unit/runtime/access/login/signer.hpp"

namespace nomad::access {

namespace {

constexpr std::int64_t oidc_now = 1'700'000'000'000'000'000;

struct IdToken {
  test::Signer signer = test::Signer::rsa();
  TokenRules rules{.issuers = {"https://op"}};

  static std::string claims(const std::string& more = "", const std::string& nonce = "n") {
    return R"({"exp":1700000100,"iss":"https://op","aud":["nomad","x"],"sub":"me","nonce":")"
           + nonce + '"' + more + '}';
  }

  std::string said(const std::string& claims, const std::string& access_token = "") const {
    PublicKeys keys{*read_pem_key(signer.pem())};
    const OidcTokens tokens{*parse_jwt(signer.token("RS256", claims)), access_token};
    const auto checked = check_id_token(rules, keys, tokens, "nomad", "n", oidc_now);
    return checked ? "" : checked.error().what;
  }
};

}  // namespace

TEST_CASE("oidc: redirects are those of the method, with any port of a loopback address") {
  const std::vector<std::string> allowed{"http://localhost:4649/oidc/callback",
                                         "https://nomad.example/ui"};
  CHECK(is_allowed_redirect(allowed, "http://localhost:4649/oidc/callback"));
  CHECK(is_allowed_redirect(allowed, "http://localhost:1234/oidc/callback"));
  CHECK(is_allowed_redirect(allowed, "https://nomad.example/ui"));
  for (const auto* other :
       {"http://localhost:4649/oidc/other", "https://localhost:4649/oidc/callback",
        "http://127.0.0.1:4649/oidc/callback", "https://nomad.example:8443/ui",
        "https://nomad.example/ui/x", "https://evil.example/ui",
        "http://x@localhost:4649/oidc/callback", "http://localhost.evil.example/oidc/callback", "",
        "http://localhost:4649/oidc/callback?x=1"})
    CHECK_FALSE(is_allowed_redirect(allowed, other));
  CHECK_FALSE(is_allowed_redirect({}, "https://nomad.example/ui"));
}

TEST_CASE("oidc: the address has scopes, state, nonce and the hash of the proof key") {
  const OidcLogin login{"m", "http://localhost:4649/oidc/callback", "n 1", "s&t"};
  const auto url = parse_url(authorization_url("https://op/auth?tenant=a", "nomad",
                                               {"groups", "openid"}, login, "verifier"));
  REQUIRE(url);
  const auto query = UrlQuery::parse(url->query);
  CHECK(query.get("tenant") == "a");
  CHECK(query.get("scope") == "openid groups");
  CHECK(query.get("state") == "s&t");
  CHECK(query.get("nonce") == "n 1");
  CHECK(query.get("response_type") == "code");
  CHECK(query.get("redirect_uri") == login.redirect_uri);
  CHECK(query.get("code_challenge") == test::jwt_part(sha256("verifier")));
  CHECK(query.get("code_challenge_method") == "S256");
}

TEST_CASE("oidc: each part of a login is in its proof key") {
  const OidcLogin login{"m", "r", "n", "s"};
  const auto position = proof_location(login);
  for (const auto part :
       {&OidcLogin::method, &OidcLogin::redirect_uri, &OidcLogin::nonce, &OidcLogin::state}) {
    auto other = login;
    other.*part = "x";
    CHECK(proof_location(other) != position);
  }
  CHECK(proof_location({"m", "r", "n 1:s", ""}) != proof_location({"m", "r", "n", "1:s"}));
}

TEST_CASE("oidc: a client says who it is by header, by form, or by its name alone") {
  const OidcLogin login{"m", "http://r", "n", "s"};
  const OidcClient secret{"a b", "p:w", false};
  CHECK(exchange_authorization(secret) == "Basic " + encode_base64("a+b:p%3Aw"));
  CHECK(UrlQuery::parse(exchange_form(secret, "c", login, "v")).get("client_secret") == "");
  const OidcClient posted{"a", "pw", true};
  const auto form = UrlQuery::parse(exchange_form(posted, "c&d", login, "v"));
  CHECK(exchange_authorization(posted) == "");
  CHECK(form.get("client_secret") == "pw");
  CHECK(form.get("code") == "c&d");
  CHECK(form.get("code_verifier") == "v");
  const auto open = UrlQuery::parse(exchange_form({"a", "", false}, "c", login, ""));
  CHECK(open.get("client_id") == "a");
  CHECK_FALSE(open.has("code_verifier"));
}

TEST_CASE("oidc: an id token is for this client and this login") {
  const IdToken token;
  CHECK(token.said(IdToken::claims()) == "");
  CHECK(token.said(IdToken::claims("", "other")) == "invalid id_token nonce");
  CHECK(token.said(IdToken::claims(R"(,"azp":"nomad")")) == "");
  CHECK(token.said(IdToken::claims(R"(,"azp":"x")")) == "invalid id_token authorized party");
  CHECK(token.said(R"({"exp":1700000100,"iss":"https://op","aud":"x","sub":"me","nonce":"n"})")
        == "invalid id_token audiences: the client is none of them");
  CHECK(token.said(R"({"exp":1700000100,"iss":"https://x","aud":"nomad","sub":"me","nonce":"n"})")
        == "invalid JWT issuer: https://x");
  CHECK(token.said(R"({"iat":1700000000,"iss":"https://op","aud":"nomad","sub":"me","nonce":"n"})")
        == "the id_token has no expiration time");
  CHECK(token.said(R"({"exp":1700000100,"iss":"https://op","aud":"nomad","nonce":"n"})")
        == "the id_token has no subject");
  CHECK(token.said(R"({"exp":1700000100,"iss":"https://op","aud":"nomad","sub":"me"})")
        == "invalid id_token nonce");
  const auto hash = test::jwt_part(sha256("access").substr(0, 16));
  CHECK(token.said(IdToken::claims(R"(,"at_hash":")" + hash + '"'), "access") == "");
  CHECK(token.said(IdToken::claims(R"(,"at_hash":")" + hash + '"'), "another")
        == "invalid at_hash: the access_token is not that of the id_token");
}

TEST_CASE("oidc: user info is put over the claims, but for subject and issuer") {
  auto claims = *read_claims(R"({"sub":"me","iss":"a","name":"old"})");
  REQUIRE(merge_user_info(claims, R"({"sub":"me","iss":"b","name":"new","groups":["g"]})"));
  CHECK(text_claim(claims, "iss") == "a");
  CHECK(text_claim(claims, "name") == "new");
  CHECK(claims.contains("groups"));
  CHECK(merge_user_info(claims, R"({"sub":"you"})").error().what == "invalid subject");
  CHECK(merge_user_info(claims, R"({"name":"x"})").error().what == "invalid subject");
  CHECK_FALSE(merge_user_info(claims, "x"));
}

TEST_CASE("oidc: an answer without an id token is none") {
  CHECK(read_tokens(R"({"access_token":"a"})").error().what
        == "id_token is missing from auth code exchange");
  CHECK(read_tokens(R"({"id_token":"i","access_token":"a"})").error().what
        == "the token is no signed JWT: it must have three parts");
  const auto id_token = test::Signer::rsa().token("RS256", "{}", R"(,"kid":"k")");
  const auto read = read_tokens(R"({"id_token":")" + id_token + R"(","access_token":"a"})");
  REQUIRE(read);
  CHECK(read->id_token.key_id == "k");
  CHECK(read->access_token == "a");
}

}  // namespace nomad::access
