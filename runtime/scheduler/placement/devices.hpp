// Devices: which instances of a node's devices a task gets.
//
// May depend on: runtime/state. A request names "type", "vendor/type" or "vendor/type/name"; its
// constraints and affinities look at ${device.vendor}, ${device.type}, ${device.model},
// ${device.ids} and ${device.attr.NAME}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/operand.hpp"
#include "runtime/state/usage.hpp"
#include "schema/node.capnp.h"

namespace nomad::scheduler {

/// Instances of one device group, for one request.
struct AssignedDevice {
  schema::NodeDeviceGroup::Reader group;
  std::vector<std::string_view> ids;
  double affinity = 0;  ///< The sum of the weights of the request's affinities that it meets.

  /// As state::NodeUsage names an instance: "vendor/type/name/id".
  std::string usage_key(std::string_view id) const;
};

/// How state::NodeUsage names an instance of a group.
std::string device_key(schema::NodeDeviceGroup::Reader group, std::string_view id);

/// How many instances a request asks for.
std::size_t device_count(schema::RequestedDevice::Reader request);

/// Whether the group's devices are what is asked for, whatever is in use of them.
bool matches_device(schema::RequestedDevice::Reader request,
                    schema::NodeDeviceGroup::Reader group,
                    OperandChecker& operands);

/// The healthy instances of the group that the request's constraints on ${device.ids} allow.
std::vector<std::string_view> usable_instances(schema::RequestedDevice::Reader request,
                                               schema::NodeDeviceGroup::Reader group,
                                               OperandChecker& operands);

/// Whether the node has enough healthy instances for all requests of the group together, whatever
/// is in use.
bool has_devices(schema::Node::Reader node, const GroupSpec& group, OperandChecker& operands);

/// Free healthy instances for `request`, neither in use nor among `offered` (usage keys), of the
/// device group that meets its affinities best, the first of equal ones.
std::optional<AssignedDevice> assign_device(schema::Node::Reader node,
                                            schema::RequestedDevice::Reader request,
                                            const state::NodeUsage& usage,
                                            const std::vector<std::string>& offered,
                                            OperandChecker& operands);

}  // namespace nomad::scheduler
