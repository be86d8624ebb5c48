// Root keys that Vault's transit engine wraps, played by a server that turns texts around.
#include "actors/agent/transit_key.hpp"

#include <algorithm>
#include <future>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/net/http/http_server.hpp"
#include "runtime/security/keyring.hpp"
#include "test/support/eventually.hpp"

using namespace nomad;
using namespace nomad::agent;

namespace {

constexpr std::string_view sealed_start = "vault:v1:";

struct FakeVault {
  struct Said {
    std::mutex guard;
    unsigned status = 200;
    std::string body;  ///< Instead of what it would say; "": that.
    std::vector<std::string> asked;
    std::string token;
  };

  std::shared_ptr<Said> said = std::make_shared<Said>();
  std::optional<net::HttpServer> server;

  FakeVault() {
    net::HttpRouter router;
    router.handle_rest([said = said](net::Responder responder) {
      const std::lock_guard lock{said->guard};
      const auto& request = responder.request();
      said->asked.push_back(request.method + ' ' + request.target);
      said->token = request.header("X-Vault-Token");
      net::Response response;
      response.status = said->status;
      response.content_type = "application/json";
      response.body = said->body.empty() ? answer_to(request) : said->body;
      responder.send(std::move(response));
    });
    net::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    auto started = net::HttpServer::start(std::move(options), std::move(router));
    REQUIRE(started.has_value());
    server.emplace(std::move(*started));
  }

  static std::string answer_to(const net::Request& request) {
    const auto body = boost::json::parse(request.body).as_object();
    const auto member = [&](const char* name) {
      const auto& text = body.at(name).as_string();
      return std::string{text.data(), text.size()};
    };
    boost::json::object data;
    if (request.target.find("/encrypt/") != std::string::npos) {
      auto text = member("plaintext");
      std::ranges::reverse(text);
      data["ciphertext"] = std::string{sealed_start} + text;
    } else {
      auto text = member("ciphertext").substr(sealed_start.size());
      std::ranges::reverse(text);
      data["plaintext"] = text;
    }
    return boost::json::serialize(boost::json::object{{"data", data}});
  }

  std::shared_ptr<security::WrappingKey> key() const {
    const auto made = make_transit_key({.address = "http://" + server->addresses().front(),
                                        .token = "s.secret",
                                        .key_name = "nomad",
                                        .mount_path = "/keys/",
                                        .vault_namespace = "ns1/"});
    REQUIRE(made.has_value());
    return *made;
  }
};

std::shared_ptr<security::Keyring> keyring_with(std::shared_ptr<security::WrappingKey> key) {
  auto opened
      = security::Keyring::open({.server_id = "one", .wrapping = {.active = std::move(key)}});
  REQUIRE(opened.has_value());
  return *opened;
}

Result<Object<schema::RootKey>> make_row(security::Keyring& keyring) {
  std::promise<Result<Object<schema::RootKey>>> made;
  keyring.make_root_key(
      "11111111-2222-4333-8444-555555555555", 4, {}, 0,
      [&](Result<Object<schema::RootKey>> row) { made.set_value(std::move(row)); });
  return made.get_future().get();
}

std::string bad(TransitOptions options) {
  const auto made = make_transit_key(std::move(options));
  return made ? "" : made.error().what;
}

}  // namespace

TEST_CASE("transit: wraps a root key, and unwraps it for another server") {
  const FakeVault vault;
  const auto key = vault.key();
  CHECK(key->name().starts_with("keyring transit ns1/keys/nomad "));
  CHECK(key->name().size() == std::string_view{"keyring transit ns1/keys/nomad "}.size() + 16);
  CHECK(key->name() == vault.key()->name());
  const FakeVault elsewhere;
  CHECK(key->name() != elsewhere.key()->name());
  CHECK(elsewhere.key()->may_unwrap(key->name()));  // the same one, behind another address
  CHECK(key->may_unwrap("keyring transit ns1/keys/nomad"));
  CHECK_FALSE(key->may_unwrap("keyring transit ns1/keys/nomad2 0123456789abcdef"));

  const auto row = make_row(*keyring_with(key));

  REQUIRE(row.has_value());
  REQUIRE((*row)->getWraps().size() == 1);
  const auto other = keyring_with(vault.key());
  CHECK(test::succeeds([&] { return other->opening(*row) == security::Opening::yes; }));
  const std::lock_guard lock{vault.said->guard};
  CHECK(vault.said->asked
        == std::vector<std::string>{"PUT /v1/keys/encrypt/nomad", "PUT /v1/keys/decrypt/nomad",
                                    "PUT /v1/keys/decrypt/nomad"});
  CHECK(vault.said->token == "s.secret");
}

TEST_CASE("transit: a service that refuses, or says nothing of use, may do better later") {
  const FakeVault vault;
  const auto keyring = keyring_with(vault.key());
  const std::tuple<unsigned, std::string, std::string> answers[] = {
      {403, R"({"errors":["permission denied"]})", "the service answered 403: permission denied"},
      {503, "<html>", "the service answered 503"},
      {200, R"({"data":{}})", "the service's answer has no ciphertext"},
      {200, R"({"data":[]})", "the service's answer has no ciphertext"},
      {200, "[", "the service's answer has no ciphertext"}};
  for (const auto& [status, body, expected] : answers) {
    {
      const std::lock_guard lock{vault.said->guard};
      vault.said->status = status;
      vault.said->body = body;
    }
    const auto row = make_row(*keyring);
    CHECK(row.error().code == Errc::unavailable);
    CHECK(row.error().what
          == "wrapping a root key by \"" + vault.key()->name() + "\": " + expected);
  }
}

TEST_CASE("transit: a plaintext that is no base64 is refused") {
  const FakeVault vault;
  vault.said->body = R"({"data":{"plaintext":"?","ciphertext":"c"}})";
  const auto row = make_row(*keyring_with(vault.key()));
  CHECK(row.error().what
        == "wrapping a root key by \"" + vault.key()->name()
               + "\": unwrapping what it has wrapped: the service's plaintext is no base64");
}

TEST_CASE("transit: what it needs is said at the start") {
  CHECK(bad({}) == "address: expected the service's, or VAULT_ADDR in the environment");
  CHECK(bad({.address = "https://vault"})
        == "token: expected one, or VAULT_TOKEN in the environment");
  CHECK(bad({.address = "https://vault", .token = "t"})
        == "key_name: expected the transit key's name");
  CHECK(bad({.address = "http://vault:8200", .token = "t", .key_name = "k"})
        == "address: expected one by https: root keys would be sent in the clear");
  CHECK(bad({.address = "https://vault", .token = "t", .key_name = "k", .ca_file = "/none"})
            .starts_with("tls_ca_cert: "));
  CHECK(bad({.address = "https://vault", .token = "t", .key_name = "k"}).empty());
}
