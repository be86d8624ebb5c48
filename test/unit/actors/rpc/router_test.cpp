#include "actors/rpc/router.hpp"

#include <doctest/doctest.h>

#include "actors/roles/no_leader.hpp"
#include "runtime/base/log.hpp"
#include "schema/rpc.capnp.h"
#include "test/support/anybody.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::rpc;
namespace wire = nomad::schema::rpc;

namespace {

net::RpcPeer peer(net::RpcRole role, const std::string& region = "global") {
  net::RpcPeer peer;
  peer.remote = "10.0.0.7:4711";
  peer.is_tls = true;
  peer.hello = {.role = role, .region = region, .name = "n1"};
  peer.certificate.names = {net::certificate_name(role, region)};
  return peer;
}

/// Who that is for `may_call`.
Caller caller(net::RpcRole role, const std::string& region = "global") {
  Caller caller;
  caller.peer = access::PeerIdentity{role, region, true};
  return caller;
}

/// Asks the router and returns what it answered at once.
std::optional<Result<Bytes>> ask(const MethodRouter& router,
                                 const net::RpcPeer& peer,
                                 Method method,
                                 Bytes body,
                                 const std::string& region = "global",
                                 const Credentials& credentials = {}) {
  auto answer = std::make_shared<std::optional<Result<Bytes>>>();
  Inbound inbound;
  inbound.envelope.method = method;
  inbound.envelope.region = region;
  inbound.envelope.credentials = credentials;
  inbound.body = std::move(body);
  inbound.reply = ReplyTo{[answer](Result<Bytes> outcome) { answer->emplace(std::move(outcome)); }};
  router.serve(peer, std::move(inbound));
  return *answer;
}

Bytes has_node(const std::string& id) {
  return make_body<wire::HasNodeRequest>([&](auto& request) { request.setNodeId(text(id)); });
}

MethodRouter example() {
  MethodRouter router{"global", test::open_to_all()};
  router.on<wire::HasNodeRequest, wire::HasNodeReply>(
      Method::server_has_node, [](const Caller&, const Object<wire::HasNodeRequest>& request,
                                  const Answer<wire::HasNodeReply>& answer) {
        if (request->getNodeId().size() == 0) return;  // forgets to answer
        answer.with([&](auto& reply) { reply.setConnected(view(request->getNodeId()) == "here"); });
      });
  return router;
}

}  // namespace

TEST_CASE("router: a handler gets its caller and a checked request, and answers") {
  const auto router = example();
  const auto answer
      = ask(router, peer(net::RpcRole::server), Method::server_has_node, has_node("here"));
  REQUIRE(answer);
  const auto reply = Object<wire::HasNodeReply>::from_bytes(answer->value().view());
  CHECK(reply.value()->getConnected());
}

TEST_CASE("router: nobody gets through without access") {
  const auto router = example();
  Caller nobody;
  CHECK(ask(router, peer(net::RpcRole::client), Method::server_has_node, has_node("here"))->error()
        == Error{Errc::permission_denied, "Permission denied"});

  const auto client = caller(net::RpcRole::client);
  CHECK(may_call(nobody, Access::anyone, "global"));
  CHECK_FALSE(may_call(nobody, Access::cluster_peer, "global"));
  CHECK(may_call(client, Access::cluster_peer, "global"));
  CHECK_FALSE(may_call(client, Access::node, "global"));
  auto node = client;
  node.node = access::NodeIdentity{"n"};
  CHECK(may_call(node, Access::node, "global"));
  CHECK_FALSE(may_call(node, Access::server, "global"));
}

