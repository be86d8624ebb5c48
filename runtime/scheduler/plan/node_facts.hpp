// Facts about a node that constraints, placement and blocking look at.
//
// May depend on: runtime/object. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/object.hpp"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::scheduler {

/// Ready, eligible and not draining: may get allocations.
bool is_ready(schema::Node::Reader node);

/// The value of one side of a constraint: itself if it is no `${…}`, else the node's fact of that
/// name: node.unique.id, node.unique.name, node.datacenter, node.class, node.pool, attr.*, meta.*.
/// Nothing when the node has no such fact.
std::optional<std::string_view> resolve_target(std::string_view target, schema::Node::Reader node);

/// `text` with each `${…}` that `resolve_target` knows replaced by its value.
std::string interpolate(std::string_view text, schema::Node::Reader node);

/// Whether the target's value differs between nodes of one computed class.
bool target_escapes_class(std::string_view target);

/// The names of those that are there and work, of what the node says of its drivers.
std::vector<std::string_view> usable_drivers(schema::Node::Reader node);

/// "v1:" and a hash of all that is not unique to the node: nodes of one class are alike to every
/// constraint that does not escape it, and to every task's driver.
std::string computed_class(schema::Node::Reader node);

/// Whether `text` matches a pattern in which `*` stands for anything.
bool matches_glob(std::string_view pattern, std::string_view text);

bool is_in_pool(schema::Node::Reader node, schema::Job::Reader job);

bool is_in_datacenter(std::string_view name, schema::Job::Reader job);

/// Whether the node is in one of the job's datacenters and in its pool.
bool is_in_job_scope(schema::Node::Reader node, schema::Job::Reader job);

/// Whether the driver is there and works.
bool has_driver(schema::Node::Reader node, std::string_view driver);

}  // namespace nomad::scheduler
