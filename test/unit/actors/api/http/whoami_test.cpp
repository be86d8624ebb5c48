// GET /v1/acl/whoami.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/cluster/acl/token_commands.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

std::shared_ptr<access::Authenticator> with_one_token() {
  return access::Authenticator::make(
      {.lookup = {.here = [](std::string_view token) -> std::optional<Result<access::Grant>> {
         if (token.empty()) return access::Grant{};
         if (token != "dev") return access::permission_denied();
         return access::Grant{.rights = access::Rights::nothing(), .accessor = "acc-1"};
       }}});
}

struct WhoamiFixture : ApiFixture {
  WhoamiFixture()
      : ApiFixture{[](ApiOptions& options) { options.authenticator = with_one_token(); }} {}

  /// As every server has it.
  void put_token() {
    state().run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
    state().run([](auto command) { command.initAclPolicyUpsert().setName("read"); });
    state().run([](auto command) {
      auto role = command.initAclRoleUpsert();
      role.setId("r-1");
      role.setName("readers");
      role.initPolicies(1)[0].setName("read");
    });
    state().run([](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      auto token = upsert.initToken();
      token.setAccessorId("acc-1");
      token.setName("for dev");
      token.setType("client");
      token.setSecretHash(cluster::data_of("hash"));
      token.setKeyId("k");
      token.setExpirationTime(1'000'000'000);
      token.initRoles(1)[0].setId("r-1");
    });
  }

  net::ClientResponse as(const std::string& token) {
    auto client = net::HttpClient::make(
        {.address = "http://" + address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.target = "/v1/acl/whoami"});
    REQUIRE(response.has_value());
    return std::move(*response);
  }
};

}  // namespace

TEST_CASE("whoami: a token is told what it is, through which roles, and until when") {
  WhoamiFixture fixture;
  fixture.put_token();
  const auto index = fixture.state().now().row<state::kind::AclPolicies>("read")->getModifyIndex();
  const auto read
      = fmt::format(R"("Policies":[{{"ModifyIndex":{},"Name":"read","Role":"readers"}}])", index);
  const auto answer = fixture.as("dev");
  CHECK(answer.status == 200);
  for (const auto* part : {R"("Type":"client")", R"("AccessorID":"acc-1")", R"("Name":"for dev")",
                           read.c_str(), R"("Roles":[{"ID":"r-1","Name":"readers"}])",
                           R"("ExpirationTime":"1970-01-01T00:00:01Z")", R"("Workload":null)"})
    CHECK_MESSAGE(answer.body.find(part) != std::string::npos, part << " in " << answer.body);
  CHECK(answer.body.find("\"dev\"") == std::string::npos);  // never its secret
}

TEST_CASE("whoami: of a token that is not in this server's state its rights are told") {
  WhoamiFixture fixture;
  const auto answer = fixture.as("dev");
  CHECK(answer.status == 200);
  for (const auto* part : {R"("Type":"client")", R"("AccessorID":"acc-1")", R"("Name":"")",
                           R"("ExpirationTime":null)"})
    CHECK_MESSAGE(answer.body.find(part) != std::string::npos, part << " in " << answer.body);
}

TEST_CASE("whoami: who has no token is nobody in particular, and who has an unknown one refused") {
  WhoamiFixture fixture;
  const auto anonymous = fixture.as("");
  CHECK(anonymous.status == 200);
  CHECK(anonymous.body.find(R"("Type":"anonymous")") != std::string::npos);
  CHECK(fixture.as("guess").status == 403);
}

TEST_CASE("whoami: where nobody needs a token there is nothing to say") {
  ApiFixture fixture;
  CHECK(fixture.refusal("/v1/acl/whoami") == "400 ACL support disabled");
}
