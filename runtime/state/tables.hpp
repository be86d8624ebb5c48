// Tables: all of the replicated state, as persistent maps. A copy of Tables is a snapshot.
//
// A kind brings its own maps (kinds.hpp). Only the store's apply functions write; readers go
// through Snapshot.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/state/kinds/kinds.hpp"
#include "runtime/state/kinds/quota_use.hpp"

namespace nomad::state {

struct Tables : detail::KindList<Kinds>::AllRows {
  std::array<Index, stored_tables> indexes{};  ///< Of each table's last change.
  Index applied = 0;                           ///< The last applied entry.
  Index index_offset = 0;  ///< How far indexes here are ahead of the log's: see apply_restore.cpp.

  // Derived from allocations, `job_counts` from evaluations besides. Lists and single nodes are
  // read seldom, so their indexes have keys alone, which most changes of a row leave as they are;
  // schedulers read their job's for each evaluation, so that one has the rows.
  PersistentMap<Nothing> allocs_by_create;             ///< create index, id
  PersistentMap<Nothing> allocs_by_node;               ///< node id\0alloc modify index, id
  PersistentMap<std::uint64_t> alloc_counts_of_nodes;  ///< node id
  PersistentMap<AllocRef> allocs_by_job;               ///< namespace\0job id\0id
  PersistentMap<Nothing> allocs_by_eval;               ///< evaluation id\0id
  PersistentMap<Nothing> allocs_by_deployment;         ///< deployment id\0id
  PersistentMap<Shared<NodeUsage>> usage;              ///< node id
  PersistentMap<JobCounts> job_counts;                 ///< namespace\0job id
  PersistentMap<std::uint64_t> version_uses;           ///< Allocations per key of `retained_jobs`.
  PersistentMap<std::uint64_t>
      identity_uses;  ///< Those not ended, per CreateIndex of their root key.

  // Of quotas, derived from namespaces, allocations and variables. Allocations are counted for the
  // namespaces that are in the first of these, others when they come in.
  PersistentMap<std::string> quota_of_namespaces;  ///< namespace, if it has a quota
  PersistentMap<Shared<QuotaUse>> quota_use;       ///< quota
  PersistentMap<std::int64_t> variable_bytes;      ///< namespace; as they are stored

  // Who names plugins of CSI besides volumes.
  PersistentMap<Nothing> csi_plugin_nodes;  ///< plugin\0node id
  PersistentMap<Nothing> csi_plugin_jobs;   ///< plugin\0namespace\0job id
  Index csi_plugins_index = 0;              ///< Of the last change of what they are derived from.
};

/// The newest index by which something has changed that a token gave somebody. A new token changes
/// nothing of what others have.
inline Index rights_index(const Tables& tables) {
  const auto of
      = [&tables](Table table) { return tables.indexes[static_cast<std::uint32_t>(table)]; };
  return std::max({tables.acl_tokens_replaced, of(Table::acl_policies), of(Table::acl_roles)});
}

}  // namespace nomad::state
