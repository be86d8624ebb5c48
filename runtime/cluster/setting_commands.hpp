// Settings of the cluster, its namespaces and node pools as commands for the log.
//
// Names of namespaces and pools are of 1 to 128 letters, digits and dashes (pools: underscores,
// too), descriptions of at most 256 bytes. What is built in stays; what jobs, nodes or variables
// still need does, too, which the log judges once more when it applies the command. May depend on:
// runtime/base, access, object, state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/cluster/job_commands.hpp"
#include "schema/command.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"

namespace nomad::cluster {

/// `check_index`: nothing is written unless it is the stored one's ModifyIndex.
Result<Decision> decide_scheduler_configuration(
    const state::Snapshot& snapshot,
    const access::Asking& asking,
    const Object<schema::SchedulerConfiguration>& configuration,
    std::optional<std::uint64_t> check_index);

/// `check_index`: the command ends in `conflict` unless it is the stored one's ModifyIndex.
Result<Decision> decide_autopilot(const access::Asking& asking,
                                  const Object<schema::AutopilotConfiguration>& configuration,
                                  std::optional<std::uint64_t> check_index);

/// Puts a quota, whose hashes are worked out here.
Result<Decision> decide_quota(const state::Snapshot& snapshot,
                              const access::Asking& asking,
                              schema::QuotaSpec::Reader quota);

/// Puts a namespace, whose hash is worked out here.
Result<Decision> decide_namespace(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  schema::Namespace::Reader ns);

/// `region`: this one, for the text of a refusal.
Result<Decision> decide_namespace_delete(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::string_view name,
                                         std::string_view region);

/// Puts a node pool, whose hash is worked out here.
Result<Decision> decide_node_pool(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  schema::NodePool::Reader pool);

/// `region` as of `decide_namespace_delete`.
Result<Decision> decide_node_pool_delete(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::string_view name,
                                         std::string_view region);

}  // namespace nomad::cluster
