// Devices: which instances of a node's devices a task gets.
//
// May depend on: runtime/state. A request names "type", "vendor/type" or "vendor/type/name".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/state/usage.hpp"
#include "schema/node.capnp.h"

namespace nomad::scheduler {

/// Instances of one device group, for one request.
struct AssignedDevice {
  schema::NodeDeviceGroup::Reader group;
  std::vector<std::string_view> ids;

  /// As state::NodeUsage names an instance: "vendor/type/name/id".
  std::string usage_key(std::string_view id) const;
};

/// Whether the node has enough healthy instances for all requests of the group together, whatever
/// is in use.
bool has_devices(schema::Node::Reader node, const GroupSpec& group);

/// Free healthy instances for `request`, neither in use nor among `offered` (usage keys).
std::optional<AssignedDevice> assign_device(schema::Node::Reader node,
                                            schema::RequestedDevice::Reader request,
                                            const state::NodeUsage& usage,
                                            const std::vector<std::string>& offered);

}  // namespace nomad::scheduler
