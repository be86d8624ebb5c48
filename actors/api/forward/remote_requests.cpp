#include "actors/api/forward/remote_requests.hpp"

#include <mutex>
#include <utility>

#include "actors/api/forward/api_wire.hpp"
#include "actors/api/forward/stream_exchange.hpp"
#include "actors/api/http/answer.hpp"
#include "runtime/base/log.hpp"

namespace nomad::api {

/// What requests are served with.
struct RemoteRequests::Service {
  net::HttpRouter routes;
  std::shared_ptr<net::BodyFiles> files;  ///< May be null.
  RunBlocking run;
};

struct RemoteRequests::Shared {
  std::mutex guard;
  std::shared_ptr<const Service> service;

  std::shared_ptr<const Service> open_service() {
    const std::scoped_lock lock{guard};
    return service;
  }
};

namespace {

using schema::rpc::ApiRequest;

/// What a server may ask of a client node, whatever other routes the node has.
bool is_about_node(std::string_view path) {
  return path.starts_with("/v1/client/") || path == "/v1/agent/monitor"
         || path == "/v1/agent/actors" || path == "/v1/agent/plugins"
         || (path.starts_with("/v1/allocation/") && path.ends_with("/checks"))
         || (path.starts_with("/v1/job/") && path.ends_with("/action"));
}

void refuse_forwarded(StreamExchange& exchange, const Error& error) {
  exchange.send(to_response(Answer::error(error), exchange.request));
}

/// Serves `exchange` when all of its body is here.
template <class ServiceRef>
void take_body(const ServiceRef& service,
               const std::shared_ptr<StreamExchange>& exchange,
               const std::shared_ptr<net::RpcStream>& stream,
               std::uint64_t length) {
  if (!service->files || !service->files->wants(exchange->request))
    return refuse_forwarded(*exchange, {Errc::invalid_argument, "no body can follow this request"});
  if (length > service->files->options().most_bytes)
    return refuse_forwarded(*exchange, {Errc::too_large, "the body is too large"});
  auto file = service->files->make();
  if (!file) return refuse_forwarded(*exchange, file.error());
  receive_body(stream, *file, service->run,
               [service, exchange, file = *file, length](const Result<>& outcome) {
                 if (!outcome) return refuse_forwarded(*exchange, outcome.error());
                 if (file->size() != length)
                   return refuse_forwarded(*exchange, {Errc::io, "the body broke off"});
                 exchange->request.body_file = file;
                 net::serve(service->routes, net::Responder{exchange});
               });
}

template <class SharedRef>
void serve(const SharedRef& shared,
           const access::Principal& agent,
           const Object<ApiRequest>& from,
           const rpc::Inbound& inbound,
           bool for_this_node) {
  const auto& caller = agent.caller();
  const auto service = shared->open_service();
  if (!service) return inbound.reply(Error{Errc::unavailable, "the agent is starting"});
  if (!inbound.stream)
    return inbound.reply(Error{Errc::invalid_argument, "the answer needs a byte stream"});
  const auto exchange = StreamExchange::make(inbound);
  auto& request = exchange->request;
  if (const auto read = read_request(*from, request); !read) {
    log::warn("rpc", "refused a request", {{"peer", caller.describe()}, {"error", read.error()}});
    return inbound.reply(read.error());
  }
  if (for_this_node && !is_about_node(request.path)) {
    log::warn("rpc", "refused a request that is not about this node",
              {{"peer", caller.describe()}, {"method", request.method}});
    return inbound.reply(Error{Errc::permission_denied, "Permission denied"});
  }
  request.remote = caller.remote;
  request.who = std::make_shared<const access::Principal>(agent.behind());
  request.received = std::chrono::steady_clock::now();
  request.hops = std::max<std::uint8_t>(inbound.envelope.hops, 1);
  request.is_for_this_node = for_this_node;
  request.target_node = inbound.envelope.target_node;
  if (const auto length = from->getBodyLength(); length > 0)
    return take_body(service, exchange, inbound.stream, length);
  net::serve(service->routes, net::Responder{exchange});
}

}  // namespace

RemoteRequests::RemoteRequests() : shared_{std::make_shared<Shared>()} {}

void RemoteRequests::add_to_server(rpc::MethodRouter& router) const {
  router.on_inbound<ApiRequest>(
      rpc::Method::api_forward,
      [shared = shared_](const access::Principal& agent, const Object<ApiRequest>& request,
                         const rpc::Inbound& inbound) {
        serve(shared, agent, request, inbound, false);
      },
      rpc::LookUp::by_handler);
}

void RemoteRequests::add_to_client(rpc::MethodRouter& router) const {
  router.on_inbound<ApiRequest>(
      rpc::Method::api_on_node,
      [shared = shared_](const access::Principal& agent, const Object<ApiRequest>& request,
                         const rpc::Inbound& inbound) {
        serve(shared, agent, request, inbound, true);
      },
      rpc::LookUp::by_handler);
}

void RemoteRequests::open(net::HttpRouter routes,
                          std::shared_ptr<net::BodyFiles> files,
                          RunBlocking run) const {
  auto service = std::make_shared<const Service>(
      Service{std::move(routes), std::move(files), std::move(run)});
  const std::scoped_lock lock{shared_->guard};
  shared_->service = std::move(service);
}

void RemoteRequests::close() const {
  const std::scoped_lock lock{shared_->guard};
  shared_->service.reset();
}

}  // namespace nomad::api
