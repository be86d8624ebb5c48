// GET /v1/acl/explain.
#include <doctest/doctest.h>

#include "runtime/access/policy/policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

access::RightsRef rights_of_dev() {
  return access::rights_of(
      {{"dev", 1, access::read_policy("namespace \"dev-*\" { policy = \"write\" }").value()},
       {"all", 2, access::read_policy("namespace \"*\" { policy = \"read\" }").value()}});
}

struct ExplainFixture : ApiFixture {
  ExplainFixture()
      : ApiFixture{[](ApiOptions& options) {
          options.authenticator = access::Authenticator::make(
              {.lookup
               = {.here = [](std::string_view token) -> std::optional<Result<access::Grant>> {
                   if (token.empty()) return access::Grant{};
                   if (token != "dev") return access::permission_denied();
                   return access::Grant{.rights = rights_of_dev(), .accessor = "acc-1"};
                 }}});
        }} {}

  /// What "dev", or another token, is told.
  std::string told(const std::string& query, const std::string& token = "dev") {
    auto client = net::HttpClient::make(
        {.address = "http://" + address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.target = "/v1/acl/explain?" + query});
    REQUIRE(response.has_value());
    return std::to_string(response->status) + ' ' + response->body;
  }
};

}  // namespace

TEST_CASE("explain: the rule that decided and what came close") {
  ExplainFixture fixture;
  const auto answer = fixture.told("capability=submit-job&namespace=dev-a");
  CHECK(
      answer
      == R"(200 {"Allowed":true,"Capability":"submit-job","Close":[{"Line":1,"Note":"does not give )"
         R"(submit-job, but the rule for namespace \"dev-*\" is closer","Policy":"all","Roles":[],"Rule":)"
         R"("namespace \"*\" { policy = \"read\" }"}],"HostVolume":"","Namespace":"dev-a",)"
         R"("NodePool":"","Path":"","Plugin":"","Reason":"the rule for namespace \"dev-*\" gives )"
         R"(submit-job","Rules":[{"Line":1,"Note":"","Policy":"dev","Roles":[],"Rule":"namespace \"dev-*\" { )"
         R"(policy = \"write\" }"}]})");
  const auto refused = fixture.told("capability=submit-job");
  CHECK(refused.starts_with(R"(200 {"Allowed":false,)"));
  CHECK(refused.find(R"("Namespace":"default")") != std::string::npos);
  CHECK(refused.find("does not give submit-job") != std::string::npos);
}

TEST_CASE("explain: the roles through which a policy was had") {
  ExplainFixture fixture;
  fixture.state().run([](auto command) {
    auto policy = command.initAclPolicyUpsert();
    policy.setName("dev");
  });
  for (const char* name : {"developer", "operator"})
    fixture.state().run([name](auto command) {
      auto role = command.initAclRoleUpsert();
      role.setId(std::string{"id-"} + name);
      role.setName(name);
      role.initPolicies(1)[0].setName("dev");
    });
  fixture.add_root_key();
  fixture.state().run([&](auto command) {
    auto upsert = command.initAclTokenUpsert();
    upsert.setIsNew(true);
    auto token = upsert.initToken();
    token.setAccessorId("acc-1");
    token.setType("client");
    token.setSecretHash(capnp::Data::Reader{reinterpret_cast<const unsigned char*>("hash"), 4});
    token.setKeyId(fixture.state().now().active_root_key()->getKeyId());
    auto roles = token.initRoles(2);
    roles[0].setId("id-developer");
    roles[1].setId("id-operator");
  });
  CHECK(fixture.told("capability=submit-job&namespace=dev-a")
            .find(R"("Policy":"dev","Roles":["developer","operator"],)")
        != std::string::npos);
}

TEST_CASE("explain: questions that are none are refused, and who is nobody") {
  ExplainFixture fixture;
  CHECK(fixture.told("") == "400 missing capability, such as \"submit-job\"");
  CHECK(fixture.told("capability=sbmit-job")
        == "400 unknown capability \"sbmit-job\"; did you mean \"submit-job\"?");
  CHECK(fixture.told("capability=variables-read") == "400 missing path of the variable");
  CHECK(fixture.told("capability=node-pool-read") == "400 missing node_pool");
  CHECK(fixture.told("capability=host-volume-mount-readonly") == "400 missing host_volume");
  CHECK(fixture.told("capability=read-job&accessor=acc-1")
        == "400 accessor is not taken: ask with the token itself");
  CHECK(fixture.told("capability=read-job", "guess") == "403 Permission denied");
  CHECK(fixture.told("capability=read-job", "").starts_with(R"(200 {"Allowed":false,)"));
}

TEST_CASE("explain: where nobody needs a token there is nothing to say") {
  ApiFixture fixture;
  CHECK(fixture.refusal("/v1/acl/explain?capability=read-job") == "400 ACL support disabled");
}

TEST_CASE("explain: words that policies have inside of a block are known, too") {
  ExplainFixture fixture;
  for (const auto& [query, word] : std::vector<std::pair<std::string, std::string>>{
           {"capability=mount-readwrite&host_volume=hv", "host-volume-mount-readwrite"},
           {"capability=read&path=a", "variables-read"},
           {"capability=write&node_pool=gpu", "node-pool-write"}})
    CHECK(fixture.told(query).find(R"("Capability":")" + word + '"') != std::string::npos);
  CHECK(fixture.told("capability=mount-readonly") == "400 missing host_volume");
  CHECK(fixture.told("capability=read").starts_with("400 unknown capability"));
}
