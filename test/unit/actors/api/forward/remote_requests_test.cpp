// Who is taken to ask when an agent passes on a user's request.
#include "actors/api/forward/remote_requests.hpp"

#include <doctest/doctest.h>

#include "actors/api/forward/api_wire.hpp"
#include "actors/api/http/caller.hpp"
#include "runtime/net/http/responder.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

/// An agent of this region, with every proof that it can have for itself.
access::Caller agent(net::RpcRole role) {
  access::Caller caller{.remote = "10.0.0.9:50000"};
  caller.peer = access::PeerIdentity{role, "global", true};
  if (role == net::RpcRole::client) caller.node = access::NodeIdentity{"n1"};
  return caller;
}

/// Who asks, for a handler of the request that `through` sends with that token.
access::Caller seen_by_handler(access::Caller through,
                               rpc::Method method,
                               const std::string& token) {
  std::optional<access::Caller> seen;
  net::HttpRouter routes;
  routes.handle("/v1/client/stats", [&](net::Responder responder) {
    seen = caller_of(responder.request());
    responder.send({.status = 200});
  });
  const RemoteRequests requests;
  requests.open(std::move(routes), nullptr, [](std::function<void()>&) { return false; });
  rpc::MethodRouter router{"global"};
  requests.add_to_server(router);
  requests.add_to_client(router);

  net::Request request;
  request.method = "GET";
  request.target = "/v1/client/stats";
  if (!token.empty()) request.add_header("X-Nomad-Token", token);
  rpc::Inbound inbound;
  inbound.envelope.method = method;
  inbound.envelope.region = "global";
  inbound.envelope.credentials.token = token;
  inbound.body = write_request(request);
  inbound.stream = std::make_shared<SilentStream>();
  inbound.on_cancelled = [](const std::function<void()>&) {};
  if (!token.empty()) through.token = access::TokenIdentity{token};
  router.serve(through, std::move(inbound));
  REQUIRE(seen.has_value());
  return *seen;
}

}  // namespace

TEST_CASE("remote_requests: a user is nobody, whoever passes on what he asks") {
  for (const auto& [role, method] : {std::pair{net::RpcRole::server, rpc::Method::api_forward},
                                     std::pair{net::RpcRole::client, rpc::Method::api_forward},
                                     std::pair{net::RpcRole::server, rpc::Method::api_on_node}}) {
    const auto caller = seen_by_handler(agent(role), method, "");
    CHECK(caller.is_anonymous());
    CHECK_FALSE(caller.peer);
    CHECK_FALSE(caller.node);
    CHECK_FALSE(caller.is_server());
    REQUIRE(caller.passed_on_by);
    CHECK(caller.passed_on_by->role == role);
    CHECK(caller.passed_on_by->is_proven);
    CHECK(caller.remote == "10.0.0.9:50000");
  }
}

TEST_CASE("remote_requests: a user's token arrives") {
  const auto caller
      = seen_by_handler(agent(net::RpcRole::server), rpc::Method::api_forward, "s3cret");
  REQUIRE(caller.token);
  CHECK(caller.token->secret == "s3cret");
  CHECK_FALSE(caller.is_anonymous());
  CHECK_FALSE(caller.is_server());
  CHECK(caller.describe() == "token of 10.0.0.9:50000");
}

TEST_CASE("caller_of: a user of the own HTTP server has an address and perhaps a token") {
  net::Request request;
  request.remote = "127.0.0.1:4000";
  CHECK(caller_of(request).is_anonymous());
  CHECK(caller_of(request).remote == "127.0.0.1:4000");
  request.add_header("Authorization", "bearer  abc ");
  CHECK(caller_of(request).token->secret == "abc");
  request.add_header("X-Nomad-Token", "first");
  CHECK(caller_of(request).token->secret == "first");
}
