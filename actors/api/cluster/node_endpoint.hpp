// Lists of nodes, which those of a pool are, too.
#pragma once

#include <functional>

#include "actors/api/cluster/node_json.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/list.hpp"

namespace nomad::api {

/// What a list of nodes is to show besides: the query's `resources` and `os`.
Result<NodeStubOptions> node_stub_options(const net::Request& request);

/// The list of all nodes, or of those that `wanted` likes.
Read node_list(const ReadOptions& options,
               const NodeStubOptions& stub,
               RowFilter filter,
               std::function<bool(schema::Node::Reader)> wanted);

}  // namespace nomad::api
