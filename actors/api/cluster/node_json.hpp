// Nodes as the API shows them: whole, with the legacy resources that the CLI still reads, and as
// stubs of lists.
#pragma once

#include <string>

#include "schema/node.capnp.h"

namespace nomad::api {

struct NodeStubOptions {
  bool resources = false;  ///< Adds NodeResources and ReservedResources.
  bool os = false;         ///< Adds the attribute os.name.
};

void append_node_stub(std::string& out, schema::Node::Reader node, const NodeStubOptions& options);

void append_node(std::string& out, schema::Node::Reader node);

}  // namespace nomad::api
