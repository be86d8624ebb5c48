#include "actors/rpc/tcp_transport.hpp"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "schema/rpc.capnp.h"
#include "test/support/eventually.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::rpc;
using namespace std::chrono_literals;
using transport::Call;
using transport::Delivery;
using transport::Reply;
namespace wire = nomad::schema::rpc;

namespace {

/// Two processes in one: a server that listens and a client that dials.
struct Pair {
  Pair() {
    const auto authenticator = access::Authenticator::make(
        {.enforces = false, .lookup = {.is_node = [](std::string_view id, std::string_view secret) {
                              return id == "n1" && secret == "s1";
                            }}});
    auto router = std::make_shared<MethodRouter>("global", authenticator);
    router->on_inbound<wire::NodeUpdateStatusRequest>(
        Method::node_update_status,
        [this](const Caller& caller, const Object<wire::NodeUpdateStatusRequest>& request,
               const Inbound& inbound) {
          const auto id = copy(request->getNodeId());
          if (!caller.is_node(id))
            return inbound.reply(Error{Errc::permission_denied, "Permission denied"});
          actor::tell(server->handle(), transport::NoteNode{id, inbound.connection});
          of_node = inbound.connection;
          inbound.reply(make_body<wire::NodeLeaseReply>([](auto& reply) { reply.setTtlMs(7); }));
        });
    router->on_one_way(Method::raft_message, [this](const Caller& caller, const Bytes& body) {
      CHECK(caller.is_server());
      posts += static_cast<int>(body.size());
      test::note_change();
    });
    router->on_raw(Method::status_ping, [](const Caller&, Inbound) {});
    TcpTransportOptions options;
    options.network.hello = {.role = net::RpcRole::server, .region = "global", .name = "server"};
    options.listen = "127.0.0.1:0";
    server.emplace(TcpTransport::start(system, options, router).value());

    auto on_node = std::make_shared<MethodRouter>("global", authenticator);
    on_node->on_raw(Method::api_on_node, [](const Caller& caller, const Inbound& inbound) {
      inbound.reply(Bytes::copy(caller.is_server() ? "from the node" : "who are you"));
    });
    TcpTransportOptions dialer;
    dialer.network.hello = {.role = net::RpcRole::client, .region = "global", .name = "n1"};
    client.emplace(TcpTransport::start(system, dialer, on_node).value());
    dialer.network.hello.role = net::RpcRole::server;
    other_server.emplace(TcpTransport::start(system, dialer, on_node).value());
  }

  ~Pair() {
    other_server->stop();
    client->stop();
    server->stop();
  }

  template <class Answer, class Message>
  Result<Answer> ask(const Transport& to, Message msg) {
    actor::BlockingAsker self{system};
    Result<Answer> outcome = Error{};
    self.request(to, 20s, std::move(msg))
        .receive([&](Answer& answer) { outcome = std::move(answer); },
                 [&](const Error& err) { outcome = err; });
    return outcome;
  }

  Call heartbeat(const std::string& id, const std::string& secret) const {
    Call call;
    call.to = {.address = server->address()};
    call.method = Method::node_update_status;
    call.credentials = {"", id, secret};
    call.body = make_body<wire::NodeUpdateStatusRequest>(
        [&](auto& request) { request.setNodeId(text(id)); });
    return call;
  }

  /// Ends a transport's state by an exception, in the middle of a post to the server.
  void crash(const TcpTransport& transport) {
    auto told = std::make_shared<std::promise<void>>();
    auto fate = told->get_future();
    transport::Post post{.to = {.address = server->address()}};
    post.done = [told = std::exchange(told, {})](const Result<>&) { told->set_value(); };
    post.on_connection = [](const net::RpcConnectionRef&) { throw std::runtime_error{"a bug"}; };
    actor::tell(transport.handle(), std::move(post));
    CHECK_THROWS_AS(fate.get(), std::future_error);  // it was dropped
  }

