#include "actors/api/remote_requests.hpp"

#include <mutex>

#include "actors/api/api_wire.hpp"
#include "actors/api/stream_exchange.hpp"
#include "runtime/base/log.hpp"

namespace nomad::api {

struct RemoteRequests::Shared {
  std::mutex guard;
  std::shared_ptr<const net::Router> routes;

  std::shared_ptr<const net::Router> open_routes() {
    const std::scoped_lock lock{guard};
    return routes;
  }
};

namespace {

using schema::rpc::ApiRequest;

/// What a server may ask of a client node, whatever other routes the node has.
bool is_about_node(std::string_view path) {
  return path.starts_with("/v1/client/") || path == "/v1/agent/monitor"
         || (path.starts_with("/v1/allocation/") && path.ends_with("/checks"));
}

template <class SharedRef>
void serve(const SharedRef& shared,
           const rpc::Caller& caller,
           const Object<ApiRequest>& from,
           const rpc::Inbound& inbound,
           bool for_this_node) {
  const auto routes = shared->open_routes();
  if (!routes) return inbound.reply(Error{Errc::unavailable, "the agent is starting"});
  if (!inbound.stream)
    return inbound.reply(Error{Errc::invalid_argument, "the answer needs a byte stream"});
  const auto exchange = StreamExchange::make(inbound);
  auto& request = exchange->request;
  if (const auto read = read_request(*from, request); !read) {
    log::warn("rpc", "refusing a request of {}: {}", caller.describe(), read.error().what);
    return inbound.reply(read.error());
  }
  if (for_this_node && !is_about_node(request.path)) {
    log::warn("rpc", "refusing {} of {}: it is not about this node", request.path,
              caller.describe());
    return inbound.reply(Error{Errc::permission_denied, "Permission denied"});
  }
  request.remote = caller.remote;
  request.received = std::chrono::steady_clock::now();
  request.hops = std::max<std::uint8_t>(inbound.envelope.hops, 1);
  request.is_for_this_node = for_this_node;
  request.target_node = inbound.envelope.target_node;
  net::serve(*routes, net::Responder{exchange});
}

}  // namespace

RemoteRequests::RemoteRequests() : shared_{std::make_shared<Shared>()} {}

void RemoteRequests::add_to_server(rpc::Router& router) const {
  router.on_inbound<ApiRequest>(
      rpc::Method::api_forward,
      [shared = shared_](const rpc::Caller& caller, const Object<ApiRequest>& request,
                         const rpc::Inbound& inbound) {
        serve(shared, caller, request, inbound, false);
      });
}

void RemoteRequests::add_to_client(rpc::Router& router) const {
  router.on_inbound<ApiRequest>(
      rpc::Method::api_on_node,
      [shared = shared_](const rpc::Caller& caller, const Object<ApiRequest>& request,
                         const rpc::Inbound& inbound) {
        serve(shared, caller, request, inbound, true);
      });
}

void RemoteRequests::open(net::Router routes) const {
  const std::scoped_lock lock{shared_->guard};
  shared_->routes = std::make_shared<const net::Router>(std::move(routes));
}

void RemoteRequests::close() const {
  const std::scoped_lock lock{shared_->guard};
  shared_->routes.reset();
}

}  // namespace nomad::api
