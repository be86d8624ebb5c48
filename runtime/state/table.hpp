// Table: the names of what the state keeps, what can be watched of it, and how keys are put
// together: parts are joined by NUL ("namespace\0id"); numbers in keys are eight bytes, big endian,
// so that they sort.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::state {

using Index = std::uint64_t;

/// What can be watched and, up to `periodic_launches`, what is stored. The comment is the watched
/// key. A new stored table goes behind the last stored one: snapshots hold indexes by place.
enum class Table : std::uint32_t {
  jobs,                  ///< namespace\0id
  job_versions,          ///< namespace\0id
  retained_jobs,         ///< (not watched)
  job_summaries,         ///< namespace\0id
  nodes,                 ///< id
  node_pools,            ///< name
  namespaces,            ///< name
  allocs,                ///< id
  alloc_metrics,         ///< (not watched)
  evals,                 ///< id
  deployments,           ///< id
  services,              ///< namespace\0id
  scheduler_config,      ///< ""
  variables,             ///< namespace\0path
  root_keys,             ///< id
  key_holders,           ///< server id
  restore_rows,          ///< (not watched)
  autopilot_config,      ///< ""
  scaling_events,        ///< namespace\0job id
  job_submissions,       ///< namespace\0job id
  periodic_launches,     ///< namespace\0job id
  allocs_by_node,        ///< node id: any change of its allocations
  allocs_for_node,       ///< node id: a change that servers made; what a client waits for
  allocs_by_job,         ///< namespace\0job id
  allocs_by_eval,        ///< evaluation id
  allocs_by_deployment,  ///< deployment id
  evals_by_job,          ///< namespace\0job id
  deployments_by_job,    ///< namespace\0job id
  services_by_name,      ///< namespace\0name
  services_by_alloc,     ///< allocation id
  services_by_job,       ///< namespace\0job id
  scaling_policies,      ///< id
  draining_nodes,        ///< node id: a drain begins, changes or ends
  applied,               ///< "": each publication
};

inline constexpr std::uint32_t stored_tables
    = static_cast<std::uint32_t>(Table::periodic_launches) + 1;

/// The name of a stored table in snapshots: "jobs".
std::string_view to_string(Table table);

/// The stored table of that name.
std::optional<Table> stored_table(std::string_view name);

/// A key of parts: "namespace\0id".
std::string join_key(std::string_view first, std::string_view second);
std::string join_key(std::string_view first, std::string_view second, std::string_view third);

/// Eight bytes that sort like the number.
std::string number_key(std::uint64_t number);

}  // namespace nomad::state
