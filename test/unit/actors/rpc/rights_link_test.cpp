// A process that knows no tokens asks the servers: its authenticator and the server's, with all
// that is between them but the network.
#include "actors/rpc/rights_link.hpp"

#include <map>
#include <optional>

#include <doctest/doctest.h>

#include "runtime/access/policy/policy.hpp"
#include "schema/rpc.capnp.h"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace nomad::rpc;
using namespace std::chrono_literals;
using access::Grant;
using access::Rights;
using transport::Call;
using transport::Delivery;
using transport::Reply;

namespace {

/// What is at an address: a server, or an outcome of calling there.
struct Server {
  std::shared_ptr<const MethodRouter> router = {};
  Reply outcome = {Error{Errc::unavailable, "hung up"}, Delivery::maybe};
};

using Servers = std::map<std::string, Server>;

/// Brings a call to its server as a client node's.
Reply serve_at(const Server& server, const Call& call) {
  if (!server.router) return server.outcome;
  net::RpcPeer peer;
  peer.remote = "10.0.0.5:1";
  peer.hello = {.role = net::RpcRole::client, .region = "global", .name = "n1"};
  Inbound inbound;
  inbound.envelope.method = call.method;
  inbound.envelope.region = call.region;
  inbound.envelope.credentials = call.credentials;
  inbound.body = call.body;
  std::optional<Result<Bytes>> answer;
  inbound.reply = ReplyTo{[&](Result<Bytes> outcome) { answer = std::move(outcome); }};
  server.router->serve(peer, std::exchange(inbound, {}));
  return {answer.value_or(Error{Errc::timeout, "no answer"}), Delivery::answered};
}

/// The rights of tokens as a server has them.
Result<Grant> stored(std::string_view token) {
  if (token == "good")
    return Grant{.rights = Rights::everything(), .accessor = "acc-1", .index = 7};
  if (token.empty()) return Grant{.rights = Rights::nothing(), .index = 7};
  if (token == "policies" || token == "of.a.task") {
    const access::ImplicitRights workload{
        .ns = "prod", .job_id = "web", .group = "api", .task = "server"};
    return Grant{
        .rights = access::rights_of(
            {{"read", 5, access::read_policy(R"(namespace "prod" { policy = "read" })").value()}},
            &workload),
        .accessor = "acc-2",
        .workload = access::WorkloadIdentity{"prod", "web", "alloc-1", "server"},
        .index = 7};
  }
  if (token == "rules")
    return Grant{.rights
                 = Rights::by([](access::Capability, const access::Target&) { return true; })};
  return access::permission_denied();
}

struct RightsFixture : test::ActorFixture {
  std::shared_ptr<Servers> servers = std::make_shared<Servers>();
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  std::vector<std::string> addresses{"a:1"};
  RightsLink link{system(), {.region = "global", .servers = [this] { return addresses; }}};
  std::shared_ptr<access::Authenticator> authenticator
      = access::Authenticator::make({.lookup = link.lookup()});

  explicit RightsFixture(bool enforces = true) {
    const auto server = access::Authenticator::make(
        {.enforces = enforces,
         .lookup = {.here = [](std::string_view token) -> std::optional<Result<Grant>> {
           return stored(token);
         }}});
    auto router = std::make_shared<MethodRouter>("global", server);
    serve_rights(*router);
    (*servers)["a:1"] = {.router = router};
    link.open(adopt(actor::spawn(
        system(),
        [servers = servers, calls = calls](CallTransport::pointer) -> CallTransport::behavior_type {
          return {[servers, calls](const Call& call) {
            ++*calls;
            return serve_at((*servers)[call.to.address], call);
          }};
        })));
  }

  ~RightsFixture() { link.stop(); }

  /// What comes of a token when all is said: "all of acc-1", "nothing", or the refusal.
  std::string outcome(const std::string& token) {
    std::string said;
    authenticator->resolve(authenticator->identify({.credentials = {.token = token}}),
                           [&](const Result<access::Principal>& who) {
                             if (!who)
                               said = who.error().what;
                             else if (!authorize(*who, access::Capability::management, {}))
                               said = "nothing";
                             else
                               said = "all of " + who->grant()->accessor;
                           });
    settle();
    return said;
  }
};

const std::string silence = "the servers do not say what the token allows: ";

}  // namespace

