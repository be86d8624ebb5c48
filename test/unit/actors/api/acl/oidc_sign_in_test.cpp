// Signing in at an OpenID provider that lives in the test, over HTTP.
#include <doctest/doctest.h>

#include "runtime/text/digest.hpp"
#include "runtime/text/url.hpp"
#include "test/support/scripted_server.hpp"
#include "test/unit/actors/api/acl/sign_ins.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string callback = "http://localhost:4649/oidc/callback";

/// A provider with one client, "nomad" of the secret "s3", and one user.
class OpenIdProvider {
public:
  std::string address() const { return server_.url(""); }

  /// What the last exchange was asked with.
  std::string exchange() {
    const std::lock_guard lock{guard_};
    return exchange_;
  }

  std::atomic<int> token_status{200};
  std::string id_claims = R"(,"groups":["dev"])";
  std::string user_info = R"({"sub":"ann","iss":"x","team":"ops"})";
  std::string user_info_is_at;  ///< Another origin's URL; "": it is here.
  std::string nonce = "n1";
  std::string audience = "nomad";
  std::string issuer = "";  ///< Instead of the address.
  std::string authorization_name = "authorization_endpoint";

private:
  void treat(test::Visitor& visitor) {
    const auto request = visitor.read_request();
    const auto answer = [&](const std::string& body, int status = 200) {
      visitor.write(test::http_answer(status, body));
    };
    if (request.starts_with("GET /.well-known/openid-configuration "))
      return answer(R"({"issuer":")" + (issuer.empty() ? address() : issuer) + R"(","jwks_uri":")"
                    + address() + R"(/keys","token_endpoint":")" + address() + R"(/token",")"
                    + authorization_name + R"(":")" + address() + R"(/auth","userinfo_endpoint":")"
                    + address() + R"(/me"})");
    if (request.starts_with("GET /keys ")) return answer(R"({"keys":[)" + signer_.jwk() + "]}");
    if (request.starts_with("GET /me ") && !user_info_is_at.empty()) {
      visitor.write(test::http_answer(302, "", "Location: " + user_info_is_at + "\r\n"));
      return;
    }
    if (request.starts_with("GET /me "))
      return request.find("Authorization: Bearer at1\r\n") == request.npos ? answer("{}", 401)
                                                                           : answer(user_info);
    {
      const std::lock_guard lock{guard_};
      exchange_ = request;
    }
    const auto claims = soon(R"(,"iss":")" + address() + R"(","aud":")" + audience
                             + R"(","sub":"ann","nonce":")" + nonce + '"' + id_claims);
    answer(R"({"access_token":"at1","id_token":")" + signer_.token("RS256", claims) + R"("})",
           token_status);
  }

  std::mutex guard_;
  std::string exchange_;
  test::Signer signer_ = test::Signer::rsa();
  test::ScriptedServer server_{[this](test::Visitor& visitor) { treat(visitor); }};
};

struct OidcSignIns : SignIns {
  OidcSignIns() {
    make_policy("dev-ops");
    manage("PUT", "/v1/acl/auth-method",
           R"({"Name":"sso","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"10m","Config":{
               "OIDCDiscoveryURL":")"
               + provider.address() + R"(","OIDCClientID":"nomad",
               "OIDCClientSecret":"s3","OIDCScopes":["groups"],"BoundAudiences":["nomad"],
               "AllowedRedirectURIs":[")"
               + callback + R"("],"ClaimMappings":{"team":"team"},
               "ListClaimMappings":{"groups":"groups"}}})");
    bind("sso", "policy", "dev-${value.team}", "\"dev\" in list.groups");
  }

  net::ClientResponse auth_url(const std::string& redirect = callback) {
    return ask(
        "PUT", "/v1/acl/oidc/auth-url",
        R"({"AuthMethodName":"sso","ClientNonce":"n1","RedirectURI":")" + redirect + R"("})");
  }

  net::ClientResponse complete(const std::string& state, const std::string& redirect = callback) {
    return ask("PUT", "/v1/acl/oidc/complete-auth",
               R"({"AuthMethodName":"sso","ClientNonce":"n1","State":")" + state
                   + R"(","Code":"c1","RedirectURI":")" + redirect + R"("})");
  }

  std::string refusal_of(const net::ClientResponse& response) const {
    return std::to_string(response.status) + ' ' + response.body;
  }

  OpenIdProvider provider;
};

}  // namespace