TEST_CASE("router: what is between servers of a region is closed to servers of another") {
  const auto router = example();
  const auto foreign = peer(net::RpcRole::server, "eu");
  const auto other = caller(net::RpcRole::server, "eu");
  std::string logged;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { logged += line; });
  CHECK(ask(router, foreign, Method::server_has_node, has_node("here"))->error()
        == Error{Errc::permission_denied, "Permission denied"});
  log::remove_listener(listener);
  CHECK(logged.find(R"(it is a server of region \"eu\", this is \"global\")") != std::string::npos);

  // Naming the region that it is to be served in, or the server's own, changes nothing.
  CHECK(ask(router, foreign, Method::server_has_node, has_node("here"), "eu")->error().code
        == Errc::permission_denied);
  for (const auto method :
       {Method::raft_message, Method::server_has_node, Method::server_write_sealed,
        Method::api_on_node, Method::server_ask_node, Method::node_question}) {
    CAPTURE(info(method).name);
    CHECK_FALSE(may_call(other, info(method).access, "global"));
    CHECK(may_call(caller(net::RpcRole::server), info(method).access, "global"));
    CHECK_FALSE(may_call(caller(net::RpcRole::client), info(method).access, "global"));
  }
  // Nor has it nodes here: who registers one gets jobs with all that they say.
  for (const auto method : {Method::node_register, Method::node_update_status,
                            Method::node_get_client_allocs, Method::node_update_alloc}) {
    CAPTURE(info(method).name);
    CHECK_FALSE(may_call(other, info(method).access, "global"));
    CHECK(may_call(caller(net::RpcRole::server), info(method).access, "global"));  // sends it on
    CHECK(may_call(caller(net::RpcRole::client), info(method).access, "global"));
  }
  for (const auto method : {Method::member_join, Method::member_exchange, Method::member_probe,
                            Method::member_leave, Method::api_forward}) {
    CAPTURE(info(method).name);
    CHECK(may_call(other, info(method).access, "global"));
  }
}

TEST_CASE("router: unknown methods, malformed bodies and forgotten answers are errors") {
  const auto router = example();
  const auto server = peer(net::RpcRole::server);
  CHECK(ask(router, server, static_cast<Method>(9999), {})->error()
        == Error{Errc::not_found, "rpc: can't find method 9999"});
  CHECK(ask(router, server, Method::status_ping, {})->error()
        == Error{Errc::not_found, "rpc: can't find method Status.Ping"});
  CHECK(ask(router, server, Method::server_has_node, Bytes::copy("12345678"))->error().code
        == Errc::corrupt);
  CHECK(ask(router, server, Method::server_has_node, has_node(""))->error()
        == Error{Errc::internal, "the request was not answered"});
}

TEST_CASE("router: what another server must serve is sent on") {
  MethodRouter router{"global", test::open_to_all()};
  bool leads = false;
  int served = 0;
  std::string sent_to;
  router.on_raw(Method::node_update_status, [&](const Caller&, const Inbound& inbound) {
    ++served;
    inbound.reply(Bytes{});
  });
  router.set_is_leader([&] { return leads; });
  const auto client = peer(net::RpcRole::client);
  CHECK(ask(router, client, Method::node_update_status, {})->error() == no_leader());
  CHECK(ask(router, client, Method::node_update_status, {}, "eu")->error()
        == Error{Errc::unavailable, "No path to region"});

  router.set_forward([&](const Caller&, const Inbound& inbound) {
    sent_to = inbound.envelope.region;
    inbound.reply(Bytes{});
  });
  CHECK(ask(router, client, Method::node_update_status, {})->has_value());
  CHECK(sent_to == "global");
  CHECK(ask(router, client, Method::node_update_status, {}, "eu")->has_value());
  CHECK(sent_to == "eu");
  CHECK(served == 0);
  leads = true;
  CHECK(ask(router, client, Method::node_update_status, {})->has_value());
  CHECK(served == 1);
}

TEST_CASE("router: every part of a caller is proven by this request") {
  const auto authenticator = access::Authenticator::make(
      {.enforces = false, .lookup = {.is_node = [](std::string_view id, std::string_view secret) {
                            return id == "n1" && secret == "s1";
                          }}});
  MethodRouter router{"global", authenticator};
  std::optional<Caller> seen;
  router.on_raw(Method::status_ping, [&](const Caller& caller, const Inbound& inbound) {
    seen = caller;
    inbound.reply(Bytes{});
  });
  const auto caller_of = [&](const net::RpcPeer& from, const Credentials& credentials) {
    seen.reset();
    CHECK(ask(router, from, Method::status_ping, {}, "global", credentials)->has_value());
    return seen.value();
  };
  auto client = peer(net::RpcRole::client);
  CHECK(caller_of(client, {}).peer->is_proven);
  client.certificate.names = {"client.eu.nomad"};
  CHECK_FALSE(caller_of(client, {}).peer->is_proven);
  client.certificate.names = {"client.global.nomad"};
  client.is_tls = false;

  const auto plain = caller_of(client, {});
  CHECK_FALSE(plain.node);  // the name in the hello is no identity
  CHECK_FALSE(plain.peer->is_proven);
  CHECK(plain.is_anonymous());
  CHECK(caller_of(client, {"", "n1", "s1"}).is_node("n1"));
  CHECK_FALSE(caller_of(client, {"", "n1", "s2"}).node);
  CHECK_FALSE(caller_of(client, {"", "n2", ""}).node);
  CHECK_FALSE(caller_of(client, {"", "n2", "s1"}).node);
  CHECK_FALSE(caller_of(client, {"s1", "n1", ""}).node);
  CHECK(caller_of(client, {"token", "", ""}).token->secret == SecretText{"token"});
}

