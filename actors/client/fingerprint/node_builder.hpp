// From what was found out about this machine and its drivers to the node record that the servers
// get. Values in, one object out.
#pragma once

#include <string>

#include "actors/client/client_options.hpp"
#include "actors/client/drivers/driver_manager.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/node_meta.hpp"
#include "schema/node.capnp.h"

namespace nomad::client {

struct CsiStandings;

struct NodeIdentity {
  std::string id;
  std::string secret;
};

/// The metadata of the configuration, and what Nomad adds where that is silent.
workload::NodeMeta fixed_meta(const ClientOptions& options);

/// Of `drivers` those that the node may use count. Attribute `driver.<name>` is "1" for those
/// that were detected.
Object<schema::Node> build_node(const ClientOptions& options,
                                const NodeIdentity& identity,
                                const host::NodeFacts& facts,
                                const KnownDrivers& drivers,
                                const workload::NodeMeta& meta,
                                const CsiStandings& csi,
                                std::int64_t unix_now);

/// Whether the lists `<kind>.allowlist` and `<kind>.denylist` of the options let `name` pass.
bool is_allowed(const ClientOptions& options, const std::string& kind, const std::string& name);

/// A comma-separated list, blanks around its entries removed.
std::vector<std::string> split_list(std::string_view text);

}  // namespace nomad::client