TEST_CASE("acl oidc: from the address to a token, with a proof key that only servers can make") {
  OidcSignIns fixture;
  const auto answer = fixture.auth_url();
  CAPTURE(answer.body);
  REQUIRE(answer.status == 200);
  const auto address = Acls::text_in(boost::json::parse(answer.body), "AuthURL");
  CHECK(address.starts_with(fixture.provider.address() + "/auth?"));
  const auto query = UrlQuery::parse(parse_url(address)->query);
  CHECK(query.get("nonce") == "n1");
  CHECK(query.get("scope") == "openid groups");
  const std::string state{query.get("state")};

  const auto done = fixture.complete(state);
  CAPTURE(done.body);
  REQUIRE(done.status == 200);
  const auto token = boost::json::parse(done.body);
  CHECK(token.at("Name") == "OIDC-sso");
  CHECK(token.at("Policies") == boost::json::array{"dev-ops"});
  const auto exchange = fixture.provider.exchange();
  CHECK(exchange.find("Authorization: Basic " + encode_base64("nomad:s3")) != exchange.npos);
  const auto form = UrlQuery::parse(exchange.substr(exchange.find("\r\n\r\n") + 4));
  CHECK(test::jwt_part(sha256(form.get("code_verifier"))) == query.get("code_challenge"));
  CHECK(form.get("code") == "c1");
  CHECK(form.get("redirect_uri") == callback);

  const auto other = fixture.auth_url();
  CHECK(Acls::text_in(boost::json::parse(other.body), "AuthURL") != address);
}

TEST_CASE("acl oidc: what is missing, and redirects that are not allowed, are refused") {
  OidcSignIns fixture;
  CHECK(fixture.refused("PUT", "/v1/acl/oidc/auth-url", "{}")
        == "400 invalid OIDC auth-url request: 3 errors occurred:\n\t* missing auth method name\n\t* "
           "missing client nonce\n\t* missing redirect URI\n\n");
  CHECK(fixture.refused("PUT", "/v1/acl/oidc/complete-auth", "{}")
        == "400 invalid OIDC complete-auth request: 5 errors occurred:\n\t* missing auth method "
           "name\n\t* missing client nonce\n\t* missing state\n\t* missing code\n\t* missing redirect "
           "URI\n\n");
  CHECK(fixture.refusal_of(fixture.auth_url("https://evil.example/"))
        == "500 redirect URI \"https://evil.example/\" is not allowed by auth-method \"sso\"");
  CHECK(fixture.complete("s", "https://evil.example/").status == 500);
  CHECK(fixture.refused("PUT", "/v1/acl/oidc/auth-url",
                        R"({"AuthMethodName":"x","ClientNonce":"n","RedirectURI":"r"})")
        == "400 auth-method \"x\" not found");
  CHECK(fixture.provider.exchange().empty());
}

TEST_CASE("acl oidc: an id token of another login, client or user is refused") {
  OidcSignIns fixture;
  fixture.provider.nonce = "n2";
  CHECK(fixture.refusal_of(fixture.complete("s"))
        == "500 failed to exchange token with provider: invalid id_token nonce");
  fixture.provider.nonce = "n1";
  fixture.provider.audience = "other";
  CHECK(fixture.complete("s").status == 500);
  fixture.provider.audience = "nomad";
  fixture.provider.user_info = R"({"sub":"bob"})";
  CHECK(fixture.refusal_of(fixture.complete("s"))
        == "500 failed to retrieve the user info claims: invalid subject");
  fixture.provider.user_info = R"({"sub":"ann","team":"ops","groups":[]})";
  CHECK(fixture.refusal_of(fixture.complete("s")) == "400 no role or policy bindings matched");
  fixture.provider.token_status = 400;
  CHECK(fixture.complete("s").status == 500);
  CHECK(fixture.complete("s").body.find("s3") == std::string::npos);
}

TEST_CASE("acl oidc: a redirect to another origin does not show it the access token") {
  OidcSignIns fixture;
  std::string shown;  // read behind the answer to it
  const test::ScriptedServer stranger{[&](test::Visitor& visitor) {
    shown = visitor.read_request();
    visitor.write(shown.starts_with("GET /back ")
                      ? test::http_answer(200, fixture.provider.user_info)
                      : test::http_answer(302, "", "Location: /back\r\n"));
  }};
  fixture.provider.user_info_is_at = stranger.url("/me");
  const auto done = fixture.complete("s");
  CAPTURE(done.body);
  CHECK(done.status == 200);
  CHECK(stranger.visits() == 2);
  CHECK(shown.starts_with("GET /back "));
  CHECK(shown.find("Authorization") == shown.npos);
  CHECK(shown.find("at1") == shown.npos);
}

TEST_CASE("acl oidc: a provider that is not the one, or has no endpoint, is told") {
  OidcSignIns fixture;
  fixture.provider.issuer = "https://other";
  CHECK(fixture.refusal_of(fixture.auth_url())
        == "500 failed to generate OIDC provider: oidc: issuer did not match the issuer returned by "
           "provider, expected \""
               + fixture.provider.address() + "\" got \"https://other\"");
  OidcSignIns without;
  without.provider.authorization_name = "x";
  CHECK(without.refusal_of(without.auth_url())
        == "500 failed to generate auth URL: the provider has no authorization endpoint");
}
