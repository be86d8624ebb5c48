// Rules: what may be against a node for a group, each as a question of its own. Feasibility asks
// them in Nomad's order and stops at the first that says no, explain asks all of them; neither has
// a rule of its own. Drivers, pools and datacenters are in plan/node_facts.hpp, devices in
// placement/devices.hpp.
//
// May depend on: runtime/state. Pure; thread-safe but for the checker that is passed in.
#pragma once

#include <string>
#include <string_view>

#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/operand.hpp"
#include "runtime/scheduler/placement/property_counts.hpp"
#include "runtime/scheduler/placement/proposal.hpp"

namespace nomad::scheduler {

/// Whether the node meets the constraint.
bool meets(const ConstraintSpec& constraint, schema::Node::Reader node, OperandChecker& operands);

/// "left operand right", as ConstraintFiltered names it.
std::string shown(const ConstraintSpec& constraint);

/// Why the node's networks do not suit the group; empty if they do.
std::string missing_network(schema::Node::Reader node, const GroupSpec& group);

/// The volume's name for the allocation "web.api[3]".
std::string source_of(const VolumeSpec& wanted, std::string_view alloc_name);

/// Whether the node has the volume, and lets it be written if that is asked for.
bool has_host_volume(schema::Node::Reader node,
                     const VolumeSpec& wanted,
                     std::string_view alloc_name);

/// The word for a CSI volume that there is not.
std::string missing_csi_volume(const VolumeSpec& wanted, std::string_view alloc_name);

/// Whether the node holds an allocation beside which there may be no other.
bool breaks_distinct_hosts(const GroupSpec& group, const JobUsage& here);

/// Why there are too many of the job where the node's property has its value; empty if there are
/// not. `counts` are of this property.
std::string breaks_distinct_property(schema::Node::Reader node,
                                     const DistinctProperty& property,
                                     const PropertyCounts& counts);

}  // namespace nomad::scheduler