  actor::SystemConfig config;
  actor::System system{config};
  std::atomic<int> posts{0};
  net::RpcConnectionRef of_node;  ///< The last one that a node has proven itself by.
  std::optional<TcpTransport> server;
  std::optional<TcpTransport> client;
  std::optional<TcpTransport> other_server;
};

}  // namespace

TEST_CASE("tcp_transport: a call reaches its handler with the identity its secret proves") {
  Pair pair;
  const auto good = pair.ask<Reply>(pair.client->handle(), pair.heartbeat("n1", "s1")).value();
  REQUIRE(good.outcome);
  CHECK(Object<wire::NodeLeaseReply>::from_bytes(good.outcome->view()).value()->getTtlMs() == 7);

  // The same connection, which has just been that node's, proves nothing for another request.
  const auto bad = pair.ask<Reply>(pair.client->handle(), pair.heartbeat("n1", "")).value();
  CHECK(bad.outcome.error().code == Errc::permission_denied);
  CHECK(bad.delivery == Delivery::answered);
}

TEST_CASE("tcp_transport: a server calls a node over the node's own connection") {
  Pair pair;
  Call call;
  call.method = Method::api_on_node;
  const auto before
      = pair.ask<Reply>(pair.server->handle(), transport::CallNode{"n1", call}).value();
  CHECK(before.outcome.error() == Error{Errc::not_found, "No path to node"});
  CHECK(before.delivery == Delivery::surely_not);

  REQUIRE(pair.ask<Reply>(pair.client->handle(), pair.heartbeat("n1", "s1")).value().outcome);
  const auto after
      = pair.ask<Reply>(pair.server->handle(), transport::CallNode{"n1", call}).value();
  CHECK(after.outcome.value().text() == "from the node");
  CHECK(pair.ask<transport::NodeConnected>(pair.server->handle(), transport::HasNode{"n1"})
            .value()
            .connected);
}

TEST_CASE("tcp_transport: an exception costs no connection") {
  Pair pair;
  REQUIRE(pair.ask<Reply>(pair.client->handle(), pair.heartbeat("n1", "s1")).value().outcome);
  const auto before = pair.of_node;

  pair.crash(*pair.server);
  CHECK(pair.ask<transport::NodeConnected>(pair.server->handle(), transport::HasNode{"n1"})
            .value()
            .connected);
  pair.crash(*pair.client);
  REQUIRE(pair.ask<Reply>(pair.client->handle(), pair.heartbeat("n1", "s1")).value().outcome);
  CHECK(pair.of_node == before);
}

TEST_CASE("tcp_transport: what cannot be reached surely did nothing, and fails fast") {
  Pair pair;
  Call call;
  call.to = {.address = "127.0.0.1:1"};
  const auto reply = pair.ask<Reply>(pair.client->handle(), call).value();
  CHECK(reply.outcome.error().code == Errc::unavailable);
  CHECK(reply.delivery == Delivery::surely_not);
}

TEST_CASE("tcp_transport: an unanswered call ends at its deadline, and may have arrived") {
  Pair pair;
  Call call;
  call.to = {.address = pair.server->address()};
  call.method = Method::status_ping;  // its handler here drops the request: internal
  const auto dropped = pair.ask<Reply>(pair.client->handle(), call).value();
  CHECK(dropped.outcome.error().code == Errc::internal);
}

TEST_CASE("tcp_transport: posts arrive over the connection for Raft") {
  Pair pair;
  for (int i = 0; i < 100; ++i) {
    std::promise<Result<>> posted;
    actor::tell(pair.other_server->handle(),
                transport::Post{
                    .to = {.address = pair.server->address(), .lane = Lane::raft},
                    .body = Bytes::copy("x"),
                    .done = [&posted](Result<> outcome) { posted.set_value(std::move(outcome)); }});
    REQUIRE(posted.get_future().get());
  }
  CHECK(test::eventually([&] { return pair.posts == 100; }));
}
