// RemoteRequests: serves API requests that other agents pass on, with the same routes as HTTP. On a
// server: what another server, or a client node, was asked. On a client node: what is about it.
//
// The route's operation checks the token of the request here as for any other; that another agent
// has looked at it counts for nothing.
//
// Threads: made before the transport, opened once the routes exist; thread-safe.
#pragma once

#include <memory>

#include "actors/api/forward/body_transfer.hpp"
#include "actors/rpc/router.hpp"
#include "runtime/net/http/router.hpp"

namespace nomad::api {

class RemoteRequests {
public:
  RemoteRequests();

  /// What a server serves; before `router` serves anything.
  void add_to_server(rpc::MethodRouter& router) const;

  /// What a client node serves: the requests of its own allocations and of its host.
  void add_to_client(rpc::MethodRouter& router) const;

  /// From now on; before it, and after `close`, everything is `unavailable`.
  /// Bodies that follow a request go into files of `files`, written by `run`.
  void open(net::HttpRouter routes, std::shared_ptr<net::BodyFiles> files, RunBlocking run) const;
  void close() const;

private:
  struct Service;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace nomad::api
