// The one list of what is stored: each table with its name in snapshots and its place in Tables.
// Saving, restoring and naming go by it. A new stored table is its constant in Table, its member of
// Tables and a line here. Private to this folder.
#pragma once

#include <string_view>
#include <tuple>

#include "runtime/state/tables.hpp"

namespace nomad::state {

template <class Rows>
struct StoredTable {
  Table table;
  std::string_view name;
  Rows Tables::*rows;  ///< A map of objects or allocations, or a single object.
};

template <class Rows>
StoredTable(Table, std::string_view, Rows Tables::*) -> StoredTable<Rows>;

/// In the order of Table, without a gap: see below.
inline constexpr std::tuple stored_table_list{
    StoredTable{Table::jobs, "jobs", &Tables::jobs},
    StoredTable{Table::job_versions, "job_versions", &Tables::job_versions},
    StoredTable{Table::retained_jobs, "retained_jobs", &Tables::retained_jobs},
    StoredTable{Table::job_summaries, "job_summaries", &Tables::job_summaries},
    StoredTable{Table::nodes, "nodes", &Tables::nodes},
    StoredTable{Table::node_pools, "node_pools", &Tables::node_pools},
    StoredTable{Table::namespaces, "namespaces", &Tables::namespaces},
    StoredTable{Table::allocs, "allocs", &Tables::allocs},
    StoredTable{Table::alloc_metrics, "alloc_metrics", &Tables::alloc_metrics},
    StoredTable{Table::evals, "evals", &Tables::evals},
    StoredTable{Table::deployments, "deployments", &Tables::deployments},
    StoredTable{Table::services, "services", &Tables::services},
    StoredTable{Table::scheduler_config, "scheduler_config", &Tables::scheduler_config},
    StoredTable{Table::variables, "variables", &Tables::variables},
    StoredTable{Table::root_keys, "root_keys", &Tables::root_keys},
    StoredTable{Table::key_holders, "key_holders", &Tables::key_holders},
    StoredTable{Table::restore_rows, "restore_rows", &Tables::restore_rows},
    StoredTable{Table::autopilot_config, "autopilot_config", &Tables::autopilot_config},
    StoredTable{Table::scaling_events, "scaling_events", &Tables::scaling_events},
    StoredTable{Table::job_submissions, "job_submissions", &Tables::job_submissions},
    StoredTable{Table::periodic_launches, "periodic_launches", &Tables::periodic_launches},
};

static_assert(std::apply(
                  [](const auto&... stored) {
                    std::uint32_t place = 0;
                    return ((static_cast<std::uint32_t>(stored.table) == place++) && ...)
                           && place == stored_tables;
                  },
                  stored_table_list),
              "each stored table has its line, at its place");

/// Calls `visit` with the line of `table`; false if that is not stored.
template <class Visit>
bool visit_stored(Table table, Visit&& visit) {
  return std::apply(
      [&](const auto&... stored) {
        return ((stored.table == table && (static_cast<void>(visit(stored)), true)) || ...);
      },
      stored_table_list);
}

}  // namespace nomad::state
