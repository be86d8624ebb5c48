// What holds in all regions is written in the authoritative one: an agent of another region passes
// it on, which nobody here can be asked for.
#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/cluster/regions/shared_kinds.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string passed_on = "400 No path to region";

struct OtherRegion : ApiFixture {
  explicit OtherRegion(const std::string& authority = "authority")
      : ApiFixture{[authority](ApiOptions& options) {
          options.acl.enabled = true;
          options.agent.authoritative_region = authority;
        }} {
    add_root_key();
  }

  void put_method(const char* name, const char* type, const char* locality) {
    state().run([&](auto command) {
      auto method = command.initAclAuthMethodUpsert();
      method.setName(name);
      method.setType(type);
      method.setTokenLocality(locality);
      method.initConfig().initAllowedRedirectUris(1).set(0, "http://127.0.0.1/");
    });
  }
};

struct WrittenAt {
  std::string_view kind;
  const char* method;
  const char* path;
  const char* body;
};

/// How each kind is written that holds in all regions.
const std::vector<WrittenAt>& shared_writes() {
  static const std::vector<WrittenAt> all{
      {"acl_policies", "PUT", "/v1/acl/policy/p", R"({"Name":"p","Rules":""})"},
      {"acl_policies", "DELETE", "/v1/acl/policy/p", ""},
      {"acl_roles", "PUT", "/v1/acl/role", R"({"Name":"r","Policies":[{"Name":"p"}]})"},
      {"acl_roles", "DELETE", "/v1/acl/role/r", ""},
      {"acl_tokens", "PUT", "/v1/acl/token", R"({"Type":"management","Global":true})"},
      {"acl_tokens", "PUT", "/v1/acl/bootstrap", ""},
      {"acl_auth_methods", "PUT", "/v1/acl/auth-method", R"({"Name":"m","Type":"JWT"})"},
      {"acl_auth_methods", "DELETE", "/v1/acl/auth-method/m", ""},
      {"acl_binding_rules", "PUT", "/v1/acl/binding-rule", R"({"AuthMethod":"m"})"},
      {"acl_binding_rules", "DELETE", "/v1/acl/binding-rule/b", ""},
      {"namespaces", "PUT", "/v1/namespace", R"({"Name":"n"})"},
      {"namespaces", "PUT", "/v1/namespace/n", R"({"Name":"n"})"},
      {"namespaces", "DELETE", "/v1/namespace/n", ""},
      {"node_pools", "PUT", "/v1/node/pools", R"({"Name":"p"})"},
      {"node_pools", "DELETE", "/v1/node/pool/p", ""},
      {"quotas", "PUT", "/v1/quota", R"({"Name":"q"})"},
      {"quotas", "PUT", "/v1/quota/q", R"({"Name":"q"})"},
      {"quotas", "DELETE", "/v1/quota/q", ""},
      {"admission_policies", "PUT", "/v1/sentinel/policy/p", R"({"Name":"p"})"},
      {"admission_policies", "DELETE", "/v1/sentinel/policy/p", ""},
  };
  return all;
}

std::string said(ApiFixture& fixture, const WrittenAt& write) {
  const auto response = fixture.send(write.method, write.path, write.body);
  return std::to_string(response.status) + ' ' + response.body;
}

}  // namespace

TEST_CASE("authority: writes of what holds in all regions go there, of each kind") {
  OtherRegion fixture;
  for (const auto& write : shared_writes()) {
    CAPTURE(write.method);
    CAPTURE(write.path);
    CHECK(said(fixture, write) == passed_on);
  }
  for (const auto& kind : cluster::shared_kinds()) {
    CAPTURE(kind.name);
    CHECK(std::ranges::any_of(shared_writes(),
                              [&](const WrittenAt& write) { return write.kind == kind.name; }));
  }
  // What is asked of the authoritative region by name comes there; it is that one's own.
  OtherRegion own{"global"};
  for (const auto& write : shared_writes()) {
    CAPTURE(write.path);
    CHECK(said(own, write) != passed_on);
  }
}

TEST_CASE("authority: reads and local tokens are the region's own") {
  OtherRegion fixture;
  for (const auto* path :
       {"/v1/acl/policies", "/v1/acl/tokens", "/v1/namespaces", "/v1/node/pools"})
    CHECK(fixture.get(path).status == 200);
  const auto made
      = fixture.send("PUT", "/v1/acl/token", R"({"Name":"l","Type":"management","Global":false})");
  REQUIRE(made.status == 200);
  const auto accessor = boost::json::parse(made.body).at("AccessorID").as_string();
  const std::string path = "/v1/acl/token/" + std::string{accessor.data(), accessor.size()};
  CHECK(fixture.send("DELETE", path).status == 200);

  // Whether one that is stored is global, it says itself, whatever a request has of it.
  const auto key = fixture.state().store.snapshot().active_root_key();
  fixture.state().run([&](auto command) {
    auto upsert = command.initAclTokenUpsert();
    upsert.setIsNew(true);
    auto token = upsert.initToken();
    token.setAccessorId("aaaaaaaa-0000-4000-8000-000000000009");
    token.setSecretHash({reinterpret_cast<const unsigned char*>("hash"), 4});
    token.setKeyId(key->getKeyId());
    token.setType("management");
    token.setGlobal(true);
  });
  const std::string global = "/v1/acl/token/aaaaaaaa-0000-4000-8000-000000000009";
  CHECK(said(fixture, {"", "DELETE", global.c_str(), ""}) == passed_on);
  CHECK(said(fixture,
             {"", "PUT", global.c_str(),
              R"({"AccessorID":"aaaaaaaa-0000-4000-8000-000000000009","Type":"management"})"})
        == passed_on);
}

TEST_CASE("authority: who signs in by a global method does it there, by a local one here") {
  OtherRegion fixture;
  fixture.put_method("all", "JWT", "global");
  fixture.put_method("here", "JWT", "local");
  fixture.put_method("sso", "OIDC", "global");
  const auto login = [&](const std::string& method) {
    return fixture.send("PUT", "/v1/acl/login",
                        R"({"AuthMethodName":")" + method + R"(","LoginToken":"x.y.z"})");
  };
  CHECK(login("all").status == 400);
  CHECK(login("all").body == "No path to region");
  CHECK(login("here").status == 401);
  for (const auto* path : {"/v1/acl/oidc/auth-url", "/v1/acl/oidc/complete-auth"}) {
    const auto response = fixture.send(
        "PUT", path,
        R"({"AuthMethodName":"sso","ClientNonce":"n","State":"s","Code":"c","RedirectURI":"http://127.0.0.1/"})");
    CHECK(response.status == 400);
    CHECK(response.body == "No path to region");
  }
}
