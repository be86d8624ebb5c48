// A CSI plugin as nodes, jobs and volumes together know it. Nobody stores one: it is there as long
// as somebody names it, and so nothing has to collect it. Of a node that is down nothing counts.
//
// Pure: of one snapshot. Costs a look at each node and job that names the plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/snapshot.hpp"
#include "schema/csi.capnp.h"

namespace nomad::state {

struct CsiPlugin {
  /// What a node says of it.
  struct Instance {
    Object<schema::Node> node;
    schema::CsiInfo::Reader info;  ///< Of `node`.
  };

  std::string id;
  std::string provider;  ///< The plugin's own name; "" while none runs.
  std::string version;
  /// Its volumes have to be attached by a controller, and validated.
  bool controller_required = false;
  std::vector<Instance> controllers;  ///< By node.
  std::vector<Instance> nodes;        ///< Likewise.
  std::int64_t controllers_healthy = 0;
  std::int64_t controllers_expected = 0;
  std::int64_t nodes_healthy = 0;
  std::int64_t nodes_expected = 0;
  Index create_index = 0;
  Index modify_index = 0;
};

/// Empty if nobody names it.
std::optional<CsiPlugin> find_csi_plugin(const Snapshot& snapshot, std::string_view id);

/// Whether volumes of it can be given to allocations only by a healthy controller: so the plugin
/// says, or said when the volume was registered. `plugin` is null when nobody names it.
bool needs_controller(schema::CsiVolume::Reader volume, const CsiPlugin* plugin);

/// Whether a controller attaches the volume to nodes, as far as is known.
bool is_attached(schema::CsiVolume::Reader volume, const CsiPlugin* plugin);

/// Whether the volume can be given to allocations now.
bool is_schedulable(schema::CsiVolume::Reader volume, const CsiPlugin* plugin);

/// What `node` says of its plugin of that id; of the kind that mounts.
std::optional<schema::CsiInfo::Reader> csi_node_plugin(schema::Node::Reader node,
                                                       std::string_view id);

}  // namespace nomad::state
