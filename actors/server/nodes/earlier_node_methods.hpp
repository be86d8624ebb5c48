// The methods by which client nodes of releases before the door asked (numbers 30 to 39): each
// becomes the door's question, and its answer the reply that they know. For one release, so that
// servers can be upgraded before their clients; then this file, its source and the requests in
// schema/rpc.capnp go.
#pragma once

#include "actors/server/nodes/node_service.hpp"

namespace nomad::server {

void add_earlier_node_methods(rpc::MethodRouter& router, const NodeService& service);

}  // namespace nomad::server