TEST_CASE("rights_link: a token gives what the servers say, which is kept") {
  RightsFixture test;
  for (int round = 0; round < 2; ++round) {
    CHECK(test.outcome("good") == "all of acc-1");
    CHECK(test.outcome("") == "nothing");
    CHECK(test.outcome("guess") == "Permission denied");
    CHECK(*test.calls == 3);
  }
}

TEST_CASE("rights_link: policies travel in their own words, and a workload with what it is") {
  RightsFixture test;
  std::optional<access::Principal> known;
  test.authenticator->resolve(test.authenticator->identify({.credentials = {.token = "policies"}}),
                              [&](const Result<access::Principal>& who) { known = who.value(); });
  test.settle();
  REQUIRE(known);
  const auto& grant = *known->grant();
  CHECK(grant.accessor == "acc-2");
  CHECK(grant.ends <= std::chrono::steady_clock::now() + 5s);  // nobody here sees its task end
  REQUIRE(grant.rights->form() == Rights::Form::policies);
  const auto& policies = access::policies_of(*grant.rights);
  REQUIRE(policies.size() == 1);
  CHECK(policies[0].name == "read");
  CHECK(policies[0].modify_index == 5);
  CHECK(access::rules_text(*policies[0].policy) == R"(namespace "prod" { policy = "read" })");
  REQUIRE(access::workload_of(*grant.rights) != nullptr);
  CHECK(access::workload_of(*grant.rights)->group == "api");
  REQUIRE(known->caller().workload);
  CHECK(known->caller().workload->alloc_id == "alloc-1");
}

TEST_CASE("rights_link: who does not answer is passed over, and when nobody does it is refused") {
  RightsFixture test;
  test.addresses = {"b:1", "c:1", "a:1"};
  CHECK(test.outcome("good") == "all of acc-1");
  CHECK(*test.calls == 3);

  test.addresses = {"b:1", "c:1"};
  CHECK(test.outcome("other") == silence + "hung up");
  test.addresses = {};
  CHECK(test.outcome("other") == silence + "there are none");
  test.addresses = {"a:1"};
  CHECK(test.outcome("other") == "Permission denied");  // the failure was not kept
}

TEST_CASE("rights_link: an answer that is none, or of rights that do not travel, is refused") {
  RightsFixture test;
  CHECK(test.outcome("rules").starts_with(silence));
  (*test.servers)["a:1"] = {.outcome = {Bytes::copy("12345678"), Delivery::answered}};
  CHECK(test.outcome("other") != "");
  CHECK_FALSE(test.outcome("other").starts_with("all"));
}

TEST_CASE("rights_link: servers that have ACLs off give nobody rights where they are on") {
  RightsFixture test{false};
  for (const auto* token : {"good", "guess", ""})
    CHECK(test.outcome(token) == silence + "they do not enforce ACLs");

  // So do those of an earlier release, which answer.
  (*test.servers)["a:1"] = {
      .outcome = {make_body<schema::rpc::ResolveReply>([](auto& reply) { reply.setEverything(); }),
                  Delivery::answered}};
  CHECK(test.outcome("guess") == silence + "they do not enforce ACLs");
}

TEST_CASE("rights_link: with ACLs off servers still say whose a task's token is") {
  RightsFixture test{false};
  const auto socket
      = access::Authenticator::make({.enforces = false, .lookup = test.link.lookup()});
  const auto task_of = [&](const std::string& token) {
    std::string said;
    socket->resolve(socket->identify({.credentials = {.token = token}, .needs_token = true}),
                    [&](const Result<access::Principal>& who) {
                      if (!who)
                        said = who.error().what;
                      else
                        said = who->caller().workload ? who->caller().workload->task : "nobody";
                    });
    test.settle();
    return said;
  };
  CHECK(task_of("of.a.task") == "server");
  CHECK(task_of("of.no.task") == "Permission denied");
  CHECK(test.outcome("of.a.task") == "nothing");  // where ACLs are on
}

TEST_CASE("rights_link: before it is open, and after its end, look-ups fail") {
  RightsFixture test;
  test.link.stop();
  CHECK(test.outcome("good") == silence + "there are none");
}
