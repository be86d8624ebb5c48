// Signing in over HTTP: by tokens of providers that live in the test, and with those that no
// provider has made. Statuses and texts are Nomad's.
#include <fstream>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "actors/api/acl/login_providers.hpp"
#include "runtime/net/tls/certificate.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/scripted_server.hpp"
#include "test/unit/actors/api/acl/sign_ins.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string unvalidated = "401 unable to validate provided token: ";
const std::string nothing_bound = "400 no role or policy bindings matched";

}  // namespace

TEST_CASE("acl login: gives a token that ends, by the rules of the method") {
  SignIns fixture;
  const auto signer = test::Signer::rsa();
  fixture.make_policy("dev-ops");
  fixture.make_static("ci", signer);
  fixture.bind("ci", "policy", "dev-${value.team}", "value.user == \"ann\"");
  fixture.bind("ci", "policy", "no-such-policy");
  fixture.bind("ci", "role", "no-such-role");
  const auto token = signer.token("RS256", soon(R"(,"sub":"ann","org":{"team":"OPS"})"));

  const auto made = fixture.signed_in("ci", token);
  CHECK(made.at("Name") == "JWT-ci");
  CHECK(made.at("Type") == "client");
  CHECK(made.at("Policies") == boost::json::array{"dev-ops"});
  CHECK(made.at("Global") == false);
  CHECK(made.at("ExpirationTTL") == "10m0s");
  CHECK_FALSE(made.at("ExpirationTime").is_null());
  const auto secret = Acls::text_in(made, "SecretID");
  CHECK(fixture.status_for(secret, "/v1/acl/token/self").starts_with("200 "));
  CHECK(fixture.status_for(secret, "/v1/acl/tokens") == "403 Permission denied");
  CHECK(fixture.signed_in("ci", token).at("AccessorID") != made.at("AccessorID"));

  CHECK(fixture.login("ci", token, "11111111-2222-4333-8444-555555555555").status == 200);
  CHECK(fixture.said("ci", signer.token("RS256", soon(R"(,"sub":"bob","org":{"team":"ops"})")))
        == nothing_bound);
}

TEST_CASE("acl login: management wins, roles are bound by name, selectors see lists") {
  SignIns fixture;
  const auto signer = test::Signer::rsa();
  fixture.make_policy("p");
  fixture.manage("PUT", "/v1/acl/role", R"({"Name":"admins","Policies":[{"Name":"p"}]})");
  fixture.make_static("ci", signer);
  fixture.bind("ci", "role", "admins", "\"admins\" in list.groups");
  fixture.bind("ci", "management", "", "\"root\" in list.groups and value.user != \"eve\"");
  fixture.bind("ci", "policy", "p", "value.nobody == \"x\"");
  const auto with = [&](const std::string& more) { return signer.token("RS256", soon(more)); };

  const auto role = fixture.signed_in("ci", with(R"(,"groups":"admins")"));
  CHECK(role.at("Roles").at(0).at("Name") == "admins");
  CHECK(role.at("Policies").is_null());
  const auto root = fixture.signed_in("ci", with(R"(,"groups":["admins","root"])"));
  CHECK(root.at("Type") == "management");
  CHECK(root.at("Roles").is_null());
  CHECK_FALSE(root.at("ExpirationTime").is_null());
  CHECK(fixture.signed_in("ci", with(R"(,"groups":["admins","root"],"sub":"eve")")).at("Type")
        == "client");
  CHECK(fixture.said("ci", with(R"(,"groups":["x"])")) == nothing_bound);
}

TEST_CASE("acl login: an unknown variable or an invalid name fails the whole login") {
  SignIns fixture;
  const auto signer = test::Signer::rsa();
  fixture.make_policy("p");
  fixture.make_static("ci", signer);
  fixture.bind("ci", "policy", "p");
  fixture.bind("ci", "policy", "${value.user}");
  CHECK(fixture.said("ci", signer.token("RS256", soon()))
            .starts_with("500 cannot compute \"policy\" bind name for bind target: "));
  CHECK(fixture.said("ci", signer.token("RS256", soon(R"(,"sub":"no name")")))
        == "500 computed \"policy\" bind name for bind target is invalid: \"no name\"");
  CHECK(fixture.signed_in("ci", signer.token("RS256", soon(R"(,"sub":"p")"))).at("Policies")
        == boost::json::array{"p"});
}

