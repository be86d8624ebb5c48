// Whoever waits for news of his own token, or of what it has, waits no longer than it is one.
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "runtime/access/secret_hash.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/cluster/acl/token_commands.hpp"
#include "test/support/eventually.hpp"
#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;

namespace {

/// Of an index that will not come.
const std::string waits = "?index=1000000&wait=2m";

struct Waiting {
  Acls fixture{};
  std::vector<std::future<std::string>> answers{};

  /// Asks for each path with that secret, and returns once all wait.
  void ask_all(const std::vector<std::string>& paths, const std::string& secret) {
    for (const auto& path : paths)
      answers.push_back(std::async(std::launch::async, [this, path, secret] {
        return path + ' ' + fixture.status_for(secret, path + waits).substr(0, 3);
      }));
    REQUIRE(
        test::succeeds([&] { return fixture.state().store.watches().size() >= answers.size(); }));
  }

  std::vector<std::string> all() {
    std::vector<std::string> out;
    for (auto& answer : answers)
      out.push_back(answer.get());
    return out;
  }
};

}  // namespace

TEST_CASE("own token: whoever waits for it, or for what it has, is told of its end") {
  Waiting waiting;
  auto& fixture = waiting.fixture;
  fixture.make_policy("p");
  const auto role
      = fixture.manage("PUT", "/v1/acl/role", R"({"Name":"r","Policies":[{"Name":"p"}]})");
  const auto id = Acls::text_in(role, "ID");
  const auto made = fixture.make_token(
      R"({"Name":"t","Type":"client","Policies":["p"],"Roles":[{"ID":")" + id + R"("}]})");
  const auto accessor = Acls::text_in(made, "AccessorID");
  waiting.ask_all({"/v1/acl/token/self", "/v1/acl/token/" + accessor, "/v1/acl/role/" + id,
                   "/v1/acl/role/name/r", "/v1/acl/roles", "/v1/acl/policy/p", "/v1/acl/policies"},
                  Acls::text_in(made, "SecretID"));

  const auto begun = std::chrono::steady_clock::now();
  fixture.manage("DELETE", "/v1/acl/token/" + accessor);

  CHECK(waiting.all()
        == std::vector<std::string>{"/v1/acl/token/self 404", "/v1/acl/token/" + accessor + " 403",
                                    "/v1/acl/role/" + id + " 403", "/v1/acl/role/name/r 403",
                                    "/v1/acl/roles 403", "/v1/acl/policy/p 403",
                                    "/v1/acl/policies 403"});
  CHECK(std::chrono::steady_clock::now() - begun < 1s);
}

TEST_CASE("own token: a token that expires is shown to who waits for it, as to who asks then") {
  Waiting waiting;
  auto& fixture = waiting.fixture;
  const auto end = unix_now() + std::chrono::nanoseconds{500ms}.count();
  fixture.state().run([&](auto command) {
    auto upsert = command.initAclTokenUpsert();
    upsert.setIsNew(true);
    auto token = upsert.initToken();
    token.setAccessorId("acc-1");
    token.setType("management");
    token.setExpirationTime(end);
    token.setSecretHash(cluster::data_of(access::secret_hash(no_such)));
    token.setKeyId(fixture.state().now().active_root_key()->getKeyId());
  });

  const auto answer = fixture.status_for(no_such, "/v1/acl/token/self" + waits);

  CHECK(answer.starts_with("200 "));
  CHECK(unix_now() >= end);
  CHECK(unix_now() - end < std::chrono::nanoseconds{1s}.count());
  CHECK(fixture.status_for(no_such, "/v1/acl/token/self" + waits).starts_with("200 "));
}

TEST_CASE("own token: nobody waits for one that there is not") {
  Acls fixture;
  CHECK(fixture.status_for(no_such, "/v1/acl/token/self" + waits) == "404 ACL token not found");
}
