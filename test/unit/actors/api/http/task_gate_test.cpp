// Who gets by the gate at the socket of a task, and what he is told who does not.
#include <atomic>

#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string acl_token = "11111111-0000-0000-0000-000000000001";

std::shared_ptr<access::Authenticator> with_two_tokens(bool enforces) {
  return access::Authenticator::make(
      {.enforces = enforces,
       .lookup = {.here = [](std::string_view token) -> std::optional<Result<access::Grant>> {
         if (token == acl_token) return access::Grant{.rights = access::Rights::everything()};
         if (token.empty()) return access::Grant{.rights = access::Rights::nothing()};
         if (token == "broken") return Error{Errc::internal, "the state can't be read"};
         if (token != "signed.by.us") return access::permission_denied();
         access::Grant grant;
         grant.workload = access::WorkloadIdentity{
             .ns = "default", .job_id = "web", .alloc_id = own_alloc, .task = "server"};
         return grant;
       }}});
}

struct Gate : ApiFixture {
  explicit Gate(bool enforces = true) : Gate{with_two_tokens(enforces)} {}

  explicit Gate(const std::shared_ptr<access::Authenticator>& authenticator)
      : ApiFixture{[&](ApiOptions& options) {
          options.acl.enabled = authenticator->enforces();
          options.authenticator = authenticator;
        }} {
    auto started = net::HttpServer::start({.listen = {"127.0.0.1:0"}, .needs_token = true},
                                          api->task_routes());
    server.emplace(std::move(*started));
  }

  ~Gate() { server->stop(); }

  std::string ask(const std::string& token, const std::string& target) {
    net::HttpClientOptions options;
    options.address = "http://" + server->addresses().front();
    if (!token.empty()) options.headers = {{"X-Nomad-Token", token}};
    const auto answer = net::HttpClient::make(std::move(options))->send({.target = target});
    REQUIRE(answer.has_value());
    const auto body = answer->status < 400 ? "" : ' ' + answer->body;
    return std::to_string(answer->status) + body;
  }

  std::optional<net::HttpServer> server;
};

}  // namespace

TEST_CASE("task gate: nobody gets by without a token, whatever he asks for") {
  for (const bool enforces : {true, false}) {
    Gate gate{enforces};
    for (const auto* path : {"/v1/jobs", "/v1/status/leader", "/ui/", "/", "/v1/none", "/v1//jobs",
                             "/v1/agent/health", "/v1/acl/whoami", "/v1/jobs?region=other"})
      CHECK_MESSAGE(gate.ask("", path) == "401 Unauthorized", path);
  }
}

TEST_CASE("task gate: a secret that nobody has is forbidden, and what can be none is an error") {
  for (const bool enforces : {true, false}) {
    Gate gate{enforces};
    CHECK(gate.ask("22222222-0000-0000-0000-000000000002", "/v1/jobs") == "403 Forbidden");
    for (const auto* none : {"nonsense", "eyJ.eyJ.x", "broken"})
      CHECK(gate.ask(none, "/v1/none") == "500 Server error authenticating request");
  }
}

TEST_CASE("task gate: tokens have their own rights") {
  Gate gate;
  CHECK(gate.ask(acl_token, "/v1/jobs") == "200");
  CHECK(gate.ask("signed.by.us", "/v1/status/leader") == "200");
  CHECK(gate.ask("signed.by.us", "/v1/jobs").starts_with("403 Permission denied"));
  CHECK(gate.ask("signed.by.us", "/v1/none") == "404 ");
}

TEST_CASE("task gate: who shows a token may ask what it is") {
  Gate gate;
  CHECK(gate.ask(acl_token, "/v1/acl/token/self") == "404 ACL token not found");  // not denied
}

TEST_CASE("task gate: where access control is off, an identity alone is somebody") {
  Gate gate{false};
  CHECK(gate.ask("signed.by.us", "/v1/jobs") == "200");
  CHECK(gate.ask(acl_token, "/v1/jobs") == "403 Forbidden");
}

TEST_CASE("task gate: where access control is off, nobody is asked for a secret") {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  Gate gate{access::Authenticator::make(
      {.enforces = false,
       .lookup = {.elsewhere = [asked](const SecretText&, const access::Lookup::Found& found) {
         ++*asked;
         found(Error{Errc::unavailable, "there are no servers"});
       }}})};
  CHECK(gate.ask(acl_token, "/v1/jobs") == "403 Forbidden");
  CHECK(gate.ask("nonsense", "/v1/jobs") == "500 Server error authenticating request");
  CHECK(*asked == 0);
  CHECK(gate.ask("signed.by.us", "/v1/jobs") == "500 Server error authenticating request");
  CHECK(*asked == 1);
}
