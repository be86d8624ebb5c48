// What providers of logins say of themselves.
#include "runtime/access/login/provider.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/access/login/signer.hpp"

namespace nomad::access {

TEST_CASE("login provider: a discovery document is of the issuer that was asked for") {
  const auto provider = read_discovery(
      "https://op", R"({"issuer":"https://op","authorization_endpoint":"a","token_endpoint":"t",
                        "userinfo_endpoint":"u","jwks_uri":"k"})");
  REQUIRE(provider);
  CHECK(provider->authorization_url == "a");
  CHECK(provider->token_url == "t");
  CHECK(provider->user_info_url == "u");
  CHECK(provider->key_set_url == "k");
  CHECK_FALSE(provider->posts_secret);
  const auto other = read_discovery("https://op", R"({"issuer":"https://op/"})");
  CHECK(other.error().code == Errc::unavailable);
  CHECK(read_discovery("https://user:canary@op:1/a?key=canary#x", R"({"issuer":"b"})").error().what
        == "oidc: issuer did not match the issuer returned by provider, expected \"https://op:1/a\" "
           "got \"b\"");
  CHECK_FALSE(read_discovery("https://op", "[]"));
}

TEST_CASE("login provider: secrets are posted to those alone that take no header") {
  const auto posts = [](const std::string& methods) {
    return read_discovery(
               "i", R"({"issuer":"i","token_endpoint_auth_methods_supported":)" + methods + '}')
        ->posts_secret;
  };
  CHECK(posts(R"(["client_secret_post"])"));
  CHECK(posts(R"([1,"x","client_secret_post"])"));
  CHECK_FALSE(posts(R"(["client_secret_post","client_secret_basic"])"));
  CHECK_FALSE(posts("[]"));
  CHECK_FALSE(posts(R"("client_secret_post")"));
}

TEST_CASE("login provider: a key without a name may be any") {
  const auto jwk = [](const std::string& more) {
    return R"({"keys":[)" + test::Signer::rsa().jwk(more) + "]}";
  };
  LoginProvider provider;
  CHECK(provider.has_key(""));
  CHECK_FALSE(provider.has_key("a"));
  provider.keys = *read_jwks(jwk(R"(,"kid":"a")"));
  CHECK(provider.has_key("a"));
  CHECK_FALSE(provider.has_key("b"));
  provider.keys = *read_jwks(jwk(""));
  CHECK(provider.has_key("b"));
}

}  // namespace nomad::access