TEST_CASE("router: the address of a first caller is believed of servers only") {
  MethodRouter router{"global", test::open_to_all()};
  std::string remote;
  router.on_raw(Method::status_ping,
                [&](const Caller& caller, const Inbound&) { remote = caller.remote; });
  for (const auto role : {net::RpcRole::server, net::RpcRole::client}) {
    Inbound inbound;
    inbound.envelope.method = Method::status_ping;
    inbound.envelope.region = "global";
    inbound.envelope.first_remote = "192.0.2.1:99";
    router.serve(peer(role), inbound);
    CHECK(remote == (role == net::RpcRole::server ? "192.0.2.1:99" : "10.0.0.7:4711"));
  }
}

TEST_CASE("router: a token is looked up where its request is served, before the handler runs") {
  access::Lookup::Found answer;
  const auto authenticator = access::Authenticator::make(
      {.lookup = {.here = [](std::string_view token) -> std::optional<Result<access::Grant>> {
                    if (token == "late") return {};
                    if (token == "good")
                      return access::Grant{.rights = access::Rights::everything()};
                    if (token.empty()) return access::Grant{};
                    return access::permission_denied();
                  },
                  .elsewhere = [&](const SecretText&,
                                   access::Lookup::Found found) { answer = std::move(found); }}});
  MethodRouter router{"global", authenticator};
  int served = 0;
  router.on_raw(Method::status_ping, [&](const access::Principal& who, const Inbound& inbound) {
    ++served;
    inbound.reply(authorize(who, access::Capability::management, {}) ? Bytes::copy("all")
                                                                     : Bytes{});
  });
  const auto server = peer(net::RpcRole::server);
  const auto with = [&](const std::string& token) {
    return ask(router, server, Method::status_ping, {}, "global", {.token = token});
  };
  CHECK(with("good")->value().text() == "all");
  CHECK(with("")->value().text().empty());
  CHECK(with("bad")->error() == access::permission_denied());
  CHECK(served == 2);
  CHECK_FALSE(with("late").has_value());
  CHECK(served == 2);
  answer(access::Grant{.rights = access::Rights::everything()});
  CHECK(served == 3);
  CHECK(with("late")->value().text() == "all");  // it is kept

  // Who takes no Principal, or looks up himself, is kept from nothing by any token.
  router.on_raw(Method::raft_message,
                [&](const Caller&, const Inbound& inbound) { inbound.reply(Bytes{}); });
  router.on_raw(
      Method::api_forward,
      [&](const access::Principal& who, const Inbound& inbound) {
        CHECK(who.grant() == nullptr);
        inbound.reply(Bytes{});
      },
      LookUp::by_handler);
  for (const auto method : {Method::raft_message, Method::api_forward})
    for (const auto* token : {"bad", "late", "good", ""})
      CHECK(ask(router, server, method, {}, "global", {.token = token})->has_value());

  // What goes elsewhere is passed on with its token, whatever that is: it is judged there.
  int passed_on = 0;
  router.set_forward([&](const Caller&, const Inbound& inbound) {
    ++passed_on;
    inbound.reply(Bytes{});
  });
  CHECK(ask(router, server, Method::status_ping, {}, "eu", {.token = "bad"})->has_value());
  CHECK(passed_on == 1);

  const auto is_guessing = [&](const std::string& remote) {
    return authenticator->is_guessing(authenticator->identify({.remote = remote}));
  };
  CHECK_FALSE(is_guessing(server.remote));
  for (int i = 0; i < 60; ++i)
    with("bad");
  CHECK(is_guessing(server.remote));
  CHECK_FALSE(is_guessing("192.0.2.1:99"));
}
