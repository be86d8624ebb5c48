// A task's identity at the API: its keys are everybody's, and it opens what is the task's.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/access/login/jwt.hpp"
#include "runtime/access/login/public_key.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/cluster/data/stored_rights.hpp"
#include "runtime/identity/verify.hpp"
#include "test/support/slow_key.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct IdentityApi : ApiFixture {
  explicit IdentityApi(bool enforces = true, std::string issuer = "https://nomad.example/")
      : ApiFixture{[&](ApiOptions& options) {
          const auto& store = options.state.store;
          options.acl.enabled = enforces;
          options.server.oidc_issuer = issuer;
          options.authenticator
              = access::Authenticator::make({.enforces = enforces,
                                             .lookup = identity::with_identities(
                                                 cluster::lookup_in(store), store,
                                                 identity::signing_keys(options.server.keyring))});
        }} {
    add_root_key();
    state().run([](auto command) {
      auto job = command.initJobRegister().initJob();
      state::fill(job, state::JobSpec{});
      auto task = job.getTaskGroups()[0].initTasks(1)[0];
      task.setName("server");
      auto identity = task.initIdentities(1)[0];
      identity.setName("vault");
      identity.initAudience(1).set(0, "vault.io");
    });
    state().place({{.id = alloc, .node = "n1"}}, [this](auto plan) {
      plan.setIdentityKey(state().now().active_root_key()->getCreateIndex());
    });
  }

  std::string token() { return issued({alloc, "server"}); }

  std::string issued(const identity::IdentityRef& wanted) {
    return identity::issue(state().now(),
                           {identity::signing_keys(keyring), identity::rsa_keys(keyring)}, "n1",
                           wanted, "", 1)
        .value()
        .token;
  }

  net::ClientResponse with(const std::string& token, const std::string& target) {
    auto response
        = client().send({.method = "GET", .target = target, .headers = {{"X-Nomad-Token", token}}});
    REQUIRE(response.has_value());
    return std::move(*response);
  }

  const std::string alloc = uuid(77);
};

}  // namespace

TEST_CASE("identity: anybody verifies a token by the published keys") {
  IdentityApi api;

  const auto answer = api.get("/.well-known/jwks.json");

  REQUIRE(answer.status == 200);
  CHECK(answer.header("Cache-Control") == "public, max-age=900");
  const auto keys = access::read_jwks(answer.body);
  REQUIRE(keys.has_value());
  REQUIRE(keys->size() == 2);  // Both algorithms of the one root key.
  CHECK(access::is_signed_by(*keys, access::parse_jwt(api.token()).value()));
  const auto for_others = access::parse_jwt(api.issued({api.alloc, "server", false, "vault"}));
  CHECK(for_others->algorithm == "RS256");
  CHECK(access::is_signed_by(*keys, *for_others));
}

TEST_CASE("identity: a set that lacks a key is not kept, and not shown while that may come") {
  const auto slow = std::make_shared<test::SlowKey>();
  ApiFixture api{[&](ApiOptions& options) {
    options.server.keyring
        = security::Keyring::open({.server_id = "one", .wrapping = {.active = slow}}).value();
  }};
  const auto add = [&api](const Object<schema::RootKey>& row) {
    api.state().run([&](auto command) { command.initRootKeyUpsert().setKey(*row); });
  };
  const auto shown = [&api] {
    const auto answer = api.get("/.well-known/jwks.json");
    const auto keys = access::read_jwks(answer.body);
    return fmt::format("{} {} keys, {}", answer.status, keys ? keys->size() : 0,
                       answer.header("Cache-Control"));
  };
  CHECK(shown() == "200 0 keys, no-store");
  add(test::wrapped_by(slow, uuid(8)));

  const auto early = api.get("/.well-known/jwks.json");
  CHECK(early.status == 503);
  CHECK(early.header("Retry-After") == "1");
  CHECK(early.header("Cache-Control") == "no-store");
  CHECK(early.body == "a key is being opened; ask again for the whole set in a second");
  slow->answer();
  CHECK(shown() == "200 2 keys, public, max-age=900");

  const auto other = security::Keyring::open({.server_id = "two"}).value();
  add(other->make_root_key(uuid(9), 1, {}));
  CHECK(shown() == "200 2 keys, no-store");
}

TEST_CASE("identity: discovery says where the keys are, if there is an issuer") {
  IdentityApi api;
  const auto found = api.json("/.well-known/openid-configuration");
  CHECK(found.at("issuer") == "https://nomad.example/");
  CHECK(found.at("jwks_uri") == "https://nomad.example/.well-known/jwks.json");
  CHECK(boost::json::serialize(found.at("id_token_signing_alg_values_supported"))
        == R"(["RS256","EdDSA"])");

  IdentityApi without{true, ""};
  CHECK(without.refusal("/.well-known/openid-configuration")
        == "404 OIDC Discovery endpoint disabled");
}

TEST_CASE("identity: a task reads what is its own, and nothing else") {
  IdentityApi api;
  const auto token = api.token();
  CHECK(api.with(token, "/v1/var/nomad/jobs/web").status == 404);
  CHECK(api.with("", "/v1/var/nomad/jobs/web").status == 403);
  CHECK(api.with(token, "/v1/var/nomad/jobs/web2").status == 403);
  CHECK(api.with(token, "/v1/vars?prefix=nomad").status == 200);
  CHECK(api.with(token, "/v1/services").status == 200);
  for (const auto* other : {"/v1/jobs", "/v1/nodes", "/v1/agent/self", "/v1/acl/tokens",
                            "/v1/operator/keyring/keys", "/v1/service/x?namespace=other"})
    CHECK(api.with(token, other).status == 403);
  CHECK(api.with(token + "x", "/v1/vars").status == 403);
  const auto me = boost::json::parse(api.with(token, "/v1/acl/whoami").body);
  CHECK(me.at("Type") == "workload");
  CHECK(me.at("Workload").at("Task") == "server");
}

TEST_CASE("identity: it ends with the allocation, at once") {
  IdentityApi api;
  const auto token = api.token();
  CHECK(api.with(token, "/v1/vars").status == 200);

  api.state().report(api.alloc, schema::ClientStatus::COMPLETE);

  CHECK(api.with(token, "/v1/vars").status == 403);
}

TEST_CASE("identity: allocations name the key, and show no token") {
  IdentityApi api{false};

  const auto shown = api.json("/v1/allocation/" + api.alloc);

  CHECK(shown.at("SigningKeyID").as_string() == uuid(9).c_str());
  CHECK(boost::json::serialize(shown).find("eyJ") == std::string::npos);
}

TEST_CASE("identity: a key may be published before it signs") {
  IdentityApi api{false};
  const auto rotate = [&](const std::string& query) {
    return api.refusal("PUT", "/v1/operator/keyring/rotate?" + query, "");
  };
  CHECK(rotate("publish_time=x") == "400 invalid publish_time: \"x\" is no time in nanoseconds");
  CHECK(rotate("publish_time=9223372036854775807")
        == "400 invalid publish_time: it is more than 720h0m0s ahead");
  CHECK(rotate("full=true&publish_time=1")
        == "400 keyring cannot be prepublished and full rotated at the same time");
  const auto made
      = api.send("PUT", "/v1/operator/keyring/rotate?publish_time=" + std::to_string(unix_now()));
  REQUIRE(made.status == 200);
  CHECK(boost::json::parse(made.body).at("Key").at("State") == "prepublished");
  CHECK(api.json("/.well-known/jwks.json").at("keys").as_array().size() == 4);
}