TEST_CASE("acl login: what is missing, unknown or of the other type is told") {
  SignIns fixture;
  CHECK(fixture.refused("PUT", "/v1/acl/login", "{}")
        == "400 invalid login request: 2 errors occurred:\n\t* missing auth method name\n\t* missing "
           "login token\n\n");
  CHECK(fixture.said("x", "a.b.c") == "400 auth-method \"x\" not found");
  fixture.manage("PUT", "/v1/acl/auth-method",
                 R"({"Name":"o","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"10m"})");
  CHECK(fixture.said("o", "a.b.c") == "400 unsupported auth-method type: OIDC");
  CHECK(fixture.ask("GET", "/v1/acl/login").status == 405);
}

TEST_CASE("acl login: forged tokens, and those of other methods, are refused") {
  SignIns fixture;
  const auto signer = test::Signer::rsa();
  const auto other = test::Signer::rsa();
  fixture.make_policy("p");
  fixture.make_static("ci", signer);
  fixture.make_static("other", other);
  fixture.bind("ci", "policy", "p");
  fixture.bind("other", "policy", "p");
  const auto refused = [&](const std::string& token) {
    const auto response = fixture.said("ci", token);
    CAPTURE(response);
    CHECK(response.starts_with(unvalidated));
  };
  CHECK(fixture.login("other", other.token("RS256", soon())).status == 200);
  refused(other.token("RS256", soon()));
  refused(signer.token("PS256", soon()));
  refused(signer.token("RS256", R"({"exp":1})"));
  refused(signer.token("RS256", R"({"sub":"ann"})"));
  refused(test::hmac_token(signer.pem(), soon()));
  refused(test::jwt_part(R"({"alg":"none"})") + '.' + test::jwt_part(soon()) + '.');
  refused("x");
  refused(std::string(100'000, 'a'));
  fixture.make_method("ci", R"({"JWTValidationPubKeys":["x"]})");
  CHECK(fixture.said("ci", signer.token("RS256", soon()))
        == unvalidated
               + "unable to parse public key for JWT auth: data does not contain any valid RSA or "
                 "ECDSA public keys");
  fixture.make_method("ci", "{}");
  CHECK(fixture.said("ci", signer.token("RS256", soon()))
        == unvalidated
               + "unable to get validation keys from OIDC provider: the method names no keys");
}

TEST_CASE("acl login: keys of a URL are kept, and looked for anew when one is missing") {
  const auto signer = test::Signer::rsa();
  std::atomic<int> status{200};
  const auto keys = R"({"keys":[)" + signer.jwk(R"(,"kid":"a")") + "]}";
  test::ScriptedServer server{[&](test::Visitor& visitor) {
    visitor.read_request();
    visitor.write(test::http_answer(status, keys));
  }};
  SignIns fixture;
  fixture.make_policy("p");
  fixture.make_method("ci", R"({"JWKSURL":")" + server.url("/keys") + R"("})");
  fixture.bind("ci", "policy", "p");
  status = 500;
  CHECK(fixture.said("ci", signer.token("RS256", soon(), R"(,"kid":"a")"))
        == unvalidated + "unable to get validation keys from JWKS: \"" + server.url("/keys")
               + "\" answered with status 500");
  CHECK(server.visits() == 1);
  status = 200;
  fixture.make_method("ci", R"({"JWKSURL":")" + server.url("/keys?") + R"("})");
  for (int i = 0; i < 3; ++i)
    CHECK(fixture.login("ci", signer.token("RS256", soon(), R"(,"kid":"a")")).status == 200);
  CHECK(server.visits() == 2);
  for (int i = 0; i < 3; ++i)
    CHECK(fixture.login("ci", signer.token("RS256", soon(), R"(,"kid":"b")")).status == 401);
  CHECK(server.visits() == 2);  // not within ten seconds
  CHECK(fixture.login("ci", signer.token("HS256", soon(), R"(,"kid":"c")")).status == 401);
  fixture.make_method("ci", R"({"JWKSURL":")" + server.url("/other") + R"("})");
  CHECK(fixture.login("ci", signer.token("RS256", soon(), R"(,"kid":"a")")).status == 200);
  CHECK(server.visits() == 3);  // another form of the method has its own
}

TEST_CASE("acl login: a discovery document must be of its issuer") {
  const auto signer = test::Signer::ec("P-256");
  std::string base;
  std::atomic<bool> is_other{false};
  test::ScriptedServer server{[&](test::Visitor& visitor) {
    const auto request = visitor.read_request();
    const auto issuer = base + (is_other ? "/x" : "");
    if (request.starts_with("GET /.well-known/openid-configuration "))
      visitor.write(test::http_answer(
          200, R"({"issuer":")" + issuer + R"(","jwks_uri":")" + base + R"(/keys"})"));
    else
      visitor.write(test::http_answer(200, R"({"keys":[)" + signer.jwk() + "]}"));
  }};
  base = server.url("");
  SignIns fixture;
  fixture.make_policy("p");
  const auto config = R"({"OIDCDiscoveryURL":")" + base + R"(","SigningAlgs":["ES256"],
      "BoundIssuer":[")"
                      + base + R"("]})";
  fixture.make_method("ci", config);
  fixture.bind("ci", "policy", "p");
  is_other = true;
  CHECK(fixture.said("ci", signer.token("ES256", soon(R"(,"iss":")" + base + '"')))
            .starts_with(unvalidated
                         + "unable to get validation keys from OIDC provider: oidc: "
                           "issuer did not match"));
  is_other = false;
  fixture.make_method("ci", R"({"BoundAudiences":[],)" + config.substr(1));  // asked anew
  CHECK(fixture.said("ci", signer.token("ES256", soon(R"(,"iss":"x")")))
        == unvalidated + "invalid JWT issuer: x");
  CHECK(fixture.login("ci", signer.token("ES256", soon(R"(,"iss":")" + base + '"'))).status == 200);
}

TEST_CASE("acl login: a discovered provider's tokens are of its issuer, whatever is bound") {
  const auto signer = test::Signer::rsa();
  std::string base;
  std::string key_set;
  test::ScriptedServer server{[&](test::Visitor& visitor) {
    const auto request = visitor.read_request();
    if (request.starts_with("GET /.well-known/openid-configuration "))
      visitor.write(test::http_answer(
          200, R"({"issuer":")" + base + R"(","jwks_uri":")" + key_set + R"("})"));
    else
      visitor.write(test::http_answer(200, R"({"keys":[)" + signer.jwk() + "]}"));
  }};
  base = server.url("");
  key_set = base + "/keys";
  SignIns fixture;
  fixture.make_policy("p");
  fixture.make_method("ci", R"({"OIDCDiscoveryURL":")" + base + R"("})");
  fixture.bind("ci", "policy", "p");
  const auto by = [&](const std::string& issuer) {
    return signer.token("RS256", soon(R"(,"iss":")" + issuer + '"'));
  };
  CHECK(fixture.said("ci", by("evil")) == unvalidated + "invalid JWT issuer: evil");
  CHECK(fixture.login("ci", signer.token("RS256", soon())).status == 401);
  CHECK(fixture.login("ci", by(base)).status == 200);
  fixture.make_method("ci", R"({"OIDCDiscoveryURL":")" + base + R"(","BoundIssuer":["other"]})");
  CHECK(fixture.login("ci", by(base)).status == 401);
  CHECK(fixture.login("ci", by("other")).status == 200);
  fixture.make_method("ci", R"({"JWKSURL":")" + base + R"(/keys"})");
  CHECK(fixture.login("ci", by("any")).status == 200);

  const auto failed = unvalidated + "unable to get validation keys from OIDC provider: ";
  key_set = "file:///etc/passwd";
  fixture.make_method("ci", R"({"OIDCDiscoveryURL":")" + base + R"("})");
  CHECK(fixture.said("ci", by(base))
        == failed + "\"file:///etc/passwd\" is no address by http or https");
  key_set = "http://x:port/?key=canary";
  fixture.make_method("ci", R"({"BoundAudiences":[],"OIDCDiscoveryURL":")" + base + R"("})");
  fixture.make_method("ci", R"({"OIDCScopes":["a"],"OIDCDiscoveryURL":")" + base + R"("})");
  CHECK(fixture.said("ci", by(base)) == failed + "the address of the provider is no URL");
}

TEST_CASE("acl login: who is refused learns neither a URL's query nor its credentials") {
  test::ScriptedServer server{[](test::Visitor& visitor) {
    visitor.read_request();
    visitor.write(test::http_answer(500, ""));
  }};
  LoginProviders providers;
  const auto told_of = [&providers](const std::string& url) {
    Draft<schema::AclAuthMethod> method;
    method->setName(text(url));
    method->initConfig().setJwksUrl(text(url));
    std::promise<std::string> told;
    providers.find(method.freeze(), "", [&told](const LoginProviders::Found& found) {
      told.set_value(found ? "" : found.error().what);
    });
    return told.get_future().get();
  };
  const auto port = std::to_string(server.port());
  CHECK(told_of("http://user:canary@127.0.0.1:" + port + "/keys?tenant=canary")
        == "\"" + server.url("/keys") + "\" answered with status 500");
  CHECK(told_of("http://user:canary@127.0.0.1:1/keys?tenant=canary")
        == "Get \"http://127.0.0.1:1/keys\": dial tcp 127.0.0.1:1: connect: connection refused");
  providers.stop();
}

TEST_CASE("acl login: a provider that floods, redirects or hangs costs its own logins alone") {
  const auto signer = test::Signer::rsa();
  test::ScriptedServer server{[](test::Visitor& visitor) {
    const auto request = visitor.read_request();
    if (request.starts_with("GET /flood ")) {
      visitor.write("HTTP/1.1 200 OK\r\n\r\n");
      while (visitor.write(std::string(65'536, ' '))) {
      }
    } else if (request.starts_with("GET /scheme ")) {
      visitor.write(test::http_answer(302, "", "Location: https://127.0.0.1:1/\r\n"));
    } else if (request.starts_with("GET /nowhere ")) {
      visitor.write(test::http_answer(302, "", "Location: http://x:port/?key=canary\r\n"));
    } else {
      visitor.write(test::http_answer(302, "", "Location: /loop\r\n"));
    }
  }};
  SignIns fixture;
  fixture.make_policy("p");
  const auto token = signer.token("RS256", soon());
  for (const auto* path : {"/flood", "/scheme", "/loop"}) {
    fixture.make_method("ci", R"({"JWKSURL":")" + server.url(path) + R"("})");
    const auto response = fixture.said("ci", token);
    CAPTURE(response);
    CHECK(response.starts_with(unvalidated + "unable to get validation keys from JWKS: "));
  }
  const auto said = [&](const std::string& url, const std::string& more = "") {
    fixture.make_method("ci", R"({"JWKSURL":")" + url + '"' + more + '}');
    return fixture.said("ci", token);
  };
  const auto failed = unvalidated + "unable to get validation keys from JWKS: ";
  CHECK(said(server.url("/scheme"))
        == failed + '"' + server.url("/scheme") + "\" redirects to another scheme");
  CHECK(said(server.url("/nowhere"))
        == failed + '"' + server.url("/nowhere") + "\" redirects to no URL");
  CHECK(said("https://127.0.0.1:1/", R"(,"JWKSCACert":"x")")
        == failed + "the CA certificate is no PEM");
}

TEST_CASE("acl login: one that waits for its provider holds up no other, nor the end") {
  const auto signer = test::Signer::rsa();
  std::atomic<int> asked{0};
  test::ScriptedServer server{[&asked](test::Visitor& visitor) {
    visitor.read_request();
    ++asked;
    visitor.read();  // until the other side has gone
  }};
  const auto token = signer.token("RS256", soon());
  std::thread waiting;
  {
    SignIns fixture;
    fixture.make_policy("p");
    fixture.make_method("slow", R"({"JWKSURL":")" + server.url("/") + R"("})");
    fixture.make_static("ci", signer);
    fixture.bind("ci", "policy", "p");
    const auto client = std::make_shared<net::HttpClient>(fixture.client());
    waiting = std::thread{[client, token] {
      static_cast<void>(
          client->send({.method = "PUT",
                        .target = "/v1/acl/login",
                        .body = R"({"AuthMethodName":"slow","LoginToken":")" + token + R"("})"}));
    }};
    CHECK(test::succeeds([&asked] { return asked == 1; }));
    CHECK(fixture.login("ci", token).status == 200);
  }
  waiting.join();
}

TEST_CASE("acl login: by https the provider's certificate is of the method's authority") {
  const auto signer = test::Signer::rsa();
  const auto authority = net::make_authority({}).value();
  const auto other = net::make_authority({}).value();
  const auto own
      = net::make_certificate(authority,
                              {.common_name = "op", .dns_names = {}, .ip_addresses = {"127.0.0.1"}})
            .value();
  test::TempDir folder;
  std::ofstream{folder.path() + "/cert"} << own.certificate;
  std::ofstream{folder.path() + "/key"} << own.key;
  const auto tls = net::TlsContext::make({.cert_file = folder.path() + "/cert",
                                          .key_file = folder.path() + "/key",
                                          .verify_incoming = false});
  REQUIRE(tls);
  test::ScriptedServer server{
      [&](test::Visitor& visitor) {
        visitor.read_request();
        visitor.write(test::http_answer(200, R"({"keys":[)" + signer.jwk() + "]}"));
      },
      *tls};
  SignIns fixture;
  fixture.make_policy("p");
  const auto url = "https://127.0.0.1:" + std::to_string(server.port()) + "/keys";
  const auto make = [&](const std::string& ca) {
    fixture.make_method("ci", R"({"JWKSURL":")" + url + R"(","JWKSCACert":)" + json_text(ca) + '}');
  };
  make(authority.certificate);
  fixture.bind("ci", "policy", "p");
  const auto token = signer.token("RS256", soon());
  CHECK(fixture.login("ci", token).status == 200);
  make(other.certificate);
  CHECK(fixture.login("ci", token).status == 401);
  make("");
  CHECK(fixture.login("ci", token).status == 401);
}

TEST_CASE("acl login: a provider that fails is asked once in a second") {
  const auto signer = test::Signer::rsa();
  std::atomic<int> status{500};
  test::ScriptedServer server{[&](test::Visitor& visitor) {
    visitor.read_request();
    visitor.write(test::http_answer(status, R"({"keys":[)" + signer.jwk() + "]}"));
  }};
  const auto url = server.url("/keys");
  Draft<schema::AclAuthMethod> draft;
  draft->setName("m");
  draft->initConfig().setJwksUrl(text(url));
  const auto method = draft.freeze();
  LoginProviders providers;
  const auto told = [&] {
    std::promise<std::string> told;
    providers.find(method, "", [&told](const LoginProviders::Found& found) {
      told.set_value(found ? "" : found.error().what);
    });
    return told.get_future().get();
  };
  const auto failed = "\"" + url + "\" answered with status 500";
  for (int i = 0; i < 3; ++i)
    CHECK(told() == failed);
  CHECK(server.visits() == 1);
  status = 200;
  CHECK(test::succeeds([&] { return told().empty(); }));
  CHECK(server.visits() == 2);
  status = 500;
  CHECK(told() == "");
  providers.stop();
}

TEST_CASE("acl login: of those who wait for one provider there is a bound") {
  test::ScriptedServer server{[](test::Visitor& visitor) {
    visitor.read_request();
    visitor.read();  // until the other side has gone
  }};
  const auto url = server.url("/");
  Draft<schema::AclAuthMethod> method;
  method->setName("m");
  method->initConfig().setJwksUrl(text(url));
  LoginProviders providers;
  std::vector<std::string> told;
  for (int i = 0; i < 66; ++i)
    providers.find(method.freeze(), "", [&told](const LoginProviders::Found& found) {
      told.push_back(found ? "" : found.error().what);
    });
  CHECK(told
        == std::vector<std::string>{"too many logins wait for the provider",
                                    "too many logins wait for the provider"});
  providers.stop();
}
