// Who is taken to ask when an agent passes on a user's request.
#include "actors/api/forward/remote_requests.hpp"

#include <doctest/doctest.h>

#include "actors/api/forward/api_wire.hpp"
#include "actors/api/http/presented.hpp"
#include "runtime/net/http/responder.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

/// An agent of this region, with every proof that it can have for itself.
net::RpcPeer agent(net::RpcRole role) {
  net::RpcPeer peer;
  peer.remote = "10.0.0.9:50000";
  peer.is_tls = true;
  peer.hello = {.role = role, .region = "global", .name = "n1"};
  peer.certificate.names = {net::certificate_name(role, "global")};
  return peer;
}

/// Who asks, for a handler of the request that `through` sends with that token in its head, and
/// with this one among the headers.
access::Caller seen_by_handler(const net::RpcPeer& through,
                               rpc::Method method,
                               const std::string& token,
                               const std::string& header) {
  const auto authenticator = access::Authenticator::make(
      {.enforces = false, .lookup = {.is_node = [](std::string_view id, std::string_view secret) {
                            return id == "n1" && secret == "s1";
                          }}});
  std::optional<access::Caller> seen;
  net::HttpRouter routes;
  routes.handle("/v1/client/stats", [&](net::Responder responder) {
    seen = sender_of(responder.request(), *authenticator).caller();
    responder.send({.status = 200});
  });
  const RemoteRequests requests;
  requests.open(std::move(routes), nullptr, [](std::function<void()>&) { return false; });
  rpc::MethodRouter router{"global", authenticator};
  requests.add_to_server(router);
  requests.add_to_client(router);

  net::Request request;
  request.method = "GET";
  request.target = "/v1/client/stats";
  if (!header.empty()) request.add_header("X-Nomad-Token", header);
  rpc::Inbound inbound;
  inbound.envelope.method = method;
  inbound.envelope.region = "global";
  inbound.envelope.credentials
      = {.token = token, .node_id = "n1", .node_secret = "s1", .limits = "node:n2"};
  inbound.body = write_request(request);
  inbound.stream = std::make_shared<SilentStream>();
  inbound.on_cancelled = [](const std::function<void()>&) {};
  router.serve(through, std::move(inbound));
  REQUIRE(seen.has_value());
  return *seen;
}

/// Keeps what is answered.
struct PlayedAnswer : net::RpcStream {
  bool write(Bytes bytes) override {
    sent += bytes.text();
    return true;
  }

  void end() override {}

  void on_data(std::function<void(Bytes, bool)>) override {}

  void taken(std::size_t) override {}

  void on_writable(std::function<void()>) override {}

  void on_closed(std::function<void()>) override {}

  std::string sent;
};

}  // namespace

TEST_CASE("remote_requests: a user is nobody, whoever passes on what he asks") {
  for (const auto& [role, method] : {std::pair{net::RpcRole::server, rpc::Method::api_forward},
                                     std::pair{net::RpcRole::client, rpc::Method::api_forward},
                                     std::pair{net::RpcRole::server, rpc::Method::api_on_node}}) {
    const auto caller = seen_by_handler(agent(role), method, "", "");
    CHECK(caller.is_anonymous());
    CHECK_FALSE(caller.peer);
    CHECK_FALSE(caller.node);
    CHECK_FALSE(caller.is_server());
    REQUIRE(caller.passed_on_by);
    CHECK(caller.passed_on_by->role == role);
    CHECK(caller.passed_on_by->is_proven);
    CHECK(caller.remote == "10.0.0.9:50000");
    REQUIRE(caller.limits);
    CHECK(caller.limits->text() == "node:n2");
  }
}

TEST_CASE("remote_requests: what can't be served says why") {
  const auto authenticator = access::Authenticator::make({.enforces = false, .lookup = {}});
  const RemoteRequests requests;
  rpc::MethodRouter router{"global", authenticator};
  requests.add_to_server(router);
  std::optional<Result<Bytes>> reply;
  const auto serve = [&](std::uint64_t body_length, std::shared_ptr<PlayedAnswer> stream) {
    Draft<schema::rpc::ApiRequest> request;
    request->setMethod("PUT");
    request->setTarget("/v1/jobs");
    request->setBodyLength(body_length);
    rpc::Inbound inbound;
    inbound.envelope.method = rpc::Method::api_forward;
    inbound.envelope.region = "global";
    inbound.body = Bytes::copy(request.freeze().bytes());
    inbound.stream = std::move(stream);
    inbound.reply = rpc::ReplyTo{[&](Result<Bytes> outcome) { reply = std::move(outcome); }};
    inbound.on_cancelled = [](const std::function<void()>&) {};
    router.serve(agent(net::RpcRole::server), std::move(inbound));
  };

  serve(0, nullptr);
  REQUIRE(reply);
  CHECK(reply->error() == Error{Errc::unavailable, "the agent is starting"});
  requests.open(net::HttpRouter{}, nullptr, [](std::function<void()>&) { return false; });
  serve(0, nullptr);
  CHECK(reply->error() == Error{Errc::invalid_argument, "the answer needs a byte stream"});
  const auto stream = std::make_shared<PlayedAnswer>();
  serve(7, stream);
  CHECK_MESSAGE(stream->sent.ends_with("no body can follow this request"), stream->sent);
}

TEST_CASE("remote_requests: a user's token arrives, as the head of the request has it") {
  for (const auto* header : {"s3cret", "other", ""}) {
    const auto caller
        = seen_by_handler(agent(net::RpcRole::server), rpc::Method::api_forward, "s3cret", header);
    REQUIRE(caller.token);
    CHECK(caller.token->secret == SecretText{"s3cret"});
    CHECK_FALSE(caller.is_anonymous());
    CHECK_FALSE(caller.is_server());
    CHECK(caller.describe() == "token of 10.0.0.9:50000");
  }
  CHECK_FALSE(
      seen_by_handler(agent(net::RpcRole::server), rpc::Method::api_forward, "", "other").token);
}

TEST_CASE("presented_by: a user of the own HTTP server has an address and perhaps a token") {
  net::Request request;
  request.remote = "127.0.0.1:4000";
  CHECK(presented_by(request).credentials.token.empty());
  CHECK(presented_by(request).remote == "127.0.0.1:4000");
  request.add_header("Authorization", "bearer  abc ");
  CHECK(presented_by(request).credentials.token == "abc");
  request.add_header("X-Nomad-Token", "first");
  CHECK(presented_by(request).credentials.token == "first");
  CHECK_FALSE(presented_by(request).needs_token);
  request.needs_token = true;
  CHECK(presented_by(request).needs_token);
}
