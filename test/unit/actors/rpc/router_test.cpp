#include "actors/rpc/router.hpp"

#include <doctest/doctest.h>

#include "actors/roles/no_leader.hpp"
#include "actors/rpc/tcp_transport.hpp"
#include "runtime/base/log.hpp"
#include "schema/rpc.capnp.h"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::rpc;
namespace wire = nomad::schema::rpc;

namespace {

Caller peer(net::RpcRole role, const std::string& region = "global") {
  Caller caller;
  caller.remote = "10.0.0.7:4711";
  caller.peer = access::PeerIdentity{role, region, true};
  return caller;
}

/// Asks the router and returns what it answered at once.
std::optional<Result<Bytes>> ask(const MethodRouter& router,
                                 const Caller& caller,
                                 Method method,
                                 Bytes body,
                                 const std::string& region = "global") {
  auto answer = std::make_shared<std::optional<Result<Bytes>>>();
  Inbound inbound;
  inbound.envelope.method = method;
  inbound.envelope.region = region;
  inbound.body = std::move(body);
  inbound.reply = ReplyTo{[answer](Result<Bytes> outcome) { answer->emplace(std::move(outcome)); }};
  router.serve(caller, std::move(inbound));
  return *answer;
}

Bytes has_node(const std::string& id) {
  return make_body<wire::HasNodeRequest>([&](auto& request) { request.setNodeId(text(id)); });
}

MethodRouter example() {
  MethodRouter router{"global"};
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
  CHECK(ask(router, nobody, Method::server_has_node, has_node("here"))->error().code
        == Errc::permission_denied);

  const auto client = peer(net::RpcRole::client);
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
  std::string logged;
  const auto listener = log::add_listener(
      log::Level::warn, [&](log::Level, const std::string& line) { logged += line; });
  CHECK(ask(router, foreign, Method::server_has_node, has_node("here"))->error()
        == Error{Errc::permission_denied, "Permission denied"});
  log::remove_listener(listener);
  CHECK(logged.find("it is a server of region \"eu\", this is \"global\"") != std::string::npos);

  // Naming the region that it is to be served in, or the server's own, changes nothing.
  CHECK(ask(router, foreign, Method::server_has_node, has_node("here"), "eu")->error().code
        == Errc::permission_denied);
  for (const auto method : {Method::raft_message, Method::server_has_node,
                            Method::server_write_sealed, Method::api_on_node}) {
    CAPTURE(info(method).name);
    CHECK_FALSE(may_call(foreign, info(method).access, "global"));
    CHECK(may_call(peer(net::RpcRole::server), info(method).access, "global"));
    CHECK_FALSE(may_call(peer(net::RpcRole::client), info(method).access, "global"));
  }
  // Nor has it nodes here: who registers one gets jobs with all that they say.
  for (const auto method : {Method::node_register, Method::node_update_status,
                            Method::node_get_client_allocs, Method::node_update_alloc}) {
    CAPTURE(info(method).name);
    CHECK_FALSE(may_call(foreign, info(method).access, "global"));
    CHECK(may_call(peer(net::RpcRole::server), info(method).access, "global"));  // sends it on
    CHECK(may_call(peer(net::RpcRole::client), info(method).access, "global"));
  }
  for (const auto method : {Method::member_join, Method::member_exchange, Method::member_probe,
                            Method::member_leave, Method::api_forward}) {
    CAPTURE(info(method).name);
    CHECK(may_call(foreign, info(method).access, "global"));
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
  MethodRouter router{"global"};
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

TEST_CASE("identify: every part of a caller is proven by this request") {
  const auto secret_of = [](const std::string& id) { return id == "n1" ? "s1" : std::string{}; };
  net::RpcPeer client;
  client.remote = "10.0.0.7:4711";
  client.hello = {.role = net::RpcRole::client, .region = "global", .name = "n1"};

  const auto plain = identify(client, {}, secret_of);
  CHECK_FALSE(plain.node);  // the name in the hello is no identity
  CHECK_FALSE(plain.peer->is_proven);
  CHECK(plain.is_anonymous());
  CHECK(identify(client, {"", "n1", "s1"}, secret_of).is_node("n1"));
  CHECK_FALSE(identify(client, {"", "n1", "s2"}, secret_of).node);
  CHECK_FALSE(identify(client, {"", "n2", ""}, secret_of).node);
  CHECK_FALSE(identify(client, {"", "n2", "anything"}, secret_of).node);

  client.is_tls = true;
  client.certificate.names = {"client.global.nomad"};
  const auto proven = identify(client, {"token", "", ""}, secret_of);
  CHECK(proven.peer->is_proven);
  CHECK(proven.token->secret == "token");
  CHECK_FALSE(proven.is_server());
}
